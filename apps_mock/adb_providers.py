"""`settings` and `content` on the mock phone: what the clone holds, as Android's tools print it.

A setting that a client puts holds until the clone itself changes it, as on a phone; it changes
nothing of the clone, so a client that turns rotation off spoils no verdict.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from typing import Final

from apps_mock.adb_calls import Call
from apps_mock.android_facts import Row, SettingKey, content_rows, settings_of
from apps_mock.phone_state import PhoneState

GetState = Callable[[], PhoneState | None]
"""The clone's state now; None where no task is loaded."""

_USUAL: Final[dict[SettingKey, str]] = {
    ("global", "airplane_mode_on"): "0",
    ("global", "animator_duration_scale"): "0",
    ("global", "transition_animation_scale"): "0",
    ("global", "window_animation_scale"): "0",
    ("global", "zen_mode"): "0",
    ("secure", "default_input_method"): "com.android.inputmethod.latin/.LatinIME",
    ("system", "accelerometer_rotation"): "0",
    ("system", "screen_off_timeout"): "60000",
    ("system", "user_rotation"): "0",
}
"""Settings of a phone that the clone's own settings app does not show."""

_NAMESPACES: Final = ("system", "secure", "global")
_TERM: Final = re.compile(r"\s*(\w+)\s*=\s*(?:'((?:[^']|'')*)'|(-?\d+))\s*")
_USER_OPTIONS: Final = ("--user",)


class SettingsCommand:
    """`settings get|put|delete|list`."""

    def __init__(self, get_state: GetState) -> None:
        self._get_state = get_state
        self._put: dict[SettingKey, tuple[str | None, str | None]] = {}

    async def __call__(self, call: Call) -> int:
        """Run one `settings` command."""
        match _without_user(call.arguments):
            case ("get", namespace, name) if namespace in _NAMESPACES:
                call.out(self._all().get((namespace, name), "null") + "\n")
            case ("put", namespace, name, value, *_) if namespace in _NAMESPACES:
                self._keep((namespace, name), value)
            case ("delete", namespace, name) if namespace in _NAMESPACES:
                call.out(f"Deleted {int((namespace, name) in self._all())} rows\n")
                self._keep((namespace, name), None)
            case ("list", namespace) if namespace in _NAMESPACES:
                rows = sorted(item for item in self._all().items() if item[0][0] == namespace)
                call.out("".join(f"{name}={value}\n" for (_, name), value in rows))
            case _:
                return call.fail("expected get, put, delete or list of system, secure, global", 255)
        return 0

    def _own(self) -> dict[SettingKey, str]:
        state = self._get_state()
        return _USUAL | ({} if state is None else settings_of(state))

    def _all(self) -> dict[SettingKey, str]:
        own = self._own()
        held: dict[SettingKey, str | None] = dict(own)
        for key, (value, own_then) in self._put.items():
            if own.get(key) == own_then:
                held[key] = value
        return {key: value for key, value in held.items() if value is not None}

    def _keep(self, key: SettingKey, value: str | None) -> None:
        self._put[key] = value, self._own().get(key)


class ContentCommand:
    """`content query --uri URI [--projection A:B] [--where A='x' AND B=1]`; it writes nothing."""

    def __init__(self, get_state: GetState) -> None:
        self._get_state = get_state

    async def __call__(self, call: Call) -> int:
        """Run one `content` command."""
        words = _without_user(call.arguments)
        if words[:1] != ("query",) or len(words) % 2 == 0:
            return call.fail("only 'query --uri URI [--projection P] [--where W]' is supported", 2)
        options = dict(zip(words[1::2], words[2::2], strict=True))
        uri = options.pop("--uri", "")
        projection = options.pop("--projection", "")
        where = options.pop("--where", "")
        if options or not uri.startswith("content://"):
            return call.fail(f"unsupported: {' '.join(options) or 'no --uri'}", 2)
        state = self._get_state()
        rows = None if state is None else content_rows(state, uri)
        if rows is None:
            authority = uri.removeprefix("content://").partition("/")[0]
            call.error(f"[ERROR] Could not find provider: {authority}")
            return 1
        try:
            _print(call, _chosen(rows, where), projection.split(":") if projection else [])
        except KeyError as error:
            call.error(f"Error while accessing provider: no such column: {error.args[0]}")
            return 1
        except ValueError as error:
            return call.fail(str(error), 2)
        return 0


def _without_user(arguments: tuple[str, ...]) -> tuple[str, ...]:
    """The arguments without `--user N`: the mock phone has one user."""
    words = list(arguments)
    for option in _USER_OPTIONS:
        while option in words:
            at = words.index(option)
            del words[at : at + 2]
    return tuple(words)


def _chosen(rows: list[Row], where: str) -> list[Row]:
    wanted = list(_terms(where))
    return [row for row in rows if all(row[column] == value for column, value in wanted)]


def _terms(where: str) -> Iterator[tuple[str, str]]:
    """Column and value of each equation in a condition that is equations joined by AND.

    Raises: ValueError: it is anything else.
    """
    position = 0
    while position < len(where):
        found = _TERM.match(where, position)
        if found is None:
            raise ValueError(f"unsupported condition: {where[position:]}")
        quoted = found[2]
        yield found[1], found[3] if quoted is None else quoted.replace("''", "'")
        position = found.end()
        if position < len(where):
            joiner = where[position : position + 4]
            if joiner.upper() != "AND ":
                raise ValueError(f"unsupported condition: {where[position:]}")
            position += len(joiner)


def _print(call: Call, rows: list[Row], columns: list[str]) -> None:
    if not rows:
        call.out("No result found.\n")
    for number, row in enumerate(rows):
        shown = ", ".join(f"{name}={row[name]}" for name in columns or row)
        call.out(f"Row: {number} {shown}\n")
