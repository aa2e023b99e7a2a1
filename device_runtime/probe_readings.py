"""What a command's answer says: readers from shell output to one value, or to "cannot be told".

A reader never guesses. An exit code other than 0, an answer of another form, an error text that a
service printed with exit code 0: each is an `UnreadableError`, and the probe is undecidable.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Final, Protocol
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

from device_runtime.errors import DeviceError

PRESENT: Final = "present"
ABSENT: Final = "absent"
ON: Final = "on"
OFF: Final = "off"
NO_ROWS: Final = "No result found."
UNSET: Final = "null"

_LONGEST_ANSWER: Final = 1 << 20
_ROW: Final = re.compile(r"^Row: (\d+) ", re.MULTILINE)
_FOCUS: Final = re.compile(r"mCurrentFocus=Window\{\S+ u\d+ ([^\s/}]+)(?:/[^\s}]+)?\}")
_NO_SUCH_FILE: Final = "No such file or directory"


class Answer(Protocol):
    """What a shell command came to."""

    @property
    def stdout(self) -> bytes:
        """What it wrote."""
        ...

    @property
    def stderr(self) -> bytes:
        """What it complained about."""
        ...

    @property
    def exit_code(self) -> int:
        """0 where it succeeded."""
        ...


class UnreadableError(DeviceError):
    """The phone's answer does not say what was asked."""


Reader = Callable[[Answer], str]
"""The value in an answer.

Raises: UnreadableError: the answer does not tell.
"""


def text_of(answer: Answer) -> str:
    """Standard output of a command that succeeded, without line ends at its end.

    Raises: UnreadableError: it failed, complained, or wrote no text.
    """
    complaint = shortened(answer.stderr.decode(errors="replace"))
    if answer.exit_code != 0:
        raise UnreadableError(f"exit code {answer.exit_code}: {complaint or 'no word'}")
    if complaint:
        raise UnreadableError(complaint)
    if len(answer.stdout) > _LONGEST_ANSWER:
        raise UnreadableError(f"{len(answer.stdout)} bytes are no answer")
    try:
        return answer.stdout.decode().replace("\r\n", "\n").rstrip("\n")
    except UnicodeDecodeError as error:
        raise UnreadableError("the answer is no UTF-8 text") from error


def shortened(text: str, most: int = 120) -> str:
    """The text on one line, cut where it is long."""
    line = " ".join(text.split())
    return line if len(line) <= most else f"{line[: most - 1]}…"


def worded(words: Mapping[str, str]) -> Reader:
    """A reader for settings: what each stored value means; any other value cannot be told."""

    def read(answer: Answer) -> str:
        stored = text_of(answer).strip()
        if stored not in words:
            raise UnreadableError(f"{shortened(stored) or 'nothing'!r} is no value of this setting")
        return words[stored]

    return read


def number(answer: Answer) -> str:
    """The number that was answered, as it was written.

    Raises: UnreadableError: it is none.
    """
    stored = text_of(answer).strip()
    if not re.fullmatch(r"-?\d{1,15}(\.\d{1,9})?", stored):
        raise UnreadableError(f"{shortened(stored) or 'nothing'!r} is no number")
    return stored


def scaled(factor: float) -> Reader:
    """A reader of numbers that are asked in another unit; rounded to whole ones."""
    return lambda answer: str(round(float(number(answer)) * factor))


def line(answer: Answer) -> str:
    """The one line that was answered; a setting that is not set is empty.

    Raises: UnreadableError: there are more lines.
    """
    stored = text_of(answer)
    if "\n" in stored:
        raise UnreadableError("the answer has several lines")
    return "" if stored == UNSET else stored


def rows(answer: Answer) -> list[str]:
    """The rows of `content query`, each without its number.

    Raises: UnreadableError: it is no such listing, or its rows are not numbered as they should be.
    """
    return _rows_in(text_of(answer))


def _rows_in(listed: str) -> list[str]:
    if listed.strip() == NO_ROWS:
        return []
    starts = list(_ROW.finditer(listed))
    if not starts or starts[0].start() != 0:
        raise UnreadableError(f"no rows: {shortened(listed) or 'nothing'!r}")
    if [int(start[1]) for start in starts] != list(range(len(starts))):
        raise UnreadableError("the rows are not numbered in order")
    ends = [*(start.start() - 1 for start in starts[1:]), len(listed)]
    return [listed[start.end() : end] for start, end in zip(starts, ends, strict=True)]


def any_row(answer: Answer) -> str:
    """Whether a query found something."""
    return PRESENT if rows(answer) else ABSENT


def row_with(column: str, accepts: Callable[[str], bool]) -> Reader:
    """A reader for queries of one column: whether a row has a value that `accepts` takes."""

    def read(answer: Answer) -> str:
        prefix = f"{column}="
        found = rows(answer)
        if not all(row.startswith(prefix) for row in found):
            raise UnreadableError(f"the rows have no column {column}")
        return PRESENT if any(accepts(row.removeprefix(prefix)) for row in found) else ABSENT

    return read


def starts_at(moment: str) -> Reader:
    """A reader for a time zone and a query of `dtstart`: whether a row starts at `moment` there."""

    def read(answer: Answer) -> str:
        zone_name, _, listed = text_of(answer).partition("\n")
        try:
            zone = ZoneInfo(zone_name)
            found = [int(row.removeprefix("dtstart=")) for row in _rows_in(listed)]
        except (ValueError, ZoneInfoNotFoundError) as error:
            raise UnreadableError(f"no time zone or no times: {shortened(str(error))}") from error
        shown = [datetime.fromtimestamp(at_ms / 1000, zone) for at_ms in found]
        return PRESENT if moment in {f"{at:%Y-%m-%d %H:%M}" for at in shown} else ABSENT

    return read


def table_column(wanted: str, *, header: tuple[str, str, str]) -> Reader:
    """A reader for a table of three columns under `header`: whether `wanted` is in the second."""

    def read(answer: Answer) -> str:
        first, *listed = text_of(answer).splitlines() or [""]
        if first.strip() == "No networks":
            return ABSENT
        places = [first.find(name) for name in header]
        if -1 in places:
            raise UnreadableError(f"no table: {shortened(first)!r}")
        cells = [re.split(r"\s{2,}", row.strip()) for row in listed]
        return PRESENT if wanted in {cell[1] for cell in cells if len(cell) > 1} else ABSENT

    return read


def line_among(wanted: str) -> Reader:
    """A reader for lists with a line for each entry: whether one is exactly `wanted`."""

    def read(answer: Answer) -> str:
        listed = text_of(answer).splitlines()
        strange = [each for each in listed if not each.startswith(wanted.partition(":")[0])]
        if strange:
            raise UnreadableError(f"unexpected line {shortened(strange[0])!r}")
        return PRESENT if wanted in listed else ABSENT

    return read


def file_listed(answer: Answer) -> str:
    """Whether `ls` found the path.

    Raises: UnreadableError: it failed for another reason than that nothing is there.
    """
    if answer.exit_code != 0:
        if _NO_SUCH_FILE in (answer.stderr + answer.stdout).decode(errors="replace"):
            return ABSENT
        text_of(answer)
    return PRESENT if text_of(answer) else ABSENT


def package_in_front(answer: Answer) -> str:
    """Package of the focused window in `dumpsys window`.

    Raises: UnreadableError: no window has the focus, or two displays disagree.
    """
    found = set(_FOCUS.findall(text_of(answer)))
    if len(found) != 1:
        raise UnreadableError(f"{len(found) or 'no'} windows have the focus")
    return str(found.pop())


@dataclass(frozen=True, slots=True)
class Dump:
    """A reader for `dumpsys`: the first group of `pattern` on the lines of one service.

    Attributes:
        heading: what the dump must hold to be believed; without it, finding nothing means nothing.
        otherwise: the value where no line matches; None where that cannot be told either.
    """

    pattern: str
    heading: str = ""
    otherwise: str | None = None

    def __call__(self, answer: Answer) -> str:
        """The value in an answer.

        Raises: UnreadableError: see the attributes.
        """
        text = text_of(answer)
        if self.heading not in text:
            raise UnreadableError(f"the dump has no {self.heading!r}")
        found = re.search(self.pattern, text, re.MULTILINE)
        if found is not None:
            return str(found[1] if found.re.groups else found[0])
        if self.otherwise is None:
            raise UnreadableError("no line of the dump says it")
        return self.otherwise


def titled(wanted: str, pattern: str, heading: str) -> Reader:
    """A reader for `dumpsys`: whether the first group of `pattern` is `wanted` somewhere."""

    def read(answer: Answer) -> str:
        text = text_of(answer)
        if heading not in text:
            raise UnreadableError(f"the dump has no {heading!r}")
        found: Sequence[str] = re.findall(pattern, text, re.MULTILINE)
        return PRESENT if wanted in found else ABSENT

    return read
