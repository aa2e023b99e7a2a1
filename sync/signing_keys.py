"""Signing keys on disk: Ed25519, PEM (PKCS 8), readable by their owner only."""

from __future__ import annotations

from pathlib import Path

from cryptography.hazmat.primitives.serialization import load_pem_private_key
from securesystemslib.signer import CryptoSigner

from sync.durable_file import write_durably

ONLINE_ROLES = ("targets", "snapshot", "timestamp")
"""The roles whose keys the cloud service holds; the root's key is needed for rotation only."""


def root_key_path(keys_dir: Path) -> Path:
    """Where the offline root key lies until somebody carries it away."""
    return keys_dir / "root" / "root.pem"


def online_key_path(keys_dir: Path, role: str) -> Path:
    """Where the key of one online role lies."""
    return keys_dir / "online" / f"{role}.pem"


def make_signer(path: Path) -> CryptoSigner:
    """A new key, stored at `path` with mode 0600 in a folder with mode 0700."""
    signer = CryptoSigner.generate_ed25519()
    path.parent.mkdir(parents=True, exist_ok=True)
    path.parent.chmod(0o700)
    write_durably(path, signer.private_bytes, mode=0o600)
    return signer


def read_signer(path: Path) -> CryptoSigner:
    """The key at `path`.

    Raises:
        OSError: it is not there or cannot be read.
        ValueError: it is no key, or others can read it.
    """
    if path.stat().st_mode & 0o077:
        raise ValueError(f"{path} can be read by others; run chmod 600 on it")
    return CryptoSigner(load_pem_private_key(path.read_bytes(), password=None))
