"""Publishing: drafts become signed releases, and the channels point where the campaign wants them.

The database says what should be true (a draft to sign, a release that stable points at);
`reconcile` makes it true and says so to the fleet. Interrupted anywhere, the next call goes on.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Final

import structlog

from cloud_learner.ports import Downlink, ReleaseSigner
from cloud_learner.release_store import ReleaseRow, ReleaseState, ReleaseStore
from sync.adapter_file import adapter_digest, unpack
from sync.clock import Clock
from sync.errors import IntegrityError
from sync.messages import ReleaseAnnouncement
from sync.releases import CHANNELS, roll_back_of
from sync.runtime_level import runtime_needed
from sync.vocabulary import Release, ReleaseId

_log = structlog.get_logger()
CANARY = "canary"
STABLE = "stable"
RENEW_EVERY_S: Final = 3600.0


@dataclass(frozen=True, slots=True)
class Published:
    """A release was signed, or its state changed; what the terminal and the log are told."""

    release: ReleaseRow


class Publishing:
    """Brings the signed repository and its channels in line with the database.

    Args:
        adapters_dir: where delivered adapters lie, `NAME.bin`.
        promote_to: the channel that promoted releases go to.
        tell: called after each release that was signed.
    """

    def __init__(
        self,
        store: ReleaseStore,
        *,
        signer: ReleaseSigner,
        downlink: Downlink,
        adapters_dir: Path,
        clock: Clock,
        tell: Callable[[Published], None],
        promote_to: str = STABLE,
    ) -> None:
        self._store = store
        self._signer = signer
        self._downlink = downlink
        self._adapters_dir = adapters_dir
        self._clock = clock
        self._tell = tell
        self._promote_to = promote_to
        self._renew_at_s = clock.monotonic_s() + RENEW_EVERY_S

    @property
    def latest_version(self) -> int:
        """The highest version that was ever signed here."""
        return self._signer.latest_version

    def reconcile(self, promoted: str) -> None:
        """Sign every draft and point it out to canary; point the other channel at `promoted`.

        A channel that somebody gave a higher release stays where it is.

        Raises: IntegrityError: an adapter is not the file that was delivered.
        """
        for row in self._store.drafts():
            release, adapter = self._describe(row)
            self._signer.publish(release, adapter, CANARY)
            signed = self._store.mark_signed(row.id)
            self._announce(CANARY, release)
            _log.info("release_published", release_id=row.id, version=row.version)
            self._tell(Published(signed))
        if not promoted:
            return
        pointer = self._signer.channel(self._promote_to)
        release = self._signer.release(promoted)
        if pointer is None or pointer.version < release.version:
            self._signer.set_channel(self._promote_to, promoted)
            self._announce(self._promote_to, release)

    def renew(self) -> None:
        """Sign again what expires soon, about once an hour; call it as often as you like."""
        if self._clock.monotonic_s() < self._renew_at_s:
            return
        self._renew_at_s = self._clock.monotonic_s() + RENEW_EVERY_S
        if self._signer.renew():
            _log.info("metadata_renewed")

    def announce_channels(self) -> None:
        """Say again where the channels point, for a broker that forgot."""
        for channel in CHANNELS:
            pointer = self._signer.channel(channel)
            if pointer is not None:
                self._downlink.announce(
                    ReleaseAnnouncement(
                        channel=channel, release_id=pointer.release_id, version=pointer.version
                    )
                )

    def _announce(self, channel: str, release: Release) -> None:
        self._downlink.announce(
            ReleaseAnnouncement(channel=channel, release_id=release.id, version=release.version)
        )

    def _describe(self, row: ReleaseRow) -> tuple[Release, bytes]:
        if row.state is not ReleaseState.DRAFT:
            raise ValueError(f"release {row.id} is no draft")
        if row.kind == "roll_back":
            old = self._signer.release(row.parent)
            release = roll_back_of(
                old, new_id=ReleaseId(row.id), version=row.version, now_ms=row.created_at_ms
            )
            return release, self._signer.adapter(row.parent)
        data = (self._adapters_dir / f"{row.adapter}.bin").read_bytes()
        if adapter_digest(data) != row.digest:
            raise IntegrityError(f"adapter {row.adapter} is not the file that was delivered")
        content = unpack(data)
        release = Release(
            id=ReleaseId(row.id),
            version=row.version,
            base_digest=content.base_digest,
            adapter_digest=row.digest,
            adapter_size_bytes=len(data),
            policy_io_version=content.policy_io_version,
            created_at_ms=row.created_at_ms,
            parent=row.parent,
            data_watermark=row.watermark,
            quantisation=content.quantisation,
            notes=f"{row.kind} adapter {row.adapter}",
            min_runtime=runtime_needed(data, policy_io_version=content.policy_io_version),
        )
        return release, data
