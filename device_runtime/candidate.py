"""The release that is being scored before it may act: verified, beside the slots, in none of them.

    slots/candidate/{release.json, adapter.bin}    the candidate
    slots/candidate/attempts                       how often scoring may still begin
    slots/candidate/rows.json                      what was scored so far (`shadow_run`)

An attempt is counted down on disk before it begins and given back when it ends, so a candidate that
kills its process while it is scored is given up, without a network.
"""

from __future__ import annotations

import shutil
from pathlib import Path
from typing import Final

from sync.adapter_file import adapter_digest
from sync.durable_file import write_all_durably, write_durably
from sync.errors import RejectedError
from sync.releases import ADAPTER_ENTRY, RELEASE_ENTRY, release_from_json, release_to_json
from sync.vocabulary import Release

ATTEMPTS: Final = 3
_ATTEMPTS_FILE, _ROWS_FILE = "attempts", "rows.json"


class CandidateFolder:
    """The candidate of one phone; whoever changes it holds the slots' lock."""

    def __init__(self, phone_dir: Path) -> None:
        self._directory = phone_dir / "slots" / "candidate"

    @property
    def rows_file(self) -> Path:
        """Where scoring keeps its rows."""
        return self._directory / _ROWS_FILE

    def release(self) -> Release | None:
        """The candidate, where there is one and it is whole."""
        try:
            release = release_from_json((self._directory / RELEASE_ENTRY).read_bytes())
        except (OSError, RejectedError):
            return None
        return release if self.adapter(release) is not None else None

    def adapter(self, release: Release) -> bytes | None:
        """The candidate's adapter; None where the candidate is another release or not whole."""
        try:
            described = (self._directory / RELEASE_ENTRY).read_bytes()
            data = (self._directory / ADAPTER_ENTRY).read_bytes()
        except OSError:
            return None
        if described != release_to_json(release):
            return None
        return data if adapter_digest(data) == release.adapter_digest else None

    def put(self, release: Release, adapter: bytes) -> None:
        """Make `release` the candidate in place of any other."""
        self.clear()
        files = {ADAPTER_ENTRY: adapter, RELEASE_ENTRY: release_to_json(release)}
        write_all_durably(self._directory, files)

    def begin_attempt(self) -> bool:
        """Count one attempt; False where there is none left."""
        left = self._left()
        if left:
            self._write_left(left - 1)
        return left > 0

    def end_attempt(self) -> None:
        """The process has survived the attempt: it does not count."""
        self._write_left(ATTEMPTS)

    def clear(self) -> None:
        """Forget the candidate. Idempotent."""
        shutil.rmtree(self._directory, ignore_errors=True)

    def _left(self) -> int:
        try:
            return int((self._directory / _ATTEMPTS_FILE).read_text("utf-8"))
        except (OSError, ValueError):
            return ATTEMPTS

    def _write_left(self, left: int) -> None:
        write_durably(self._directory / _ATTEMPTS_FILE, str(left).encode())
