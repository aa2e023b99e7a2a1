"""Arithmetic of the mock phone's shell: `$((…))` over whole numbers and variables."""

from __future__ import annotations

import operator
import re
from collections.abc import Callable, Mapping
from contextlib import suppress
from typing import Final

from apps_mock.errors import ShellSyntaxError

_TOKEN = re.compile(
    r"\s*(0[xX][0-9a-fA-F]+|\d+|[A-Za-z_]\w*|<=|>=|==|!=|&&|\|\||<<|>>|[-+*/%<>!~&|^()?:])"
)
_LARGEST: Final = 1 << 63
_DEEPEST: Final = 50


def _quotient(left: int, right: int) -> int:
    return int(left / right) if abs(left) < 1 << 52 else left // right


def _remainder(left: int, right: int) -> int:
    return left - right * _quotient(left, right)


_LEVELS: Final[tuple[dict[str, Callable[[int, int], int]], ...]] = (
    {"||": lambda left, right: int(bool(left or right))},
    {"&&": lambda left, right: int(bool(left and right))},
    {"|": operator.or_},
    {"^": operator.xor},
    {"&": operator.and_},
    {
        "==": lambda left, right: int(left == right),
        "!=": lambda left, right: int(left != right),
    },
    {
        "<": lambda left, right: int(left < right),
        ">": lambda left, right: int(left > right),
        "<=": lambda left, right: int(left <= right),
        ">=": lambda left, right: int(left >= right),
    },
    {
        "<<": lambda left, right: left << (right & 63),
        ">>": lambda left, right: left >> (right & 63),
    },
    {"+": operator.add, "-": operator.sub},
    {"*": operator.mul, "/": _quotient, "%": _remainder},
)
_UNARY: Final[Mapping[str, Callable[[int], int]]] = {
    "-": operator.neg,
    "+": operator.pos,
    "!": lambda value: int(not value),
    "~": operator.invert,
}


class ZeroDivisorError(ShellSyntaxError):
    """An expression divides by zero."""


def check(expression: str) -> None:
    """Refuse what is no expression, whatever its variables hold.

    Raises: ShellSyntaxError: it is none.
    """
    names = re.findall(r"[A-Za-z_]\w*", expression)
    with suppress(ZeroDivisorError):
        value_of(expression, dict.fromkeys(names, "1"))


def value_of(expression: str, variables: Mapping[str, str]) -> int:
    """The value of an expression, wrapped to 64 bits; unset variables count as 0.

    Raises: ShellSyntaxError: it is none, or divides by zero.
    """
    tokens: list[str] = []
    position = 0
    text = expression.rstrip()
    while position < len(text):
        match = _TOKEN.match(text, position)
        if match is None:
            raise ShellSyntaxError(f"{expression.strip()}: unexpected {text[position:]!r}")
        tokens.append(match[1])
        position = match.end()
    if not tokens:
        return 0
    reader = _Reader(tokens, variables, expression.strip())
    value = reader.chosen()
    reader.expect_end()
    return value


class _Reader:
    def __init__(self, tokens: list[str], variables: Mapping[str, str], shown: str) -> None:
        self._tokens = tokens
        self._variables = variables
        self._shown = shown
        self._position = 0
        self._depth = 0

    def chosen(self) -> int:
        """The value of a whole expression, `CONDITION ? VALUE : VALUE` included."""
        value = self.binary(0)
        if self._peek() != "?":
            return value
        self._position += 1
        self._depth += 1
        if self._depth > _DEEPEST:
            raise ShellSyntaxError(f"{self._shown}: too deeply nested")
        first = self.chosen()
        if self._peek() != ":":
            raise ShellSyntaxError(f"{self._shown}: missing :")
        self._position += 1
        second = self.chosen()
        self._depth -= 1
        return first if value else second

    def binary(self, level: int) -> int:
        """The value of what binds as tightly as a level, or more so."""
        if level == len(_LEVELS):
            return self._unary()
        value = self.binary(level + 1)
        while (name := self._peek()) in _LEVELS[level]:
            self._position += 1
            right = self.binary(level + 1)
            try:
                value = _wrapped(_LEVELS[level][name](value, right))
            except ZeroDivisionError:
                raise ZeroDivisorError(f"{self._shown}: divisor is zero") from None
        return value

    def expect_end(self) -> None:
        """Nothing is left."""
        if self._peek():
            raise ShellSyntaxError(f"{self._shown}: unexpected {self._peek()!r}")

    def _peek(self) -> str:
        return self._tokens[self._position] if self._position < len(self._tokens) else ""

    def _unary(self) -> int:
        token = self._peek()
        self._position += 1
        self._depth += 1
        if self._depth > _DEEPEST:
            raise ShellSyntaxError(f"{self._shown}: too deeply nested")
        value = self._operand(token)
        self._depth -= 1
        return _wrapped(value)

    def _operand(self, first: str) -> int:
        token = first
        if token in _UNARY:
            return _UNARY[token](self._unary())
        if first == "(":
            value = self.chosen()
            if self._peek() != ")":
                raise ShellSyntaxError(f"{self._shown}: missing )")
            self._position += 1
            return value
        if re.match(r"[A-Za-z_]", token):
            token = self._variables.get(token, "").strip() or "0"
        if re.fullmatch(r"-?(0[xX][0-9a-fA-F]{1,16}|\d{1,19})", token):
            return int(token, 16 if "x" in token.lower() else 10)
        raise ShellSyntaxError(f"{self._shown}: unexpected {token or 'end'!r}")


def _wrapped(value: int) -> int:
    return (value + _LARGEST) % (2 * _LARGEST) - _LARGEST
