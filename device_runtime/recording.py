"""A phone's answers in one file, so that the phone can be played again without the phone.

The file is a zip. `recording.json` names format, version, moment and every command with its exit
code and how long it took; the bytes of each answer are a member of their own, so that whoever
hands a recording on can look at all of it with any zip program:

    recording.json   {"format": "outrider-recording", "version": 1, "made_at_ms": …, "answers": [
                       {"command": "wm size", "exit_code": 0, "elapsed_ms": 12.0,
                        "stdout": "005.out", "stderr": null, "file": null}, …]}
    005.out          what `wm size` wrote

A recording comes from strangers: it is read with bounds on size and count, nothing is unpacked to
disk, and every name must be one that this module would have given.
"""

from __future__ import annotations

import io
import re
import struct
import zipfile
import zlib
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Final, Literal

import msgspec

from device_runtime.errors import RecordingError
from device_runtime.phone_questions import Answer

FORMAT: Final = "outrider-recording"
VERSION: Final = 1
MOST_ANSWERS: Final = 256
MOST_BYTES: Final = 64 * 1024**2
INDEX_FILE: Final = "recording.json"

_MOST_INDEX_BYTES: Final = 1024**2
_MEMBER = re.compile(r"\d{3}\.(out|err|file)")
_COMMAND = re.compile(r"[\x20-\x7e]{1,200}")
_NO_RECORDING: Final = (
    zipfile.BadZipFile, zlib.error, struct.error, msgspec.MsgspecError,
    ValueError, LookupError, EOFError, OverflowError,
    RuntimeError,  # an encrypted member; NotImplementedError is one of them
)  # fmt: skip
"""What reading a zip and JSON of a stranger may raise."""
_PACKINGS: Final = (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED)
_MADE: Final = (1980, 1, 1, 0, 0, 0)


@dataclass(frozen=True, slots=True)
class Recording:
    """What one phone answered, and when.

    Attributes:
        made_at_ms: the recording machine's clock then, which tells how wrong the phone's was.
    """

    made_at_ms: int
    answers: Mapping[str, Answer]


class _Entry(msgspec.Struct, frozen=True):
    command: str
    exit_code: int
    elapsed_ms: float
    stdout: str | None = None
    stderr: str | None = None
    file: str | None = None


class _Index(msgspec.Struct, frozen=True):
    format: Literal["outrider-recording"]
    version: int
    made_at_ms: int
    answers: list[_Entry]


def write_recording(recording: Recording, path: Path) -> int:
    """Write a recording to `path`; returns its size in bytes.

    The same recording gives the same bytes. Raises: RecordingError: the file cannot be written.
    """
    packed = io.BytesIO()
    with zipfile.ZipFile(packed, "w", zipfile.ZIP_DEFLATED) as archive:
        entries = [
            _written(archive, number, command, answer)
            for number, (command, answer) in enumerate(recording.answers.items())
        ]
        index = _Index(FORMAT, VERSION, recording.made_at_ms, entries)
        text = msgspec.json.format(msgspec.json.encode(index), indent=1)
        archive.writestr(zipfile.ZipInfo(INDEX_FILE, _MADE), text, zipfile.ZIP_DEFLATED)
    data = packed.getvalue()
    try:
        path.write_bytes(data)
    except OSError as error:
        raise RecordingError(f"{path} cannot be written ({error.strerror})") from error
    return len(data)


def read_recording(path: Path) -> Recording:
    """The recording in `path`, which may come from anybody.

    Raises: RecordingError: it is none, of a newer version, or larger than any phone's.
    """
    try:
        with zipfile.ZipFile(path) as archive:
            return _read(archive)
    except OSError as error:
        raise RecordingError(f"{path} cannot be read ({error.strerror or error})") from error
    except _NO_RECORDING as error:
        raise RecordingError(f"{path} is no recording of a phone ({error})") from error


def _read(archive: zipfile.ZipFile) -> Recording:
    members = archive.infolist()
    if any(member.compress_type not in _PACKINGS for member in members):
        raise ValueError("it is packed in another way")
    if len(members) > 3 * MOST_ANSWERS + 1:
        raise ValueError(f"it has {len(members)} members")
    if sum(member.file_size for member in members) > MOST_BYTES:
        raise ValueError(f"it holds more than {MOST_BYTES} bytes")
    index = msgspec.json.decode(_member(archive, INDEX_FILE, _MOST_INDEX_BYTES), type=_Index)
    if index.version != VERSION:
        raise ValueError(f"version {index.version}, this program reads {VERSION}")
    named = [each for entry in index.answers for each in (entry.stdout, entry.stderr, entry.file)]
    is_twice = len({each for each in named if each}) < sum(each is not None for each in named)
    if len(index.answers) > MOST_ANSWERS or is_twice or not 0 <= index.made_at_ms < 2**53:
        raise ValueError("its index is out of bounds")
    answers = {}
    for entry in index.answers:
        if not _COMMAND.fullmatch(entry.command) or not 0 <= entry.exit_code <= 255:
            raise ValueError(f"it has an answer to {entry.command[:40]!r}")
        answers[entry.command] = Answer(
            _bytes(archive, entry.stdout),
            _bytes(archive, entry.stderr),
            entry.exit_code,
            max(0.0, entry.elapsed_ms),
            None if entry.file is None else _bytes(archive, entry.file),
        )
    return Recording(index.made_at_ms, answers)


def _bytes(archive: zipfile.ZipFile, name: str | None) -> bytes:
    if name is None:
        return b""
    if not _MEMBER.fullmatch(name):
        raise ValueError(f"it names a member {name[:40]!r}")
    return _member(archive, name, MOST_BYTES)


def _member(archive: zipfile.ZipFile, name: str, limit: int) -> bytes:
    """One member, which is never read beyond the size that the archive's directory gives it."""
    with archive.open(name) as member:
        data = member.read(limit + 1)
    if len(data) > limit:
        raise ValueError(f"{name} holds more than {limit} bytes")
    return data


def _written(archive: zipfile.ZipFile, number: int, command: str, answer: Answer) -> _Entry:
    parts = {"out": answer.stdout, "err": answer.stderr, "file": answer.file}
    names: dict[str, str | None] = {}
    for ending, data in parts.items():
        names[ending] = None
        if data or (data is not None and ending == "file"):
            names[ending] = f"{number:03d}.{ending}"
            info = zipfile.ZipInfo(f"{number:03d}.{ending}", _MADE)
            archive.writestr(info, data, zipfile.ZIP_DEFLATED)
    return _Entry(
        command, answer.exit_code, answer.elapsed_ms, names["out"], names["err"], names["file"]
    )
