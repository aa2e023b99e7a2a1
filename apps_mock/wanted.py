"""What a task wants: records that shall change, a page that shall show, an answer, or nothing."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal


@dataclass(frozen=True, slots=True)
class Change:
    """What shall become of one record.

    Attributes:
        table: name of the table within the app.
        record: its id; None for a new record, whose id does not matter.
        values: (field, value) that shall hold; all of them but the id for a new record.
        removed: the record shall be gone.
        app: whose record it is; empty for the app that the task is about.
    """

    table: str
    record: str | None
    values: tuple[tuple[str, object], ...] = ()
    removed: bool = False
    app: str = ""


@dataclass(frozen=True, slots=True)
class PageGoal:
    """The page that shall show at the end, with what shall be typed or chosen there.

    Attributes:
        app: whose page it is; empty for the app that the task is about.
    """

    name: str
    argument: str = ""
    drafts: tuple[tuple[str, str], ...] = ()
    app: str = ""


@dataclass(frozen=True, slots=True)
class Answer:
    """The answer to the goal's question, compared by its type (see `answers`).

    Attributes:
        value: canonical: a number in digits, a day as `2025-03-14`, a time as `07:45`, a name as it
            is written, a list with a line for each entry.
        shown: the answer as it stands on the screen, which the oracle gives; empty for `value`.
        forms: further ways to write it that are right, such as `three` for 3.
        ordered: the entries of a list have to come in this order.
    """

    kind: Literal["number", "date", "time", "name", "list"]
    value: str
    shown: str = ""
    forms: tuple[str, ...] = ()
    ordered: bool = False


@dataclass(frozen=True, slots=True)
class Wanted:
    """What a task wants of the episode's end.

    Attributes:
        app: the app that it is about: changes and page are in it unless they name another.
        answer: what shall be answered; the state shall stay as it was but for `changes`.
        infeasible: nothing can be done; success is finish(infeasible) with nothing changed.
        free: (app, table) whose records may differ, such as the clipboard.
    """

    app: str
    changes: tuple[Change, ...] = ()
    page: PageGoal | None = None
    answer: Answer | None = None
    infeasible: bool = False
    free: tuple[tuple[str, str], ...] = ()
