from __future__ import annotations

import pytest

from apps_mock.fonts import font_for, script_of
from apps_mock.text_width import line_px, widest_word_px, width_px, wrapped

TEXTS = ("Contacts", "Einstellungen", "Trains to Bergun", "設定を変更する", "اسم جهة الاتصال")


@pytest.mark.parametrize("text", TEXTS)
@pytest.mark.parametrize("size", [24, 42])
def test_texts_are_never_wider_than_they_are_measured(text, size):
    drawn = font_for(script_of(text), size).getlength(text)

    assert drawn <= width_px(text, size) + 1


def test_wider_letters_and_larger_sizes_take_more_room():
    assert width_px("WWWW", 40) > width_px("iiii", 40)
    assert width_px("Save", 60) > width_px("Save", 40)
    assert width_px("", 40) == 0


@pytest.mark.parametrize("text", TEXTS)
def test_wrapped_lines_fit_and_say_the_same(text):
    room = max(widest_word_px(text, 40), 130)

    lines = wrapped(text, room, 40)

    assert all(width_px(line, 40) <= room for line in lines)
    joined = " ".join(lines) if script_of(text) == "western" else "".join(lines)
    assert joined == text


def test_short_texts_stay_on_one_line_and_line_breaks_are_kept():
    assert wrapped("Save", 500, 40) == ("Save",)
    assert wrapped("one\ntwo", 500, 40) == ("one", "two")


def test_a_word_that_is_too_wide_is_broken_as_phones_do():
    lines = wrapped("der Donaudampfschiff", 130, 40)

    assert lines[0] == "der"
    assert "".join(lines[1:]) == "Donaudampfschiff"
    assert all(width_px(line, 40) <= 130 for line in lines)


def test_japanese_lines_do_not_begin_with_a_closing_mark():
    lines = wrapped("設定。設定。設定。", 2 * 40, 40)

    assert all(not line.startswith("。") for line in lines)


@pytest.mark.parametrize("code", [*range(1, 10), *range(11, 32), 0x7F, 0x85, 0x2028])
def test_control_characters_never_reach_what_draws(code):
    assert wrapped(f"a{chr(code)}b", 500, 40) == ("a b",)


def test_lines_have_some_room_between_them():
    assert line_px(40) > 40


def test_a_line_break_in_a_field_of_one_line_is_as_wide_as_a_space():
    assert width_px("one\ntwo", 40) == width_px("one two", 40)
