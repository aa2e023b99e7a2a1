"""Where a device gets release files from: over HTTP from the cloud that enrolled it, and over MQTT.

Adapters and bases come over HTTP where that works, because a broker is not made for them; signed
metadata comes over MQTT first, where nothing in between keeps an old copy. Each way stands in for
the other.
"""

from __future__ import annotations

import ssl
from collections.abc import Iterator
from typing import TYPE_CHECKING

from outrider.enrolled import credentials_of
from sync.clock import SystemClock
from sync.credentials import CA_FILE
from sync.errors import RejectedError
from sync.file_pass import file_pass
from sync.http_files import FallbackFetch, HttpFiles
from sync.releases import TARGETS_PREFIX

if TYPE_CHECKING:
    from device_runtime.settings import Settings
    from sync.credentials import CredentialStore
    from sync.resumed_fetch import FetchFrom
    from sync.session import DeviceSession


def fetch_from(settings: Settings, session: DeviceSession) -> FetchFrom:
    """How this device asks for release files."""

    def over_mqtt(path: str, offset: int) -> Iterator[bytes]:
        try:
            yield from session.fetch(path, offset=offset)
        except RejectedError as error:
            if error.reason == "missing":
                raise FileNotFoundError(path) from error
            raise

    credentials = credentials_of(settings)
    url = credentials.read().url if credentials is not None else ""
    if credentials is None or not url:
        return over_mqtt
    over_http = _http_files(url, credentials, settings).fetch
    clock = SystemClock()
    contents = FallbackFetch(over_http, over_mqtt, clock=clock)
    metadata = FallbackFetch(over_mqtt, over_http, clock=clock)

    def either(path: str, offset: int) -> Iterator[bytes]:
        return (contents if path.startswith(TARGETS_PREFIX) else metadata)(path, offset)

    return either


def _http_files(url: str, credentials: CredentialStore, settings: Settings) -> HttpFiles:
    device_id, key, clock = credentials.read().device_id, credentials.key(), SystemClock()
    authority = settings.phone_dir / CA_FILE
    return HttpFiles(
        url,
        headers=lambda path: {
            "Authorization": file_pass(device_id, key, path, now_ms=clock.wall_ms())
        },
        context=ssl.create_default_context(cafile=authority) if authority.is_file() else None,
    )
