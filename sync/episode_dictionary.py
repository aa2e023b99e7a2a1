"""The dictionaries that episodes are deflated with, so that what is typical costs almost nothing.

A body says by its encoding's name which dictionary it needs: `columns+zlib:` and the first digits
of the dictionary's SHA-256. All that were ever released are kept, since bodies wait in outboxes and
lie in logs; the newest is used for writing (`benchmarks/make_dictionary.py` made it).
"""

from __future__ import annotations

import zlib
from functools import cache
from hashlib import sha256
from importlib.resources import files
from typing import Final

_NEWEST: Final = "episodes_1.zdict"
_PREFIX: Final = "columns+zlib:"
_DIGITS: Final = 8
_LEVEL: Final = 9
_MEMORY: Final = 9


@cache
def _dictionaries() -> dict[str, bytes]:
    """Every dictionary by the name of its encoding."""
    folder = files("sync").joinpath("dictionaries")
    found = (one.read_bytes() for one in folder.iterdir() if one.name.startswith("episodes_"))
    return {encoding_of(data): data for data in found}


@cache
def newest() -> str:
    """Name of the encoding that bodies are written in."""
    return encoding_of(files("sync").joinpath(f"dictionaries/{_NEWEST}").read_bytes())


def encoding_of(dictionary: bytes) -> str:
    """Name of the encoding that needs a dictionary."""
    return _PREFIX + sha256(dictionary).hexdigest()[:_DIGITS]


def is_known(encoding: str) -> bool:
    """Whether we hold the dictionary of an encoding."""
    return encoding in _dictionaries()


def deflate(raw: bytes, encoding: str) -> bytes:
    """`raw` deflated with the dictionary of `encoding`, which must be known."""
    packer = zlib.compressobj(
        _LEVEL,
        zlib.DEFLATED,
        zlib.MAX_WBITS,
        _MEMORY,
        zlib.Z_DEFAULT_STRATEGY,
        _dictionaries()[encoding],
    )
    return packer.compress(raw) + packer.flush()


def inflater(encoding: str) -> zlib._Decompress:
    """What undoes `deflate`; the caller bounds what comes of it."""
    return zlib.decompressobj(zlib.MAX_WBITS, zdict=_dictionaries()[encoding])
