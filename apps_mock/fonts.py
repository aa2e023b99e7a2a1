"""The fonts of every clone: they come from pip packages, so that no machine draws its own way.

FiraGO writes Latin and Arabic, Noto Sans CJK writes Japanese; both are under the SIL Open Font
License. Pillow and the fonts load on the first text that is measured or drawn.
"""

from __future__ import annotations

import importlib
import io
import re
from functools import lru_cache
from pathlib import Path
from types import ModuleType
from typing import TYPE_CHECKING, Final, Literal

from apps_mock.errors import FontMissingError

if TYPE_CHECKING:
    from PIL.ImageFont import FreeTypeFont

Script = Literal["western", "cjk"]

_CJK = re.compile("[\u2e80-\ufb4f\uff00-\uffef\U00020000-\U0003ffff]")
"""Kana, kanji and full-width forms: the western font has none."""

_SYMBOL = re.compile("[\u2500-\u27bf]")
"""Stars and other drawings that only the CJK font has."""

_ARABIC = re.compile("[\u0600-\u06ff\ufb50-\ufeff]")


def script_of(text: str) -> Script:
    """Which font writes the text: one with any kana, kanji or star is written in the CJK font."""
    if text.isascii():
        return "western"
    if _CJK.search(text) or (_SYMBOL.search(text) and not _ARABIC.search(text)):
        return "cjk"
    return "western"


def font_file(script: Script, *, bold: bool = False) -> str | io.BytesIO:
    """What Pillow opens the font from: the large CJK font is read as far as it is needed.

    Raises: FontMissingError: its package is not installed.
    """
    if script == "cjk":
        return str(_package(script).get_TTF_path())
    return io.BytesIO(font_bytes(script, bold=bold))


@lru_cache(maxsize=4)
def font_bytes(script: Script, *, bold: bool = False) -> bytes:
    """The font file; the CJK font has no bold one.

    Raises: FontMissingError: its package is not installed.
    """
    package = _package(script)
    if script == "cjk":
        return Path(package.get_TTF_path()).read_bytes()
    font: bytes = package.myfont("figbo" if bold else "figo")
    return font


def _package(script: Script) -> ModuleType:
    name = "cvttf_NotoSansCJK_Regular" if script == "cjk" else "pymupdf_fonts"
    try:
        return importlib.import_module(name)
    except ImportError as error:
        raise FontMissingError(
            f"the clones' font package {name} is missing; install outrider[clones]"
        ) from error


@lru_cache(maxsize=128)
def font_for(script: Script, size_px: int, *, bold: bool = False) -> FreeTypeFont:
    """The font at a size, for Pillow."""
    from PIL import ImageFont  # noqa: PLC0415 - Pillow loads only when somebody measures or draws

    return ImageFont.truetype(font_file(script, bold=bold), size_px)


RULER_PX: Final = 1000


@lru_cache(maxsize=4)
def ruler(script: Script, *, bold: bool = False) -> FreeTypeFont:
    """The font to measure single characters with, `RULER_PX` large and without shaping."""
    from PIL import ImageFont  # noqa: PLC0415 - as above

    data = io.BytesIO(font_bytes(script, bold=bold))
    return ImageFont.truetype(data, RULER_PX, layout_engine=ImageFont.Layout.BASIC)
