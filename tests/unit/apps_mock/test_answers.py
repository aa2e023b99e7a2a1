from __future__ import annotations

from datetime import date, timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from apps_mock.answers import entries_of, is_right, plain
from apps_mock.catalogue import LOCALES, day_text
from apps_mock.false_claims import false_claims
from apps_mock.wanted import Answer, Wanted
from sync.vocabulary import answer

DAYS = st.dates(date(2020, 1, 1), date(2030, 12, 31))
WORDS = st.text(st.characters(whitelist_categories=("Lu", "Ll", "Lo")), min_size=1, max_size=8)
NAMES = st.lists(WORDS, min_size=1, max_size=3).map(" ".join)


@pytest.mark.parametrize(
    ("kind", "value", "given"),
    [
        ("number", "1234", "1,234"),
        ("number", "1234", "1.234"),
        ("number", "1234567", "1 234 567"),
        ("number", "1234", "1’234"),
        ("number", "1234", "١٢٣٤"),
        ("number", "12.50", "12.5"),
        ("number", "12.50", "12,50"),
        ("number", "1250.50", "1.250,50"),
        ("number", "-3", " -3 "),
        ("number", "1.250", "1,250"),
        ("date", "2025-03-14", "14 March"),
        ("date", "2025-03-14", "14. März 2025"),
        ("date", "2025-03-14", "2025年3月14日"),
        ("date", "2025-03-14", "march 14, 2025"),
        ("time", "07:45", "7:45"),
        ("time", "17:00", "5pm"),
        ("time", "17:00", "5:00 p.m."),
        ("time", "00:30", "12:30 am"),
        ("time", "12:00", "12 pm"),
        ("name", "José Blum", "JOSE\u0301  blum"),
        ("list", "Milk\nRice", "rice and milk"),
        ("list", "Milk\nRice\nTea", "Tea、Milk,Rice"),
        ("list", "Milk\nRice", "Milk\nRice"),
    ],
)
def test_what_is_written_otherwise_is_right(kind, value, given):
    assert is_right(given, Answer(kind, value))


@pytest.mark.parametrize(
    ("kind", "value", "given"),
    [
        ("time", "17:00", "6pm"),
        ("time", "17:00", "5am"),
        ("time", "17:00", "5"),
        ("time", "17:00", "17"),
        ("time", "13:00", "13pm"),
        ("time", "07:45", "07:46"),
        ("time", "07:45", "7:75"),
        ("number", "100", "900"),
        ("number", "100", "100 dollars"),
        ("number", "100", "one hundred"),
        ("number", "1", "1.000"),
        ("number", "1.5", "1,500"),
        ("number", "1234", "12,34"),
        ("number", "1234", "1,23,4"),
        ("number", "12", ""),
        ("date", "2025-03-14", "15 March"),
        ("date", "2025-03-14", "14 March 2026"),
        ("date", "2025-03-14", "14 Marc"),
        ("date", "2025-03-14", "14/3"),
        ("name", "the soup is nice", "the soup is not nice"),
        ("name", "yes", "no"),
        ("name", "Ann Blum", "Blum Ann"),
        ("name", "Ann Blum", "Ann"),
        ("list", "Milk\nRice", "Milk"),
        ("list", "Milk\nRice", "Milk, Rice, Tea"),
        ("list", "Milk\nRice", "Milk, Milk"),
        ("list", "Milk\nRice", "Milk Rice"),
    ],
)
def test_what_is_nearly_the_same_is_wrong(kind, value, given):
    assert not is_right(given, Answer(kind, value))


def test_what_is_declared_is_right_whatever_its_type():
    wanted = Answer("number", "3", shown="3 apples", forms=("three",))

    assert is_right("Three", wanted)
    assert is_right("3 apples", wanted)
    assert not is_right("three apples", wanted)


def test_the_order_of_a_list_counts_where_it_is_declared():
    assert is_right("b, a", Answer("list", "a\nb"))
    assert not is_right("b, a", Answer("list", "a\nb", ordered=True))
    assert is_right("a and b", Answer("list", "a\nb", ordered=True))


def test_a_word_that_holds_and_is_one_entry():
    assert entries_of("Sand, Landau and Oslo") == ["sand", "landau", "oslo"]


@given(DAYS)
def test_a_day_is_right_in_every_locale_and_the_next_one_in_none(day):
    wanted, other = Answer("date", day.isoformat()), (day + timedelta(days=1)).isoformat()
    for locale in LOCALES:
        assert is_right(day_text(day.isoformat(), locale), wanted)
        assert not is_right(day_text(other, locale), wanted)


@given(st.integers(0, 1439), st.integers(1, 1439))
def test_each_minute_of_a_day_is_right_alone(minute, offset):
    hour, rest = divmod(minute, 60)
    half = f"{(hour - 1) % 12 + 1}:{rest:02} {'am' if hour < 12 else 'pm'}"
    other = "{:02}:{:02}".format(*divmod((minute + offset) % 1440, 60))
    wanted = Answer("time", f"{hour:02}:{rest:02}")

    assert is_right(f"{hour}:{rest:02}", wanted)
    assert is_right(half, wanted)
    assert not is_right(other, wanted)


@given(st.integers(-(10**9), 10**9), st.integers(-(10**9), 10**9))
def test_a_number_is_right_with_thousands_apart_and_no_other_is(value, other):
    wanted = Answer("number", str(value))

    for separator in ",. '":
        assert is_right(f"{value:,}".replace(",", separator), wanted)
    assert is_right(str(other), wanted) == (value == other)


@given(NAMES, NAMES)
def test_names_are_equal_as_plain_texts_are(one, other):
    assert is_right(other, Answer("name", one)) == (plain(one) == plain(other))


ANSWERS = st.one_of(
    st.integers(0, 10**6).map(lambda value: Answer("number", str(value))),
    DAYS.map(lambda day: Answer("date", day.isoformat())),
    st.integers(0, 1439).map(
        lambda minute: Answer("time", "{:02}:{:02}".format(*divmod(minute, 60)))
    ),
    NAMES.map(lambda name: Answer("name", name)),
    st.lists(WORDS, min_size=1, max_size=4).map(lambda all_: Answer("list", "\n".join(all_))),
)


@given(ANSWERS)
def test_every_answer_is_right_as_it_is_and_none_of_its_near_misses(wanted):
    assert is_right(wanted.value, wanted)

    for kind, name, claim in false_claims(Wanted("clock", answer=wanted), answer(wanted.value)):
        if kind == "wrong answer":
            assert not is_right(str(claim.text), wanted), name
