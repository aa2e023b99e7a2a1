"""What real phones do to typed text: entries 8 to 16 of the failure catalogue.

The number in a test's name is the entry's; docs/phones.md lists them all.
"""

from __future__ import annotations

import base64
import re
import shlex

import pytest

from device_runtime.adb_text import KEYBOARDS, TextWays, read_ways, typed_commands
from device_runtime.errors import InvalidActionError, PhoneLostError
from sync.vocabulary import type_text
from tests.scripted_phone import FOCUS, ScriptedClient, look, phone_on, said, screen

KEYBOARD = "com.android.adbkeyboard/.AdbIME"
OWNERS = "com.google.android.inputmethod.latin/.LatinIME"
GREETING = 'Grüße, 世界 \U0001f600 "it\'s" $HOME `id` 100%s \\n'


class Field(ScriptedClient):
    """A phone with one focused field that takes what `input` and keyboards type.

    Attributes:
        spoils: what becomes of each typed text, one after the other; afterwards nothing.
    """

    def __init__(self, *, text="", keyboards=(OWNERS,), clipboard="", password=False):
        super().__init__(self._look)
        self.text = text
        self.spoils = []
        self.password = password
        self.keyboards = keyboards
        self.enabled = [OWNERS]
        self.keyboard = OWNERS
        self.refuses_keyboards = False
        self.clip = ""
        self.answers = {
            "input": self._input,
            "ime list": lambda _: said(
                "\n".join(self.keyboards)
                + "\n--\n"
                + "\n".join(self.enabled)
                + f"\n--\n{clipboard}"
            ),
            "ime": self._ime,
            "settings get secure default_input_method": lambda _: said(self.keyboard + "\n"),
            "am broadcast": self._broadcast,
            "cmd clipboard": self._set_clip,
        }

    def _look(self, command):
        shown = "\u2022" * len(self.text) if self.password else self.text
        return look(screen(shown, password=self.password))(command)

    def _input(self, command):
        for line in command.split(" && "):
            words = shlex.split(line)
            if words[:2] == ["input", "text"]:
                assert words[2].isascii()
                typed = re.sub("%s", " ", words[2])
                self.text += self.spoils.pop(0)(typed) if self.spoils else typed
            elif words[:2] == ["input", "keyevent"]:
                self._keys(words[2:])
        return said()

    def _keys(self, codes):
        deleted = codes.count("67")
        if deleted:
            self.text = self.text[:-deleted]
        if codes == ["279"]:
            self.text += self.clip
        if codes == ["66"]:
            assert self.keyboard == OWNERS
            self.text += "\n"

    def _ime(self, command):
        for line in command.split("; "):
            _, verb, name = shlex.split(line)
            if verb == "enable":
                self.enabled.append(name)
            elif verb == "disable":
                self.enabled.remove(name)
            elif not (self.refuses_keyboards and name != OWNERS):
                self.keyboard = name
        return said()

    def _broadcast(self, command):
        words = shlex.split(command)
        assert (words[3], words[5]) == KEYBOARDS[self.keyboard]
        self.text += base64.b64decode(words[6]).decode()
        return said("Broadcasting: Intent { act=ADB }\nBroadcast completed: result=0\n")

    def _set_clip(self, command):
        self.clip = shlex.split(command)[-1]
        return said()


def typed_into(field, text, *, clear=True, **settings):
    """How typing went on a fresh driver of `field`."""
    phone = phone_on(field, verifies_text=True, **settings)
    phone.observe()
    return phone.act(type_text(text, clear=clear))


@pytest.mark.parametrize("text", ["two words", " leading and trailing ", "a  b"])
def test_08_spaces_reach_the_field(text):
    field = Field()

    assert typed_into(field, text).valid
    assert field.text == text
    assert all(" " not in shlex.split(line)[2] for line in typed_commands(text))


@pytest.mark.parametrize("text", ["grüße", "日本語", "\U0001f600", "naïve\u00a0café"])
def test_09_text_beyond_ascii_is_refused_before_anything_is_sent_where_nothing_types_it(text):
    field = Field(text="before")

    outcome = typed_into(field, text)

    assert not outcome.valid
    assert outcome.detail.startswith("unsupported_text")
    assert "install a keyboard" in outcome.detail
    assert (field.text, field.acted) == ("before", [])


@pytest.mark.parametrize(
    "text", ["grüße", "日本語", "\U0001f468\u200d\U0001f469\u200d\U0001f467", GREETING]
)
def test_09_keyboard_that_the_owner_has_installed_types_it(text):
    field = Field(text="before", keyboards=(OWNERS, KEYBOARD))

    assert typed_into(field, text).valid
    assert field.text == text


HELP = "Clipboard service commands:\n  help\n  get-text\n  set-text TEXT\n"


def test_09_clipboard_command_of_some_phones_types_it():
    field = Field(clipboard=HELP)

    assert typed_into(field, GREETING).valid
    assert field.text == GREETING
    assert "input keyevent 279" in field.acted


@pytest.mark.parametrize(
    "words",
    [
        "No shell command implementation.",
        "cmd: Can't find service: clipboard",
        "",
    ],
)
def test_09_phone_without_a_clipboard_command_is_not_believed_to_have_one(words):
    assert read_ways(f"\n--\n\n--\n{words}\n") == TextWays()


@pytest.mark.parametrize("text", ["%s", "100%s", "%%s%s s%", "50%state"])
def test_10_literal_percent_s_is_typed_as_it_is(text):
    field = Field()

    assert typed_into(field, text).valid
    assert field.text == text


@pytest.mark.parametrize(
    "text", ['it\'s "x"', "$HOME ${A} $(id)", "`id`", "a\\b\\", "a;b&c|d>e<f*?[]{}~#!"]
)
def test_11_characters_that_mean_something_to_a_shell_are_typed_as_they_are(text):
    field = Field()

    assert typed_into(field, text).valid
    assert field.text == text


def test_12_text_of_which_only_the_beginning_arrived_is_typed_once_more():
    field = Field()
    field.spoils = [lambda typed: typed[:5]]

    assert typed_into(field, "curtis street 12").valid
    assert field.text == "curtis street 12"


def test_12_text_that_is_lost_again_is_said_and_not_tried_a_third_time():
    field = Field()
    field.spoils = [lambda typed: typed[:1]] * 10

    outcome = typed_into(field, "curtis street 12")

    assert not outcome.valid
    assert outcome.detail.startswith("lost_text")
    assert "curtis" not in outcome.detail
    assert field.text == "ct"
    assert len(field.acted) == 2


def test_12_format_that_a_field_gives_its_text_is_no_loss():
    field = Field()
    field.spoils = [lambda _: "(555) 123-45 67"]

    assert typed_into(field, "5551234567").valid
    assert len(field.acted) == 1


def test_12_password_is_checked_by_its_length():
    field = Field(password=True)
    field.spoils = [lambda typed: typed[:3]]

    assert typed_into(field, "hunter2!").valid
    assert field.text == "hunter2!"


def test_12_text_that_is_added_to_another_is_never_typed_twice():
    field = Field(text="kept ")
    field.spoils = [lambda typed: typed[:2]]

    outcome = typed_into(field, "added", clear=False)

    assert not outcome.valid
    assert field.text == "kept ad"
    assert len(field.acted) == 1


def test_13_characters_that_changed_places_are_found_and_typed_in_smaller_pieces():
    field = Field()
    field.spoils = [lambda typed: typed.replace("ran", "arn")]

    assert typed_into(field, "France and beyond").valid

    assert field.text == "France and beyond"
    pieces = [shlex.split(line)[2] for line in field.acted[-1].split(" && ") if " text " in line]
    assert max(len(piece.replace("%s", " ")) for piece in pieces) == 8


def test_13_long_text_is_typed_in_pieces():
    field = Field()

    assert typed_into(field, "x" * 150, typed_at_once=64).valid

    assert field.text == "x" * 150
    assert field.acted[0].count("input text") == 3


def test_14_line_feed_is_the_enter_key_where_the_text_has_one_and_nowhere_else():
    with_feed, without = Field(), Field()

    typed_into(with_feed, "first\nsecond")
    typed_into(without, "first second")

    assert with_feed.text == "first\nsecond"
    assert not any("66" in shlex.split(line) for line in without.acted)


def test_14_other_control_characters_are_refused():
    field = Field()

    assert typed_into(field, "a\tb").detail.startswith("unsupported_text")
    assert field.acted == []


def test_15_owners_keyboard_is_back_after_typing():
    field = Field(keyboards=(OWNERS, KEYBOARD))

    typed_into(field, "grüße")

    assert field.keyboard == OWNERS
    assert field.enabled == [OWNERS]


def test_15_owners_keyboard_is_back_at_the_latest_when_the_phone_is_closed():
    field = Field(keyboards=(OWNERS, KEYBOARD))
    phone = phone_on(field, reconnect_s=0.1)
    phone.observe()
    field.answers["am broadcast"] = lambda _: lost(field)

    with pytest.raises(PhoneLostError):
        phone.act(type_text("grüße"))
    left_behind = field.keyboard
    field.state = "device"
    field.answers["ime"] = field._ime
    phone.close()

    assert (left_behind, field.keyboard) == (KEYBOARD, OWNERS)


def lost(field):
    """The phone goes away for a while, in the middle of a command."""

    def gone(_):
        raise PhoneLostError("cut")

    field.state = "offline"
    field.answers["ime"] = gone
    raise PhoneLostError("cut")


def test_15_keyboard_that_was_enabled_before_stays_enabled():
    field = Field(keyboards=(OWNERS, KEYBOARD))
    field.enabled = [OWNERS, KEYBOARD]

    typed_into(field, "grüße")

    assert field.enabled.count(KEYBOARD) == 2
    assert not [command for command in field.commands if "disable" in command]


def test_15_keyboard_that_does_not_come_is_said_and_nothing_is_typed():
    field = Field(keyboards=(OWNERS, KEYBOARD))
    field.refuses_keyboards = True

    outcome = typed_into(field, "grüße")

    assert outcome.detail.startswith("unsupported_text")
    assert field.text == ""
    assert field.keyboard == OWNERS


def test_16_keys_are_pressed_after_the_owners_keyboard_is_back():
    field = Field(keyboards=(OWNERS, KEYBOARD))

    assert typed_into(field, "grüße\nund mehr").valid
    assert field.text == "grüße\nund mehr"


def test_typing_plain_text_by_command_refuses_the_rest():
    with pytest.raises(InvalidActionError, match="unsupported_text"):
        typed_commands("grüße")


def test_field_of_another_screen_is_no_reason_to_type_again():
    field = Field()
    phone = phone_on(field, verifies_text=True)
    phone.observe()
    field.looks = [look(state=FOCUS.replace("Main", "Next"), dump=screen("x", focused=False))]

    assert phone.act(type_text("gone on")).valid
    assert len(field.acted) == 1
