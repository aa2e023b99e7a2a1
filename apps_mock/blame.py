"""What broke in somebody's code, in one line: their file and line, and what is wrong in words."""

from __future__ import annotations

import sysconfig
import traceback
from pathlib import Path
from typing import Final

from sync.errors import ProjectError

_ROOT: Final = Path(__file__).resolve().parent.parent
_TOOLKIT: Final = (_ROOT / "device_runtime", _ROOT / "outrider", _ROOT / "sync")
_INSTALLED: Final = tuple(
    Path(path) for path in {sysconfig.get_path("stdlib"), sysconfig.get_path("purelib")}
)
_LONGEST: Final = 300
_REPAIR: Final = "; repair it"


def blame(cause: BaseException) -> str:
    """`pantry.py:66: there is no 'nam' (KeyError)`; without a place where no own file is in it."""
    return f"{_place(cause)}{in_words(cause)}"


def in_words(cause: BaseException) -> str:
    """What is wrong, in one line without advice at its end."""
    text = " ".join(str(cause).split())
    if len(text) > _LONGEST:
        text = f"{text[:_LONGEST]}..."
    if isinstance(cause, ProjectError):
        return text.removesuffix(_REPAIR)
    if isinstance(cause, KeyError) and cause.args:
        return f"there is no {cause.args[0]!r} (KeyError)"
    return f"{type(cause).__name__}: {text}" if text else type(cause).__name__


def with_advice(cause: BaseException) -> str:
    """What broke with one advice at its end: that of the error itself, where it has one."""
    return blame(cause) if isinstance(cause, ProjectError) else f"{blame(cause)}{_REPAIR}"


def place_of(function: object) -> str:
    """`pantry.py:66: `, where a function begins; empty where nothing tells."""
    code = getattr(function, "__code__", None)
    return f"{Path(code.co_filename).name}:{code.co_firstlineno}: " if code is not None else ""


def _place(cause: BaseException) -> str:
    frames = traceback.extract_tb(cause.__traceback__)
    own = [frame for frame in frames if _is_own(Path(frame.filename))]
    if not own and not isinstance(cause, ProjectError):
        own = list(frames)
    return f"{Path(own[-1].filename).name}:{own[-1].lineno}: " if own else ""


def _is_own(path: Path) -> bool:
    """Whether a file is an app's, a suite's or somebody's own, and no part of the toolkit."""
    if path.name.startswith("<") or path.parent == _ROOT / "apps_mock":
        return False
    return not any(path.is_relative_to(folder) for folder in (*_TOOLKIT, *_INSTALLED))
