"""Which devices somebody means: `model=Pixel*,android>=13,online=true`. Pure.

Conditions are joined by commas and must all hold. `=` compares whole words whatever their case and
takes `*` for anything; `<`, `>` and their kin compare numbers and versions part by part. What a
device does not say meets `!=` only.
"""

from __future__ import annotations

import operator
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from fnmatch import fnmatchcase
from typing import Final

from cloud_learner.order_limits import MOST_TEXT_CHARS
from sync.errors import RejectedError

Facts = Mapping[str, str | tuple[str, ...]]
"""What is known of a device, by lower-case name; several values where it has several."""

_CONDITION: Final = re.compile(
    r"\s*([A-Za-z][\w.-]*)\s*(!=|>=|<=|=|>|<)\s*(?P<value>.*?)\s*", re.DOTALL
)
_VERSION: Final = re.compile(r"-?\d+(?:\.\d+)*")
_ORDER: Final[Mapping[str, Callable[[list[int], list[int]], bool]]] = {
    ">": operator.gt,
    ">=": operator.ge,
    "<": operator.lt,
    "<=": operator.le,
}


@dataclass(frozen=True, slots=True)
class Condition:
    """One part of a filter."""

    name: str
    sign: str
    value: str

    def holds(self, facts: Facts) -> bool:
        """Whether a device meets it."""
        found = facts.get(self.name, ())
        values = (found,) if isinstance(found, str) else found
        if self.sign == "!=":
            return not any(_equals(one, self.value) for one in values)
        if self.sign == "=":
            return any(_equals(one, self.value) for one in values)
        return any(_in_order(one, self.sign, self.value) for one in values)


def parse_filter(text: str) -> tuple[Condition, ...]:
    """The conditions in a filter; none where it is empty.

    Raises: RejectedError: a part is no condition, or there is nothing but commas (reason
        "malformed").
    """
    if len(text) > MOST_TEXT_CHARS:
        raise _refused(f"a filter has at most {MOST_TEXT_CHARS} characters")
    parts = [one.strip() for one in text.split(",") if one.strip()]
    if text.strip() and not parts:  # commas alone would mean every device
        raise _refused(f"{text!r} is no condition")
    conditions = []
    for part in parts:
        found = _CONDITION.fullmatch(part)
        if found is None or found["value"].startswith("="):
            raise _refused(f"{part!r} is no condition")
        name, sign, value = found.groups()
        if sign in _ORDER and _VERSION.fullmatch(value) is None:
            raise _refused(f"{part!r} compares with what is no number")
        conditions.append(Condition(name.lower(), sign, value))
    return tuple(conditions)


def meets(facts: Facts, conditions: tuple[Condition, ...]) -> bool:
    """Whether all conditions hold of a device."""
    return all(condition.holds(facts) for condition in conditions)


def _equals(value: str, wanted: str) -> bool:
    return fnmatchcase(value.lower(), wanted.lower().replace("[", "[[]"))


def _in_order(value: str, sign: str, wanted: str) -> bool:
    """Compare versions; the missing parts of the shorter one are 0."""
    found = _VERSION.match(value)
    if found is None:
        return False
    have, want = ([int(part) for part in one.split(".")] for one in (found.group(), wanted))
    length = max(len(have), len(want))
    padded = [parts + [0] * (length - len(parts)) for parts in (have, want)]
    return _ORDER[sign](padded[0], padded[1])


def _refused(what: str) -> RejectedError:
    return RejectedError(
        f"{what}: write --where model=Pixel*,android>=13,online=true", reason="malformed"
    )
