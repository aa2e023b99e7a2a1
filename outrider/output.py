"""What commands print: JSON lines for programs, tables and lines for people.

The contract of `--json`: one JSON object a line on stdout and nothing else there, each with the key
"event", the last one {"event": "summary", ...}. Errors are one line on stderr in both forms.
"""

from __future__ import annotations

import json
import re
import sys
from collections.abc import Iterable, Mapping
from dataclasses import asdict, is_dataclass
from enum import Enum
from pathlib import Path
from textwrap import fill
from typing import TYPE_CHECKING, TextIO

if TYPE_CHECKING:
    from rich.console import Console

_ID = re.compile(r"[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}")


class Output:
    """Where a command writes: lines of JSON, or text for a person.

    Every method writes at once and flushes, so that a reader of a pipe sees events as they happen.

    Args:
        json_lines: whether stdout is for a program.
        stdout, stderr: the streams; the process's own by default.
    """

    def __init__(
        self, *, json_lines: bool, stdout: TextIO | None = None, stderr: TextIO | None = None
    ) -> None:
        self.json_lines = json_lines
        self._stdout = sys.stdout if stdout is None else stdout
        self._stderr = sys.stderr if stderr is None else stderr
        self._made_console: Console | None = None

    @property
    def console(self) -> Console:
        """A rich console on stdout for people, on stderr where stdout belongs to a program."""
        if self._made_console is None:
            from outrider.console import PipedConsole

            stream = self._stderr if self.json_lines else self._stdout
            self._made_console = PipedConsole(file=stream, highlight=False, soft_wrap=True)
        return self._made_console

    def event(self, name: str, /, **fields: object) -> None:
        """Something happened: {"event": name, ...}, or one readable line."""
        if self.json_lines:
            self._write({"event": name, **fields})
        else:
            parts = [name.replace("_", " "), *(f"{k} {_shown(v)}" for k, v in fields.items())]
            self.console.print(_folded(parts, self.console.width), markup=False)

    def line(self, fields: Mapping[str, object]) -> None:
        """One JSON object exactly as it is; nothing for people."""
        if self.json_lines:
            self._write(fields)

    def rows(self, name: str, rows: Iterable[Mapping[str, object]], *, title: str = "") -> int:
        """Like things, one a line or as a table; returns how many there were."""
        if self.json_lines:
            count = 0
            for row in rows:
                self._write({"event": name, **row})
                count += 1
            return count
        return self._table(list(rows), title or name)

    def note(self, text: str) -> None:
        """A line that only a person needs."""
        if not self.json_lines:
            self.console.print(legible(text), markup=False)

    def summary(self, **fields: object) -> None:
        """The last line: what came of the whole command."""
        self.event("summary", **fields)

    def _write(self, fields: Mapping[str, object]) -> None:
        text = json.dumps(fields, default=_plain, ensure_ascii=False, allow_nan=False)
        self._stdout.write(text + "\n")
        self._stdout.flush()

    def _table(self, rows: list[Mapping[str, object]], title: str) -> int:
        from rich.table import Table
        from rich.text import Text

        if not rows:
            self.note(f"{title}: none")
            return 0
        table = Table(title=title, title_justify="left")
        cells = [[_shown(value) for value in row.values()] for row in rows]
        for index, column in enumerate(rows[0]):
            holds_ids = any(_ID.search(row[index]) for row in cells)  # people copy them whole
            table.add_column(column.replace("_", " "), overflow="fold", no_wrap=holds_ids)
        for row in cells:
            table.add_row(*map(Text, row))
        self.console.print(table)
        return len(rows)


def print_error(text: str, *, stderr: TextIO | None = None) -> None:
    """One line on stderr, whatever line breaks the text holds."""
    stream = sys.stderr if stderr is None else stderr
    stream.write(f"error: {legible(' '.join(text.split()))}\n")
    stream.flush()


def legible(text: str) -> str:
    """A text as a terminal may show it: what would command the terminal stands as its escape.

    Phones and apps name things as they like, and their operator reads that.
    """
    if text.isprintable():
        return text
    return "".join(
        letter if letter.isprintable() or letter in "\n\t" else ascii(letter)[1:-1]
        for letter in text
    )


def _plain(value: object) -> object:
    if is_dataclass(value) and not isinstance(value, type):
        return asdict(value)
    if isinstance(value, Enum):
        return value.value
    if isinstance(value, Path):
        return str(value)
    raise TypeError(f"{type(value).__name__} has no JSON form: turn it into plain values first")


def _folded(parts: list[str], width: int) -> str:
    """The parts with two spaces between them, on lines that fit; later ones are indented."""
    lines = [""]
    for part in parts:
        if lines[-1].strip() and len(lines[-1]) + 2 + len(part) > width:
            lines.append("")
        lines[-1] += f"  {part}" if len(lines) > 1 or lines[-1] else part
    return "\n".join(
        fill(
            line, width,
            subsequent_indent="    ", break_long_words=False, break_on_hyphens=False,
        )
        for line in lines
    )  # fmt: skip


def _shown(value: object) -> str:
    match value:
        case None:
            return "-"
        case bool():
            return "yes" if value else "no"
        case float():
            return f"{value:.3g}"
        case str():
            return legible(value)
        case list() | tuple():
            return ", ".join(_shown(item) for item in value) or "none"
        case dict():
            return (
                ", ".join(f"{_shown(name)} {_inside(each)}" for name, each in value.items())
                or "none"
            )
        case _:
            return str(value)


def _inside(value: object) -> str:
    return f"({_shown(value)})" if isinstance(value, dict) else _shown(value)
