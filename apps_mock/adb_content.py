"""`content` on the mock phone: contacts, messages, the calendar and settings as rows of providers.

What the clone holds is written through `adb_clone_writes`; settings go to `settings`' own table, so
that both commands tell the same.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping
from typing import Final

from apps_mock.adb_calls import Call
from apps_mock.adb_clone_writes import deleted, inserted, is_writable
from apps_mock.adb_device import MockDevice
from apps_mock.adb_settings import NAMESPACES, SettingsCommand, without_user
from apps_mock.android_facts import Row, content_rows

_VERBS: Final = frozenset({"query", "insert", "update", "delete"})
_OPTIONS: Final = frozenset({"--uri", "--projection", "--where", "--bind", "--sort"})
_SETTINGS: Final = re.compile(rf"content://settings/({'|'.join(NAMESPACES)})(?:/(\w+))?/?")
_TERM: Final = re.compile(
    r"""\s*(\w+)\s*=\s*(?:'((?:[^']|'')*)'|"((?:[^"]|"")*)"|(-?\d+))\s*""", re.ASCII
)
_SORT: Final = re.compile(r"(\w+)(?:\s+(ASC|DESC))?(?:\s+LIMIT\s+(\d{1,9}))?", re.IGNORECASE)
_Matches = Callable[[Row], bool]


class ContentCommand:
    """`content query|insert|update|delete --uri URI …`; updates are for settings alone."""

    def __init__(self, device: MockDevice, settings: SettingsCommand) -> None:
        self._device = device
        self._settings = settings

    async def __call__(self, call: Call) -> int:
        """Run one `content` command."""
        verb, *words = without_user(call.arguments) or ("",)
        if verb not in _VERBS or len(words) % 2:
            return call.fail("only query, insert, update, delete with --uri URI are supported", 2)
        pairs = list(zip(words[::2], words[1::2], strict=True))
        options = dict(pairs)
        uri = options.get("--uri", "")
        strange = sorted(set(options) - _OPTIONS)
        if strange or not uri.startswith("content://"):
            return call.fail(f"unsupported: {' '.join(strange) or 'no --uri'}", 2)
        try:
            bound = dict(_bound(value) for name, value in pairs if name == "--bind")
            with self._device.in_use():
                return self._run(call, verb, options, bound)
        except KeyError as error:
            call.error(f"Error while accessing provider: no such column: {error.args[0]}")
            return 1
        except ValueError as error:
            return call.fail(str(error), 2)

    def _run(
        self, call: Call, verb: str, options: Mapping[str, str], bound: Mapping[str, str]
    ) -> int:
        uri, matches = options["--uri"], _condition(options.get("--where", ""))
        rows = self._rows(uri)
        if rows is None:
            authority = uri.removeprefix("content://").partition("/")[0]
            call.error(f"[ERROR] Could not find provider: {authority}")
            return 1
        if verb == "query":
            chosen = _sorted([row for row in rows if matches(row)], options.get("--sort", ""))
            columns = options.get("--projection", "")
            _print(call, chosen, columns.split(":") if columns else [])
            return 0
        setting = _SETTINGS.fullmatch(uri)
        if setting is not None:
            self._change_settings(verb, setting[1], [row for row in rows if matches(row)], bound)
            return 0
        return self._change_clone(call, verb, uri, bound=bound, matches=matches)

    def _rows(self, uri: str) -> list[Row] | None:
        """The rows behind a URI; None where nobody provides it."""
        setting = _SETTINGS.fullmatch(uri)
        if setting is not None:
            namespace, wanted = setting.groups()
            held = self._settings.table(namespace)
            return [
                {"_id": str(number), "name": name, "value": value}
                for number, (name, value) in enumerate(held.items(), 1)
                if wanted in {None, name}
            ]
        state = self._device.phone.loaded_state()
        return None if state is None else content_rows(state, uri)

    def _change_settings(
        self, verb: str, namespace: str, chosen: list[Row], bound: Mapping[str, str]
    ) -> None:
        """Put or delete settings: an insert replaces what has the name already.

        Raises: KeyError: a name or a value is missing.
        """
        if verb == "insert":
            self._settings.put((namespace, bound["name"]), bound["value"])
        for row in chosen if verb != "insert" else ():
            if verb == "update":
                self._settings.put((namespace, row["name"]), bound["value"])
            else:
                self._settings.delete((namespace, row["name"]))

    def _change_clone(
        self, call: Call, verb: str, uri: str, *, bound: Mapping[str, str], matches: _Matches
    ) -> int:
        state = self._device.phone.loaded_state()
        after = None
        if state is not None and verb == "insert":
            after = inserted(state, uri, bound)
        elif state is not None and verb == "delete" and is_writable(uri):
            after, _ = deleted(state, uri, matches)
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


def _condition(where: str) -> _Matches:
    """Whether a row fulfils a condition that is equations joined by AND.

    Raises: ValueError: it is anything else.
    """
    wanted = list(_terms(where))
    return lambda row: all(row[column] == value for column, value in wanted)


def _terms(where: str) -> Iterator[tuple[str, str]]:
    position = 0
    while position < len(where):
        found = _TERM.match(where, position)
        if found is None:
            raise ValueError(f"unsupported condition: {where[position:]}")
        column, single, double, number = found.groups()
        if single is not None:
            yield column, single.replace("''", "'")
        else:
            yield column, number if double is None else double.replace('""', '"')
        position = found.end()
        if position < len(where):
            joiner = where[position : position + 4]
            if joiner.upper() != "AND ":
                raise ValueError(f"unsupported condition: {where[position:]}")
            position += len(joiner)


def _sorted(rows: list[Row], order: str) -> list[Row]:
    """The rows by one column, as `--sort "COLUMN [ASC|DESC] [LIMIT N]"` asks.

    Raises: ValueError: it asks for more; KeyError: there is no such column.
    """
    if not order:
        return rows
    found = _SORT.fullmatch(order.strip())
    if found is None:
        raise ValueError(f"unsupported order: {order}")
    column, direction, limit = found.groups()
    is_numeric = all(re.fullmatch(r"-?[0-9]{1,18}", row[column]) for row in rows)
    ordered = sorted(
        rows,
        key=lambda row: (int(row[column]) if is_numeric else 0, row[column]),
        reverse=(direction or "").upper() == "DESC",
    )
    return ordered[: int(limit)] if limit else ordered


def _print(call: Call, rows: list[Row], columns: list[str]) -> None:
    if not rows:
        call.out("No result found.\n")
    for number, row in enumerate(rows):
        shown = ", ".join(f"{name}={row[name]}" for name in columns or row)
        call.out(f"Row: {number} {shown}\n")
