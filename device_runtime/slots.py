"""What is installed on one phone, on disk: two slots, the factory's policy, and which one acts.

    slots/state.json        which slot acts, where a revert goes, trial, floor, base; one rename
    slots/{a,b}/            release.json and adapter.bin of one release
    slots/lock              held while something changes, so that two processes never interleave

The slot that acts is never written. A slot proves itself by the digest in its description each
time it is read, so half-written files are noticed, not run.
"""

from __future__ import annotations

from contextlib import AbstractContextManager
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

import msgspec

from device_runtime.errors import InstalledFilesError
from sync.adapter_file import AdapterFile, adapter_digest, unpack
from sync.durable_file import exclusive, write_all_durably, write_durably
from sync.errors import RejectedError
from sync.releases import ADAPTER_ENTRY, RELEASE_ENTRY, release_from_json, release_to_json
from sync.vocabulary import FACTORY_RELEASE, Release, ReleaseId

SlotName = Literal["factory", "a", "b"]
SLOTS: tuple[SlotName, ...] = ("a", "b")
"""The slots that releases are written to."""
InstalledState = Literal["committed", "trial"]
_SCHEMA_VERSION = 1


@dataclass(frozen=True, slots=True)
class PhoneBase:
    """What adapters must fit on this phone; both empty until a base was laid.

    Attributes:
        digest: SHA-256 (hex) of the base network.
        policy_io_version: encoding and action grammar of this program.
    """

    digest: str = ""
    policy_io_version: str = ""


class SlotState(msgspec.Struct, frozen=True, kw_only=True):
    """Everything the installer remembers.

    Attributes:
        active: the slot that acts.
        fallback: the slot that a revert goes to.
        trial_left: loads that remain before a release on trial counts as a crash loop; None
            where the active release is committed.
        floor: the lowest version that may still be installed.
        floor_keys: ids of the keys that could sign releases when `floor` was set.
        reverted: releases that were taken back here and are not fetched again.
    """

    schema_version: int = _SCHEMA_VERSION
    active: SlotName = "factory"
    fallback: SlotName = "factory"
    trial_left: int | None = None
    floor: int = 0
    floor_keys: tuple[str, ...] = ()
    reverted: tuple[str, ...] = ()
    base: PhoneBase = PhoneBase()


@dataclass(frozen=True, slots=True)
class InstalledRelease:
    """What acts on a phone.

    Attributes:
        release: None for the factory's policy: the base network with no adapter.
        adapter_path: its adapter file; None for the factory's.
        state: "trial" until it has shown that it can act.
    """

    release: Release | None = None
    adapter_path: Path | None = None
    state: InstalledState = "committed"

    @property
    def release_id(self) -> ReleaseId:
        """Its id; "factory" for the factory's policy."""
        return FACTORY_RELEASE if self.release is None else self.release.id

    def read(self) -> AdapterFile | None:
        """The adapter, ready to load; None for the factory's policy.

        Raises: InstalledFilesError: the file is not what was installed.
        """
        if self.release is None or self.adapter_path is None:
            return None
        return unpack(_read_adapter(self.adapter_path, self.release))

    def facts(self) -> dict[str, str | int | None]:
        """What commands print of it."""
        return {
            "release_id": self.release_id,
            "version": 0 if self.release is None else self.release.version,
            "adapter_digest": None if self.release is None else self.release.adapter_digest,
            "state": self.state,
        }


class Slots:
    """The slots in one phone's folder. Reading never changes anything."""

    def __init__(self, phone_dir: Path) -> None:
        self._directory = phone_dir / "slots"

    def locked(self) -> AbstractContextManager[None]:
        """Keep every other process and thread from changing the slots meanwhile."""
        return exclusive(self._directory / "lock")

    def state(self) -> SlotState:
        """The state on disk; a fresh one where there is none.

        Raises: InstalledFilesError: it cannot be read.
        """
        path = self._directory / "state.json"
        try:
            state = msgspec.json.decode(path.read_bytes(), type=SlotState)
        except FileNotFoundError:
            return SlotState()
        except (msgspec.DecodeError, OSError) as error:
            raise InstalledFilesError(
                f"{path} cannot be read ({error}); remove {self._directory} to go back to factory"
            ) from error
        if state.schema_version != _SCHEMA_VERSION:
            raise InstalledFilesError(
                f"{path} was written by a newer program (version {state.schema_version}); update"
            )
        return state

    def write_state(self, state: SlotState) -> SlotState:
        """Put `state` on disk in one step; returns it."""
        write_durably(self._directory / "state.json", msgspec.json.encode(state))
        return state

    def write(self, slot: SlotName, release: Release, adapter: bytes) -> None:
        """Fill a slot that does not act."""
        files = {ADAPTER_ENTRY: adapter, RELEASE_ENTRY: release_to_json(release)}
        write_all_durably(self._directory / slot, files)

    def installed(self, slot: SlotName, *, on_trial: bool = False) -> InstalledRelease:
        """What is in `slot`, its description read but its adapter not yet checked.

        Raises: InstalledFilesError: the slot holds no readable description.
        """
        if slot == "factory":
            return InstalledRelease()
        path = self._directory / slot / RELEASE_ENTRY
        try:
            release = release_from_json(path.read_bytes())
        except (OSError, RejectedError) as error:
            raise InstalledFilesError(f"slot {slot} cannot be read: {error}") from error
        return InstalledRelease(
            release=release,
            adapter_path=self._directory / slot / ADAPTER_ENTRY,
            state="trial" if on_trial else "committed",
        )

    def checked(self, slot: SlotName, *, on_trial: bool = False) -> InstalledRelease:
        """What is in `slot`, its adapter compared with its digest.

        Raises: InstalledFilesError: the slot is not whole.
        """
        installed = self.installed(slot, on_trial=on_trial)
        if installed.release is not None and installed.adapter_path is not None:
            _read_adapter(installed.adapter_path, installed.release)
        return installed


def other_slot(slot: SlotName) -> SlotName:
    """The slot to fill while `slot` acts."""
    return "b" if slot == "a" else "a"


def _read_adapter(path: Path, release: Release) -> bytes:
    try:
        data = path.read_bytes()
    except OSError as error:
        raise InstalledFilesError(f"{path.name} cannot be read: {error}") from error
    if adapter_digest(data) != release.adapter_digest:
        raise InstalledFilesError(f"the adapter of {release.id} is not what was installed")
    return data
