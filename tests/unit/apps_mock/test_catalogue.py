from __future__ import annotations

import re
import tomllib
from pathlib import Path

import pytest

from apps_mock import catalogue
from apps_mock.catalogue import LOCALES, english, knows, say

FOLDER = Path(catalogue.__file__).parent / "locales"
GAP = re.compile(r"\{\w*\}")


def entries():
    for path in sorted(FOLDER.glob("*.toml")):
        for text, said in tomllib.loads(path.read_text(encoding="utf-8")).items():
            yield path.stem, text, said


def test_files_never_contradict_each_other():
    known = {}
    for name, text, said in entries():
        other, first = known.setdefault(text, (name, said))
        assert said == first, f"{text!r} differs in {other} and {name}: say it in one of them"


def test_every_text_is_said_in_every_locale_with_the_same_gaps():
    for name, text, said in entries():
        assert set(said) == set(LOCALES) - {"en"}, (name, text)
        for locale, translation in said.items():
            assert translation.strip(), (name, text, locale)
            assert sorted(GAP.findall(translation)) == sorted(GAP.findall(text)), (name, text)


def test_what_no_file_knows_stays_as_it_is():
    assert say("Zorvenia", "ja") == "Zorvenia"
    assert not knows("Zorvenia", "ja")
    assert knows("Zorvenia", "en")


@pytest.mark.parametrize("locale", LOCALES)
def test_the_english_of_a_text_is_found_in_every_locale(locale):
    assert english(say("Settings", locale)) == "Settings"
