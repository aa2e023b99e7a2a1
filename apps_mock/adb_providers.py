"""`settings` and `content` on the mock phone: what the clone holds, as Android's tools print it.

A setting that the clone has is changed in the clone. What programs put before they drive a phone
(rotation, the time until the screen goes off) is not: it is shown as it was put until the clone
itself changes it, so that a client which turns rotation off spoils no verdict.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Final

from apps_mock.adb_calls import Call
from apps_mock.adb_clone_writes import deleted, inserted, is_writable, with_setting
from apps_mock.adb_device import MockDevice
from apps_mock.adb_keyboards import OWN
from apps_mock.android_facts import Row, SettingKey, content_rows, settings_of

_USUAL: Final[dict[SettingKey, str]] = {
    ("global", "airplane_mode_on"): "0",
    ("global", "animator_duration_scale"): "0",
    ("global", "transition_animation_scale"): "0",
    ("global", "window_animation_scale"): "0",
    ("global", "zen_mode"): "0",
    ("global", "development_settings_enabled"): "1",
    ("global", "device_provisioned"): "1",
    ("global", "adb_enabled"): "1",
    ("global", "stay_on_while_plugged_in"): "7",
    ("global", "heads_up_notifications_enabled"): "1",
    ("secure", "android_id"): "0123456789abcdef",
    ("secure", "user_setup_complete"): "1",
    ("system", "accelerometer_rotation"): "0",
    ("system", "screen_off_timeout"): "60000",
    ("system", "user_rotation"): "0",
}
"""Settings of a phone that the clone's own settings app does not show."""

_NAMESPACES: Final = ("system", "secure", "global")
_TERM: Final = re.compile(r"\s*(\w+)\s*=\s*(?:'((?:[^']|'')*)'|(-?\d+))\s*")
_USER_OPTIONS: Final = ("--user",)


_KEYBOARD: Final = ("secure", "default_input_method")
_KEYBOARDS: Final = ("secure", "enabled_input_methods")
_ROTATION: Final = ("system", "user_rotation")


class SettingsCommand:
    """`settings get|put|delete|list`, and `svc` and such that switch what is a setting."""

    def __init__(self, device: MockDevice) -> None:
        self._device = device
        self._put: dict[SettingKey, tuple[str | None, str | None]] = {}

    async def __call__(self, call: Call) -> int:
        """Run one `settings` command."""
        words = _without_user(call.arguments)
        with self._device.in_use():
            return self._run(call, tuple(word for word in words if word != "--lineage"))

    def get(self, key: SettingKey) -> str | None:
        """The value of a setting; None where it is not set."""
        return self._all().get(key)

    def put(self, key: SettingKey, value: str) -> None:
        """Set a setting, in the clone where the clone has it."""
        state = self._device.phone.loaded_state()
        after = None if state is None else with_setting(state, key, value)
        if after is not None:
            self._device.phone.restore(after)
            self._put.pop(key, None)
        elif key == _KEYBOARD:
            self._device.keyboards.choose(value)
        else:
            self._put[key] = value, self._own().get(key)
        if key == _ROTATION and value in {"0", "1", "2", "3"}:
            self._device.displays.turn(int(value))

    def _run(self, call: Call, words: tuple[str, ...]) -> int:
        match words:
            case ("get", namespace, name) if namespace in _NAMESPACES:
                call.out((self.get((namespace, name)) or "null") + "\n")
            case ("put", namespace, name, value, *_) if namespace in _NAMESPACES:
                self.put((namespace, name), value)
            case ("delete", namespace, name) if namespace in _NAMESPACES:
                key = (namespace, name)
                call.out(f"Deleted {int(key in self._all())} rows\n")
                self._put[key] = None, self._own().get(key)
            case ("list", namespace) if namespace in _NAMESPACES:
                rows = sorted(item for item in self._all().items() if item[0][0] == namespace)
                call.out("".join(f"{name}={value}\n" for (_, name), value in rows))
            case ("reset", *_):
                pass
            case _:
                return call.fail("expected get, put, delete or list of system, secure, global", 255)
        return 0

    def _own(self) -> dict[SettingKey, str]:
        state = self._device.phone.loaded_state()
        keyboards = self._device.keyboards
        held = _USUAL | ({} if state is None else settings_of(state))
        return held | {
            _KEYBOARD: keyboards.current,
            _KEYBOARDS: ":".join(dict.fromkeys((OWN, keyboards.current))),
            _ROTATION: str(self._device.displays.rotation),
        }

    def _all(self) -> dict[SettingKey, str]:
        own = self._own()
        held: dict[SettingKey, str | None] = dict(own)
        for key, (value, own_then) in self._put.items():
            if own.get(key) == own_then:
                held[key] = value
        return {key: value for key, value in held.items() if value is not None}


class ContentCommand:
    """`content query|insert|delete --uri URI …` over contacts, messages and the calendar."""

    def __init__(self, device: MockDevice) -> None:
        self._device = device

    async def __call__(self, call: Call) -> int:
        """Run one `content` command."""
        verb, *words = _without_user(call.arguments) or ("",)
        if verb not in {"query", "insert", "delete"} or len(words) % 2:
            return call.fail("only query, insert and delete with --uri URI are supported", 2)
        pairs = list(zip(words[::2], words[1::2], strict=True))
        options = dict(pairs)
        bound = [value for name, value in pairs if name == "--bind"]
        uri = options.get("--uri", "")
        strange = set(options) - _CONTENT_OPTIONS
        if strange or not uri.startswith("content://"):
            return call.fail(f"unsupported: {' '.join(strange) or 'no --uri'}", 2)
        try:
            with self._device.in_use():
                return self._run(call, verb, options, bound)
        except KeyError as error:
            call.error(f"Error while accessing provider: no such column: {error.args[0]}")
            return 1
        except ValueError as error:
            return call.fail(str(error), 2)

    def _run(self, call: Call, verb: str, options: dict[str, str], bound: list[str]) -> int:
        uri, where = options["--uri"], options.get("--where", "")
        state = self._device.phone.loaded_state()
        rows = None if state is None else content_rows(state, uri)
        if state is None or rows is None:
            authority = uri.removeprefix("content://").partition("/")[0]
            call.error(f"[ERROR] Could not find provider: {authority}")
            return 1
        if verb == "query":
            columns = options.get("--projection", "")
            _print(call, _chosen(rows, where), columns.split(":") if columns else [])
            return 0
        after = inserted(state, uri, dict(map(_bound, bound))) if verb == "insert" else None
        if verb == "delete" and is_writable(uri):
            wanted = list(_terms(where))
            after, _ = deleted(state, uri, lambda row: _holds(row, wanted))
        if after is None:
            return call.fail(f"the provider of {uri} takes no {verb}", 1)
        self._device.phone.restore(after)
        return 0


def _bound(written: str) -> tuple[str, str]:
    """Column and value of a `--bind COLUMN:TYPE:VALUE`.

    Raises: ValueError: it is none.
    """
    column, _, rest = written.partition(":")
    kind, colon, value = rest.partition(":")
    if not colon or kind not in {"s", "i", "l", "b", "f", "d", "n"}:
        raise ValueError(f"no COLUMN:TYPE:VALUE: {written}")
    return column, {"true": "1", "false": "0"}.get(value, value) if kind == "b" else value


_CONTENT_OPTIONS: Final = frozenset({"--uri", "--projection", "--where", "--bind", "--sort"})


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
    return [row for row in rows if _holds(row, wanted)]


def _holds(row: Row, wanted: list[tuple[str, str]]) -> bool:
    return all(row[column] == value for column, value in wanted)


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
