"""Signing keys on disk: Ed25519, PEM (PKCS 8), readable by their owner only.

    keys/root/*.pem              offline: wherever the owner keeps them, in one place or several
    keys/online/ROLE.pem         held by whoever publishes
    keys/online/next/ROLE.pem    made by a rotation; takes its place once the root names it

A root key is found by what it is, never by its file's name: whoever rotates names the folders.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable
from pathlib import Path

from cryptography.exceptions import UnsupportedAlgorithm
from cryptography.hazmat.primitives.serialization import load_pem_private_key
from securesystemslib.signer import CryptoSigner

from sync.durable_file import sync_folder, write_durably

ONLINE_ROLES = ("targets", "snapshot", "timestamp")
"""The roles whose keys the cloud service holds; the root's keys are needed for rotation only."""


def root_keys_dir(keys_dir: Path) -> Path:
    """Where root keys lie until somebody carries them away."""
    return keys_dir / "root"


def online_key_path(keys_dir: Path, role: str) -> Path:
    """Where the key of one online role lies."""
    return keys_dir / "online" / f"{role}.pem"


def next_key_path(keys_dir: Path, role: str) -> Path:
    """Where the key lies that takes the place of an online role's key."""
    return keys_dir / "online" / "next" / f"{role}.pem"


def make_signer(path: Path) -> CryptoSigner:
    """A new key, stored at `path` with mode 0600 in a folder with mode 0700."""
    signer = CryptoSigner.generate_ed25519()
    path.parent.mkdir(parents=True, exist_ok=True)
    path.parent.chmod(0o700)
    write_durably(path, signer.private_bytes, mode=0o600)
    return signer


def make_root_signers(folder: Path, count: int, *, version: int) -> list[CryptoSigner]:
    """New root keys in `folder`, named by the root's version that they come with.

    What lies there already stays: it may be another fleet's, and the only copy.
    """
    first = "root" if version == 1 else f"root-v{version}"
    names = [first] if count == 1 else [f"{first}-{index}" for index in range(1, count + 1)]
    return [make_signer(_free_path(folder, name)) for name in names]


def read_signer(path: Path) -> CryptoSigner:
    """The key at `path`.

    Raises:
        OSError: it is not there or cannot be read.
        ValueError: it is no key, or others can read it.
    """
    try:
        mode = path.stat().st_mode
    except FileNotFoundError as error:
        raise FileNotFoundError(f"{path} is not there: restore it, or rotate that key") from error
    if mode & 0o077:
        raise ValueError(f"{path} can be read by others; run chmod 600 on it")
    try:
        return CryptoSigner(load_pem_private_key(path.read_bytes(), password=None))
    except (ValueError, TypeError, UnsupportedAlgorithm) as error:
        raise ValueError(f"{path} is no signing key: restore it, or rotate that key") from error


def kept_or_made_signer(path: Path) -> CryptoSigner:
    """The key at `path`, made where there is none.

    Raises: OSError, ValueError: as `read_signer`.
    """
    return read_signer(path) if path.exists() else make_signer(path)


def read_root_signers(folders: Iterable[Path], key_ids: Collection[str]) -> list[CryptoSigner]:
    """The keys in `folders` that are among `key_ids`, each once; other files are passed over.

    Raises: OSError, ValueError: as `read_signer`.
    """
    found: dict[str, CryptoSigner] = {}
    for folder in folders:
        for path in sorted(folder.glob("*.pem")):
            signer = read_signer(path)
            if signer.public_key.keyid in key_ids:
                found[signer.public_key.keyid] = signer
    return list(found.values())


def adopt_online_signer(keys_dir: Path, role: str, key_ids: Collection[str]) -> CryptoSigner:
    """The key of an online role; one that a rotation made takes its place first.

    Where a rotation was broken off before the new root was written, its key is in no root: it
    stays where it is, and the old key goes on signing.

    Raises: OSError, ValueError: as `read_signer`.
    """
    path, following = online_key_path(keys_dir, role), next_key_path(keys_dir, role)
    if following.exists() and read_signer(following).public_key.keyid in key_ids:
        following.replace(path)
        sync_folder(path.parent)
    return read_signer(path)


def _free_path(folder: Path, name: str) -> Path:
    """Where a key of that name overwrites none."""
    path, number = folder / f"{name}.pem", 1
    while path.exists():
        number += 1
        path = folder / f"{name}.{number}.pem"
    return path
