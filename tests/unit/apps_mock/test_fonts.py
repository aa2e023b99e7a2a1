from __future__ import annotations

import sys

import pytest

from apps_mock.errors import FontMissingError
from apps_mock.fonts import font_bytes, font_for, script_of


@pytest.mark.parametrize(
    ("text", "script"),
    [
        ("Save", "western"),
        ("اسم", "western"),
        ("ﷲ", "western"),
        ("設定", "cjk"),
        ("Tab 開く", "cjk"),
    ],
)
def test_the_script_tells_the_font(text, script):
    assert script_of(text) == script


@pytest.mark.parametrize("character", ["a", "ß", "م", "→", "•", "–"])
def test_the_western_font_has_what_the_apps_write(character):
    font = font_for("western", 40)

    assert bytes(font.getmask(character)) != bytes(font.getmask("\U0010ffff"))


def test_the_cjk_font_has_stars():
    font = font_for("cjk", 40)

    assert bytes(font.getmask("★")) != bytes(font.getmask("\U0010ffff"))


def test_bold_is_another_font():
    assert font_bytes("western") != font_bytes("western", bold=True)


def test_a_missing_package_is_named_with_what_to_install(monkeypatch):
    font_bytes.cache_clear()
    monkeypatch.setitem(sys.modules, "pymupdf_fonts", None)

    with pytest.raises(FontMissingError, match="pymupdf_fonts is missing; install"):
        font_bytes("western")
