"""Files for python-tuf's client: whole, bounded, and only metadata is kept."""

import pytest
from tuf.api import exceptions

from sync.errors import TransientError
from sync.repository_fetcher import RepositoryFetcher

CHUNKS = {
    "metadata/timestamp.json": [b"signed ", b"by somebody"],
    "targets/releases/r/0.adapter.bin": [b"x" * 600, b"y" * 400],
}


def served(path):
    if path not in CHUNKS:
        raise FileNotFoundError(path)
    return iter(CHUNKS[path])


def test_a_file_comes_whole():
    whole = RepositoryFetcher(served).download_bytes("targets/releases/r/0.adapter.bin", 1000)

    assert whole == b"x" * 600 + b"y" * 400


def test_reading_stops_at_the_length_that_is_allowed():
    read = []

    def endless(path):
        while True:
            read.append(path)
            yield bytes(100)

    with pytest.raises(exceptions.DownloadLengthMismatchError):
        RepositoryFetcher(endless).download_bytes("metadata/timestamp.json", 1000)

    assert len(read) == 11


def test_metadata_is_kept_to_explain_failures_and_adapters_are_not():
    fetcher = RepositoryFetcher(served)
    fetcher.download_bytes("metadata/timestamp.json", 1000)
    fetcher.download_bytes("targets/releases/r/0.adapter.bin", 1000)

    assert fetcher.suspects() == [b"signed by somebody"]


def test_roots_of_a_bundle_are_no_suspects():
    metadata = {"metadata/1.root.json": b"root", "metadata/2.targets.json": b"targets"}

    assert RepositoryFetcher(served, metadata).suspects() == [b"", b"targets"]


def test_what_is_not_there_is_told_apart_from_what_did_not_come():
    def broken(path):
        raise TransientError("no connection")
        yield b""

    with pytest.raises(exceptions.DownloadHTTPError) as missing:
        RepositoryFetcher(served).download_bytes("metadata/9.root.json", 1000)
    with pytest.raises(exceptions.DownloadError) as lost:
        RepositoryFetcher(broken).download_bytes("metadata/9.root.json", 1000)

    assert missing.value.status_code == 404
    assert not isinstance(lost.value, exceptions.DownloadHTTPError)
