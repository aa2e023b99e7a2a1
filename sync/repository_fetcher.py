"""Files of a release repository for python-tuf's client, through any `Fetch`, kept in memory.

The library's own way puts each file into a temporary one first. What a phone fetches, metadata, an
adapter or now and then a base, is in memory anyway before it is verified.
"""

from __future__ import annotations

import io
from collections.abc import Iterator, Mapping
from types import MappingProxyType
from typing import Final

from tuf.api import exceptions
from tuf.ngclient.fetcher import FetcherInterface

from sync.errors import TransientError
from sync.fetch import Fetch
from sync.releases import METADATA_PREFIX

_NONE: Final[Mapping[str, bytes]] = MappingProxyType({})


class RepositoryFetcher(FetcherInterface):
    """Fetches whole files, and keeps what metadata came, to explain failures.

    Args:
        source: where files come from.
        metadata: of a bundle, by path; none where `source` is the network.
    """

    def __init__(self, source: Fetch, metadata: Mapping[str, bytes] = _NONE) -> None:
        self._source = source
        self._metadata = metadata
        self._last = b""

    def suspects(self) -> list[bytes]:
        """Metadata that may be signed by a stranger."""
        bundled = [data for path, data in self._metadata.items() if ".root." not in path]
        return [self._last, *bundled]

    def download_bytes(self, url: str, max_length: int) -> bytes:
        """The whole file.

        Raises:
            DownloadLengthMismatchError: it has more than `max_length` bytes.
            DownloadError: it did not come; DownloadHTTPError (404): there is none.
        """
        whole = io.BytesIO()
        for chunk in self.fetch(url):
            whole.write(chunk)
            if whole.tell() > max_length:
                raise exceptions.DownloadLengthMismatchError(
                    f"{url} has more than the {max_length} bytes that are allowed"
                )
        if url.startswith(METADATA_PREFIX):
            self._last = whole.getvalue()
        return whole.getvalue()

    def _fetch(self, url: str) -> Iterator[bytes]:
        try:
            yield from self._source(url)
        except FileNotFoundError as error:
            raise exceptions.DownloadHTTPError(f"there is no {url}", 404) from error
        except (TransientError, OSError) as error:
            raise exceptions.DownloadError(f"{url} could not be fetched: {error}") from error
