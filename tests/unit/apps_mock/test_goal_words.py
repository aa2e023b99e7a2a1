"""Words of an app stand in its goals as on its screens, in every language."""

from __future__ import annotations

from random import Random

import pytest

from apps_mock.catalogue import LOCALES, Term, knows
from apps_mock.entities import Draw
from apps_mock.gate_episodes import play
from apps_mock.look import draw_look, look_number
from apps_mock.oracle import OraclePolicy
from apps_mock.phone import MockPhone
from apps_mock.registry import APPS
from apps_mock.tasks import draw, templates
from apps_mock.widgets import Event, Row
from sync.decoding import choices_of
from sync.policy_io import encode_episode
from sync.vocabulary import Assignment, AssignmentId, Split

OWN_APPS = ("settings", "contacts", "clock", "tickets", "messages", "files")
OWN = [template for template in templates() if template.app in OWN_APPS]


@pytest.mark.parametrize("template", OWN, ids=lambda template: template.name)
def test_words_of_the_app_are_known_in_every_language(template):
    for seed in range(3):
        instance = template.set_up(Draw(Random(seed), Split.TRAIN))
        for word in instance.words.values():
            if isinstance(word, Term) and word.kind == "word":
                assert all(knows(word.text, locale) for locale in LOCALES), word.text


@pytest.mark.parametrize("locale", LOCALES)
def test_what_is_typed_stands_in_the_goal_between_spaces(locale):
    for name, field in (
        ("contacts_add", "name"),
        ("SimpleSmsSend", "text"),
        ("files_rename", "name"),
    ):
        task = draw(name, seed=5, split=Split.TEST, look=look_number(locale, 2))
        values = dict(task.wanted.changes[0].values)
        assert f" {values[field]} " in f" {task.goal} "


@pytest.mark.parametrize("locale", LOCALES)
def test_a_switch_is_called_the_same_in_the_goal_and_on_the_screen(phone_with, send, locale):
    number = look_number(locale, 2)
    phone = phone_with("settings_switch", look=number)
    look = draw_look(Split.TEST, number)
    name = look.say(phone.task.wanted.changes[0].record)
    page = next(page for page, _ in phone.task.plan if page != "home")
    assert phone.open_app("settings")

    send(phone, Event("go", page))

    assert name in phone.task.goal
    body = APPS["settings"].view(phone.state.front, look).body
    assert name in [widget.title for widget in body if isinstance(widget, Row)]


@pytest.mark.parametrize(
    "name",
    [
        "SimpleSmsSendReceivedAddress",
        "clock_alarm_of_message",
        "contacts_add_of_message",
        "files_count",
        "files_folder_of_message",
        "messages_count",
        "messages_send_alarm",
        "messages_send_number",
        "settings_app_size",
        "settings_device_name_of_message",
    ],
)
def test_what_no_goal_says_can_be_pointed_at_where_it_is_typed_or_answered(name):
    phone = MockPhone()
    assignment = Assignment(
        id=AssignmentId("a0"),
        template=name,
        suite=name,
        seed=3,
        split=Split.TRAIN,
        look=look_number("de", 3),
        step_budget=20,
    )

    episode, verdict = play(phone, OraclePolicy(phone), assignment)

    assert verdict.success
    encoded = encode_episode(episode)
    for step, item in zip(episode.steps, encoded, strict=True):
        assert choices_of(item, step.action) is not None, step.action
