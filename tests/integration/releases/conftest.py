"""A fleet in a folder: the repository with its real keys and metadata, and phones that trust it."""

import hashlib
import io
import json
import os
import struct
import zipfile
import zlib
from collections.abc import Callable, Iterable
from pathlib import Path

import numpy as np
import pytest

from device_runtime.installer import Installer, enrol
from device_runtime.slots import PhoneBase, Slots
from device_runtime.transitions import Transition
from sync.adapter_file import AdapterFile, adapter_digest, pack
from sync.clock import ManualClock, SystemClock
from sync.trust import Lifetimes, Repository, TrustedClient
from sync.vocabulary import Release, ReleaseId

BASE = PhoneBase(digest="b" * 64, policy_io_version="1")


def adapter(seed: int = 0, **options: str) -> bytes:
    values = np.random.default_rng(seed).normal(size=(24, 4)).astype(np.float32)
    belongs = {"base_digest": BASE.digest, "policy_io_version": BASE.policy_io_version, **options}
    return pack({"layer.A": values}, **belongs)


class PowerCutError(BaseException):
    """The process ends here."""


@pytest.fixture
def outlasts(monkeypatch: pytest.MonkeyPatch) -> Callable[[Callable[[], object], int], bool]:
    """`outlasts(deed, cut_at)`: do it with a power cut at that fsync; whether it ended before."""
    real_fsync = os.fsync

    def call(deed: Callable[[], object], cut_at: int) -> bool:
        left = cut_at

        def fsync(descriptor: int) -> None:
            nonlocal left
            left -= 1
            if left == 0:
                raise PowerCutError
            real_fsync(descriptor)

        with monkeypatch.context() as patched:
            patched.setattr(os, "fsync", fsync)
            try:
                deed()
            except PowerCutError:
                return False
        return True

    return call


class Fleet:
    """Signs, serves and keeps phones; `serve` can be replaced to play the attacker."""

    def __init__(self, directory: Path, clock: ManualClock | None = None) -> None:
        self.directory = directory
        self.repository = Repository.create(
            directory / "tuf",
            directory / "keys",
            clock=clock or SystemClock(),
            lifetimes=Lifetimes(),
        )
        self.serve: Callable[[str], Iterable[bytes]] = self.honest
        self.requests: list[str] = []

    def honest(self, path: str) -> Iterable[bytes]:
        return [self.repository.read(path)]

    def _fetch(self, path: str) -> Iterable[bytes]:
        self.requests.append(path)
        yield from self.serve(path)

    def release(self, version: int, data: bytes, **fields: object) -> Release:
        facts: dict[str, object] = {
            "id": ReleaseId(f"r{version}"),
            "version": version,
            "base_digest": BASE.digest,
            "adapter_digest": adapter_digest(data),
            "adapter_size_bytes": len(data),
            "policy_io_version": BASE.policy_io_version,
        }
        return Release(**{**facts, **fields})  # type: ignore[arg-type]

    def publish(
        self,
        version: int,
        *,
        channel: str | None = "canary",
        data: bytes | None = None,
        **fields: object,
    ) -> Path:
        """Publish release `version`; returns the bundle's path."""
        packed = adapter(version) if data is None else data
        return self.repository.publish(self.release(version, packed, **fields), packed, channel)

    def phone(self, name: str = "p1", **options: object) -> "Phone":
        folder = self.directory / "phones" / name
        enrol(folder, self.repository.root_bytes, BASE)
        return Phone(folder, self._fetch, **options)


class Phone:
    """A phone's installer, with what it reported."""

    def __init__(
        self,
        folder: Path,
        fetch: Callable[[str], Iterable[bytes]],
        probe: Callable[[AdapterFile], None] | None = None,
    ) -> None:
        self.folder = folder
        self.transitions: list[Transition] = []
        self.client = TrustedClient(folder / "trust", fetch)
        self.installer = Installer(
            folder, self.client, probe=probe, report=self.transitions.append, clock=ManualClock()
        )

    @property
    def states(self) -> list[str]:
        return [transition.state.value for transition in self.transitions]

    @property
    def runs(self) -> str:
        """The release that acts, its files whole."""
        state = Slots(self.folder).state()
        return Slots(self.folder).checked(state.active).release_id


def rewrite(bundle: Path, change: Callable[[dict[str, bytes]], None]) -> Path:
    """A copy of a bundle, with entries changed by `change`, as a valid zip."""
    with zipfile.ZipFile(bundle) as archive:
        entries = {name: archive.read(name) for name in archive.namelist()}
    change(entries)
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w") as archive:
        for name, data in entries.items():
            archive.writestr(name, data)
    made = bundle.parent / "made" / bundle.name
    made.parent.mkdir(exist_ok=True)
    made.write_bytes(buffer.getvalue())
    return made


@pytest.fixture(autouse=True)
def _quick_disk(monkeypatch):
    """Nobody cuts the power here but the tests that say so."""
    monkeypatch.setattr(os, "fsync", lambda descriptor: None)


@pytest.fixture
def make_fleet(tmp_path):
    def make(name="fleet", clock=None):
        return Fleet(tmp_path / name, clock)

    return make


@pytest.fixture
def fleet(make_fleet):
    return make_fleet()


@pytest.fixture
def make_adapter():
    return adapter


@pytest.fixture
def rewrite_bundle():
    return rewrite


@pytest.fixture
def make_nan_adapter():
    """An adapter file with a NaN inside, as only somebody with the keys could sign it."""
    values = np.ones((24, 4), dtype=np.float32)
    data = pack(
        {"layer.A": values},
        base_digest=BASE.digest,
        policy_io_version=BASE.policy_io_version,
        quantisation="fp32",
    )
    (length,) = struct.unpack_from("<I", data, 8)
    header = json.loads(zlib.decompress(data[12 : 12 + length]))
    values[3, 1] = np.nan
    body = values.ravel(order="F").tobytes()
    header["body_sha256"] = hashlib.sha256(body).hexdigest()
    text = zlib.compress(json.dumps(header, sort_keys=True, separators=(",", ":")).encode(), 9)
    return data[:8] + struct.pack("<I", len(text)) + text + zlib.compress(body, 9)
