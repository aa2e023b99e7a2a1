"""The guard's rules as values, and the TOML that a person reads and writes.

The rules that an owned phone starts with are a file of this package, `guard_owned.toml`; an owner's
file names only what differs. A key or value that means nothing is an error that says what to write:
a rule with a spelling mistake must never become no rule.
"""

from __future__ import annotations

import tomllib
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from enum import StrEnum
from fnmatch import fnmatchcase
from functools import cached_property, lru_cache
from importlib.resources import files
from pathlib import Path
from typing import Any, Final

from device_runtime.conditions import NO_CONDITIONS, ConditionRules
from device_runtime.errors import SettingsError
from device_runtime.label_words import WordList, scripts

OWNED_FILE: Final = "guard_owned.toml"
_LANGUAGE_LENGTHS: Final = frozenset({2, 3})


class Then(StrEnum):
    """What follows from a rule that applies."""

    DENY = "deny"
    ASK = "ask"
    ALLOW = "allow"


@dataclass(frozen=True)
class Wording:
    """Words of several languages, and resource ids that mean the same.

    Attributes:
        words: by language; each word or phrase as a label writes it.
        ids: words of resource ids, without their underscores.
    """

    words: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    ids: tuple[str, ...] = ()

    @cached_property
    def in_labels(self) -> WordList:
        """The words of all languages, ready to be found in a label."""
        return WordList.of(word for words in self.words.values() for word in words)

    @cached_property
    def in_ids(self) -> WordList:
        """The ids, ready to be found in a resource id."""
        return WordList.of(self.ids)


@dataclass(frozen=True)
class Consequence:
    """A kind of action that cannot be undone or that others notice, and how labels name it."""

    name: str
    wording: Wording
    then: Then = Then.ASK


@dataclass(frozen=True)
class ScreenRules:
    """A kind of screen on which nothing may be done; any of these signs is enough.

    Attributes:
        packages, activities: patterns; `*` stands for anything.
        texts, ids: words that an element of the screen says.
        password_field: a field for a password is shown.
        secure: the window forbids to be captured.
    """

    name: str
    then: Then = Then.DENY
    packages: tuple[str, ...] = ()
    activities: tuple[str, ...] = ()
    texts: tuple[str, ...] = ()
    ids: tuple[str, ...] = ()
    password_field: bool = False
    secure: bool = False

    @cached_property
    def wording(self) -> Wording:
        """Texts and ids, ready to be found."""
        return Wording({"any": self.texts}, self.ids)


@dataclass(frozen=True)
class GuardRules:
    """What is allowed.

    Attributes:
        stopped: nothing is allowed any more.
        allowed_packages: apps that may be used, as patterns; empty means every app.
        forbidden_packages: apps that may not be used, even where allowed above.
        screens: screens that can only be left.
        consequences: what touching an element can set off, by the words that it says.
        harmless: wordings that hold such a word and set nothing off.
        affirmations: "OK" and its like, which set off what the screen speaks of.
        search: fields in which Enter only searches.
        types_passwords: whether literal text may go into a password field (a slot always may).
        unknown: what touching an element follows that nobody can read.
        submit: what Enter follows outside of search fields.
        slots: what typing a hidden card, code, account or owner's secret follows.
        actions_a_minute: most actions in any minute; the agent waits; 0 is no limit.
        answer_within_s: how long the owner has for an answer; silence is a no.
        conditions: what must hold of battery, network and owner.
    """

    stopped: bool = False
    allowed_packages: tuple[str, ...] = ()
    forbidden_packages: tuple[str, ...] = ()
    screens: tuple[ScreenRules, ...] = ()
    consequences: tuple[Consequence, ...] = ()
    harmless: Wording = field(default_factory=Wording)
    affirmations: Wording = field(default_factory=Wording)
    search: Wording = field(default_factory=Wording)
    types_passwords: bool = False
    unknown: Then = Then.ALLOW
    submit: Then = Then.ALLOW
    slots: Then = Then.ALLOW
    actions_a_minute: int = 0
    answer_within_s: float = 60.0
    conditions: ConditionRules = NO_CONDITIONS

    @cached_property
    def scripts(self) -> frozenset[str]:
        """The scripts that the consequences' words are written in."""
        return frozenset(
            script
            for one in self.consequences
            for words in one.wording.words.values()
            for word in words
            for script in scripts(word)
        )


PERMISSIVE = GuardRules(types_passwords=True)
"""Rules of a clone: nobody is harmed."""


@lru_cache(maxsize=1)
def owned_rules() -> GuardRules:
    """The rules that an owner's phone starts with."""
    return parse_rules(owned_text(), base=PERMISSIVE_BASE)


PERMISSIVE_BASE: Final = GuardRules()


def owned_text() -> str:
    """The shipped rules as a person reads them."""
    return files("device_runtime").joinpath(OWNED_FILE).read_text("utf-8")


def read_rules(file: Path) -> GuardRules:
    """The rules in a guard file, or in the [guard] table of a settings file.

    Raises: SettingsError: it cannot be read, or a key or value means nothing; the text says which.
    """
    try:
        text = file.read_text("utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise SettingsError(f"{file} cannot be read ({error}): name a TOML file") from error
    try:
        return parse_rules(text, base=owned_rules())
    except SettingsError as error:
        raise SettingsError(f"{file}: {error}") from error


def parse_rules(text: str, *, base: GuardRules) -> GuardRules:
    """The rules in `text`; what it does not name is as in `base`.

    Raises: SettingsError: no TOML, or a key or value that means nothing.
    """
    try:
        document = tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        raise SettingsError(f"no TOML ({error}): mend that line") from error
    if "guard" not in document:
        raise SettingsError("it has no [guard] table: write [guard] above the rules")
    table = document["guard"]
    if not isinstance(table, dict):
        raise SettingsError("guard is not a table: write [guard] on a line of its own")
    reader = _Reader(table, "guard")
    rules = replace(
        base,
        allowed_packages=reader.texts("allowed_packages", base.allowed_packages),
        forbidden_packages=reader.texts("forbidden_packages", base.forbidden_packages),
        screens=_screens(reader.table("screens"), base.screens),
        consequences=_consequences(reader.table("consequential"), base.consequences),
        harmless=_wording(reader.table("harmless"), base.harmless),
        affirmations=_wording(reader.table("affirmations"), base.affirmations),
        search=_wording(reader.table("search"), base.search),
        types_passwords=reader.truth("types_passwords", default=base.types_passwords),
        unknown=reader.then("unknown", base.unknown),
        submit=reader.then("submit", base.submit),
        slots=reader.then("slots", base.slots),
        actions_a_minute=int(reader.number("actions_a_minute", base.actions_a_minute)),
        answer_within_s=reader.number("answer_within_s", base.answer_within_s),
        conditions=_conditions(reader.table("conditions"), base.conditions),
    )
    reader.end()
    return rules


class _Reader:
    """Takes keys out of one table and knows, at the end, which were not understood."""

    def __init__(self, table: Mapping[str, Any], path: str) -> None:  # Any: values of TOML
        self._table = dict(table)
        self._known: list[str] = []
        self.path = path

    @property
    def keys(self) -> tuple[str, ...]:
        """Keys that were not taken yet."""
        return tuple(self._table)

    def texts(self, key: str, default: tuple[str, ...] = ()) -> tuple[str, ...]:
        value = self._take(key, default)
        if not isinstance(value, list | tuple) or not all(isinstance(one, str) for one in value):
            raise self._wrong(key, value, 'a list of texts, such as ["org.example.app"]')
        if not all(one.strip() for one in value):
            raise self._wrong(key, value, "a list without empty texts")
        return tuple(value)

    def truth(self, key: str, *, default: bool = False) -> bool:
        value = self._take(key, default)
        if not isinstance(value, bool):
            raise self._wrong(key, value, "true or false")
        return value

    def number(self, key: str, default: float) -> float:
        value = self._take(key, default)
        if isinstance(value, bool) or not isinstance(value, int | float) or not value >= 0:
            raise self._wrong(key, value, "a number from 0 up")
        return value

    def then(self, key: str, default: Then) -> Then:
        value = self._take(key, default)
        try:
            return Then(value)
        except ValueError as error:
            raise self._wrong(key, value, '"deny", "ask" or "allow"') from error

    def table(self, key: str) -> _Reader:
        value = self._take(key, {})
        if not isinstance(value, dict):
            raise self._wrong(key, value, f"a table, [{self.path}.{key}]")
        return _Reader(value, f"{self.path}.{key}")

    def end(self) -> None:
        """Raise where a key was left."""
        if self._table:
            key = next(iter(self._table))
            known = ", ".join(self._known)
            raise SettingsError(
                f"{self.path} has an unknown key {key!r}: remove it, or use {known}"
            )

    def _take(self, key: str, default: object) -> Any:  # Any: a value of TOML, checked by callers
        self._known.append(key)
        return self._table.pop(key, default)

    def _wrong(self, key: str, value: object, expected: str) -> SettingsError:
        return SettingsError(f"{self.path}.{key} cannot be {value!r}: write {expected}")


def _wording(reader: _Reader, base: Wording) -> Wording:
    """Words of a table; a language or the ids that it names replace those of `base`."""
    ids = reader.texts("ids", base.ids)
    words = dict(base.words)
    for language in reader.keys:
        if len(language) not in _LANGUAGE_LENGTHS or not language.isalpha():
            reader.end()
        words[language] = reader.texts(language)
    reader.end()
    return Wording(words, ids)


def _consequences(reader: _Reader, base: Iterable[Consequence]) -> tuple[Consequence, ...]:
    found = {one.name: one for one in base}
    for name in reader.keys:
        old = found.get(name, Consequence(name, Wording()))
        table = reader.table(name)
        then = table.then("then", old.then)
        found[name] = Consequence(name, _wording(table, old.wording), then)
    return tuple(found.values())


def _screens(reader: _Reader, base: Iterable[ScreenRules]) -> tuple[ScreenRules, ...]:
    found = {one.name: one for one in base}
    for name in reader.keys:
        old = found.get(name, ScreenRules(name))
        table = reader.table(name)
        found[name] = ScreenRules(
            name,
            then=table.then("then", old.then),
            packages=table.texts("packages", old.packages),
            activities=table.texts("activities", old.activities),
            texts=table.texts("texts", old.texts),
            ids=table.texts("ids", old.ids),
            password_field=table.truth("password_field", default=old.password_field),
            secure=table.truth("secure", default=old.secure),
        )
        table.end()
    return tuple(found.values())


def _conditions(reader: _Reader, base: ConditionRules) -> ConditionRules:
    rules = ConditionRules(
        battery_percent=reader.number("battery_percent", base.battery_percent),
        temperature_c=reader.number("temperature_c", base.temperature_c),
        charging=reader.truth("charging", default=base.charging),
        wifi=reader.truth("wifi", default=base.wifi),
        idle_s=reader.number("idle_s", base.idle_s),
    )
    reader.end()
    return rules


def fits(name: str, patterns: Iterable[str]) -> str | None:
    """The first pattern that `name` fits, whatever the case; None where it fits none."""
    plain = name.casefold()
    return next((one for one in patterns if fnmatchcase(plain, one.casefold())), None)
