"""Where phones lie on disk, as the commands name them."""

from __future__ import annotations

from pathlib import Path

from outrider.errors import MisuseError

PHONES = "phones"
PHONE_LOG = "phone.db"


def phone_folders(data: Path) -> list[Path]:
    """The folders of all phones below a data folder, by name.

    Raises: MisuseError: `data` holds no phones.
    """
    found = sorted(path.parent for path in (data / PHONES).glob(f"*/{PHONE_LOG}"))
    if not found:
        raise MisuseError(f"{data} holds no phone that ever ran; name another folder with --data")
    return found


def log_of(phone: Path) -> Path:
    """The log in a phone's folder.

    Raises: MisuseError: there is none.
    """
    log = phone / PHONE_LOG
    if not log.is_file():
        raise MisuseError(f"{phone} holds no {PHONE_LOG}; name the folder of a phone with --phone")
    return log
