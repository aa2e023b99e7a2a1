"""The part of awk that clients of phones write; anything else is refused.

Rules `PATTERN {print …}`, with `printf` too and several of them. Patterns: `/…/`, comparisons of
fields, NR and NF, matches with `~`, joined by `&&` and `||`, BEGIN and END. Values: `$N`, `$NF`,
NR, NF, texts, numbers and variables of `-v`, side by side or with commas.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

from apps_mock.adb_patterns import compiled
from apps_mock.adb_tools import unescaped
from apps_mock.errors import CommandUsageError

_TOKEN = re.compile(
    r"""\s*(?:(?P<text>"(?:\\.|[^"\\])*")|(?P<pattern>/(?:\\.|[^/\\])+/)|(?P<number>\d{1,9})"""
    r"""|(?P<name>[A-Za-z_]\w*)|(?P<sign>&&|\|\||==|!=|<=|>=|!~|[~<>{};,$()!-]))"""
)
_COMPARISONS: Final = frozenset({"==", "!=", "<", ">", "<=", ">=", "~", "!~"})
_MOST_FIELDS: Final = 10_000


@dataclass(frozen=True, slots=True)
class _Token:
    kind: str
    text: str


@dataclass(frozen=True, slots=True)
class _Line:
    """One record and its fields."""

    text: str
    fields: list[str]
    number: int


_Value = tuple[_Token, ...]
"""A value: one token, or a dollar sign and what it counts."""


@dataclass(frozen=True, slots=True)
class _Comparison:
    left: _Value
    relation: str
    right: _Value


@dataclass(frozen=True, slots=True)
class _Print:
    """`print` or `printf` and its arguments, each of several values side by side."""

    is_formatted: bool
    arguments: tuple[tuple[_Value, ...], ...]


@dataclass(frozen=True, slots=True)
class _Rule:
    """When (any of some lists of comparisons that all hold), and what then."""

    moment: str
    alternatives: tuple[tuple[_Comparison, ...], ...]
    prints: tuple[_Print, ...]


class Awk:
    """A program, ready to run.

    Raises: CommandUsageError: it uses what this awk does not have.
    """

    def __init__(self, program: str, *, separator: str, variables: Mapping[str, str]) -> None:
        self._separator = separator
        self._variables = variables
        self._rules = _Reading(program).rules()

    def output(self, lines: list[bytes]) -> bytes:
        """What the program prints for these lines."""
        empty = _Line("", [], 0)
        printed = self._run("BEGIN", empty)
        line = empty
        for number, raw in enumerate(lines, 1):
            text = raw.decode(errors="surrogateescape")
            line = _Line(text, self._fields(text), number)
            printed += self._run("", line)
        printed += self._run("END", line)
        return "".join(printed).encode(errors="surrogateescape")

    def _fields(self, text: str) -> list[str]:
        if self._separator == " ":
            return text.split()
        if len(self._separator) == 1:
            return text.split(self._separator) if text else []
        pieces = compiled(self._separator).split(text.encode(errors="surrogateescape"))
        return [piece.decode(errors="surrogateescape") for piece in pieces]

    def _run(self, moment: str, line: _Line) -> list[str]:
        printed: list[str] = []
        for rule in self._rules:
            if rule.moment == moment and any(
                all(self._holds(one, line) for one in every) for every in rule.alternatives
            ):
                printed += [self._printed(one, line) for one in rule.prints]
        return printed

    def _holds(self, comparison: _Comparison, line: _Line) -> bool:
        left = self._value(comparison.left, line)
        if comparison.relation in {"~", "!~"}:
            (token,) = comparison.right[:1]
            found = compiled(token.text).search(left.encode(errors="surrogateescape"))
            return bool(found) == (comparison.relation == "~")
        right = self._value(comparison.right, line)
        one, other = _number(left), _number(right)
        order = (
            (left > right) - (left < right)
            if one is None or other is None
            else (one > other) - (one < other)
        )
        return {
            "==": order == 0, "!=": order != 0, "<": order < 0, ">": order > 0,
            "<=": order <= 0, ">=": order >= 0,
        }[comparison.relation]  # fmt: skip

    def _printed(self, wanted: _Print, line: _Line) -> str:
        values = ["".join(self._value(v, line) for v in each) for each in wanted.arguments]
        if not wanted.is_formatted:
            return (" ".join(values) if values else line.text) + "\n"
        form, *rest = values or [""]
        return re.sub(
            r"%[sd]|%%", lambda m: "%" if m[0] == "%%" else rest.pop(0) if rest else "", form
        )

    def _value(self, value: _Value, line: _Line) -> str:
        first = value[0]
        match first.kind:
            case "text" | "number":
                return first.text
            case "name":
                facts = {"NR": str(line.number), "NF": str(len(line.fields))}
                return facts.get(first.text, self._variables.get(first.text, ""))
        index = _number(self._value(value[1:], line)) or 0
        if index == 0:
            return line.text
        return (
            line.fields[int(index) - 1] if 0 < index <= min(_MOST_FIELDS, len(line.fields)) else ""
        )


def _number(text: str) -> float | None:
    return float(text) if re.fullmatch(r"-?\d{1,15}(\.\d{1,9})?", text.strip()) else None


class _Reading:
    """Recursive descent over a program's tokens."""

    def __init__(self, program: str) -> None:
        self._program = program
        self._tokens: list[_Token] = []
        position = 0
        while position < len(program.rstrip()):
            match = _TOKEN.match(program, position)
            if match is None or match.lastgroup is None:
                raise self._unsupported()
            text = match[match.lastgroup]
            if match.lastgroup == "text":
                text = unescaped(text[1:-1].replace('\\"', '"'))
            elif match.lastgroup == "pattern":
                text = text[1:-1].replace("\\/", "/")
            self._tokens.append(_Token(match.lastgroup, text))
            position = match.end()

    def rules(self) -> tuple[_Rule, ...]:
        """All rules of the program."""
        found: list[_Rule] = []
        while self._tokens:
            if self._take(";"):
                continue
            found.append(self._rule())
        if not found:
            raise self._unsupported()
        return tuple(found)

    def _rule(self) -> _Rule:
        moment = ""
        alternatives: tuple[tuple[_Comparison, ...], ...] = ((),)
        if self._is_name("BEGIN") or self._is_name("END"):
            moment = self._tokens.pop(0).text
        elif not self._is("{"):
            alternatives = self._alternatives()
        if not self._take("{"):
            return _Rule(moment, alternatives, (_Print(is_formatted=False, arguments=()),))
        prints: list[_Print] = []
        while not self._take("}"):
            if not self._take(";"):
                prints.append(self._print())
        return _Rule(moment, alternatives, tuple(prints))

    def _alternatives(self) -> tuple[tuple[_Comparison, ...], ...]:
        found = [[self._comparison()]]
        while True:
            if self._take("&&"):
                found[-1].append(self._comparison())
            elif self._take("||"):
                found.append([self._comparison()])
            else:
                return tuple(tuple(every) for every in found)

    def _comparison(self) -> _Comparison:
        whole: _Value = (_Token("sign", "$"), _Token("number", "0"))
        is_negated = self._take("!")
        if self._tokens and self._tokens[0].kind == "pattern":
            return _Comparison(whole, "!~" if is_negated else "~", (self._tokens.pop(0),))
        left = self._value()
        if self._tokens and not is_negated and self._tokens[0].text in _COMPARISONS:
            relation = self._tokens.pop(0).text
            is_pattern = self._tokens and self._tokens[0].kind in {"pattern", "text"}
            if relation in {"~", "!~"}:
                if not is_pattern:
                    raise self._unsupported()
                return _Comparison(left, relation, (self._tokens.pop(0),))
            return _Comparison(left, relation, self._value())
        return _Comparison(left, "==" if is_negated else "!=", (_Token("text", ""),))

    def _print(self) -> _Print:
        if not (self._is_name("print") or self._is_name("printf")):
            raise self._unsupported()
        is_formatted = self._tokens.pop(0).text == "printf"
        is_wrapped = self._take("(")
        arguments: list[tuple[_Value, ...]] = []
        while self._tokens and not (self._is("}") or self._is(";") or self._is(")")):
            values = [self._value()]
            while self._tokens and not any(self._is(sign) for sign in ",;})"):
                values.append(self._value())
            arguments.append(tuple(values))
            if not self._take(","):
                break
        if is_wrapped and not self._take(")"):
            raise self._unsupported()
        return _Print(is_formatted, tuple(arguments))

    def _value(self) -> _Value:
        if self._take("$"):
            if self._tokens and self._tokens[0].kind in {"number", "name"}:
                return (_Token("sign", "$"), self._tokens.pop(0))
            raise self._unsupported()
        if self._tokens and self._tokens[0].kind in {"text", "number", "name"}:
            return (self._tokens.pop(0),)
        raise self._unsupported()

    def _is(self, sign: str) -> bool:
        return bool(self._tokens) and self._tokens[0] == _Token("sign", sign)

    def _is_name(self, name: str) -> bool:
        return bool(self._tokens) and self._tokens[0] == _Token("name", name)

    def _take(self, sign: str) -> bool:
        if self._is(sign):
            del self._tokens[0]
            return True
        return False

    def _unsupported(self) -> CommandUsageError:
        return CommandUsageError(f"unsupported program: {self._program}")
