"""Programs of the mock phone's shell, as values: what a parsed command line is made of."""

from __future__ import annotations

from dataclasses import dataclass

from apps_mock.adb_words import Token, Word


@dataclass(frozen=True, slots=True)
class Redirection:
    """Where a descriptor goes: to a file (">" or ">>"), from one ("<"), or to another (">&")."""

    descriptor: int
    kind: str
    target: Word


@dataclass(frozen=True, slots=True)
class Simple:
    """One command: assignments before it, its words, its redirections in order."""

    assignments: tuple[tuple[str, Word], ...]
    words: tuple[Word, ...]
    redirections: tuple[Redirection, ...] = ()


@dataclass(frozen=True, slots=True)
class Condition:
    """`[[ … ]]`: its words and the operators `&&`, `||`, `(`, `)`, `<`, `>` between them."""

    tokens: tuple[Token, ...]
    redirections: tuple[Redirection, ...] = ()


@dataclass(frozen=True, slots=True)
class Group:
    """Commands in braces, or in parentheses with variables of their own."""

    body: Program
    is_subshell: bool
    redirections: tuple[Redirection, ...] = ()


@dataclass(frozen=True, slots=True)
class Choice:
    """`if`: conditions with what follows from each; the last condition is None for `else`."""

    branches: tuple[tuple[Program | None, Program], ...]
    redirections: tuple[Redirection, ...] = ()


@dataclass(frozen=True, slots=True)
class Loop:
    """`while` and `until`."""

    condition: Program
    body: Program
    until: bool
    redirections: tuple[Redirection, ...] = ()


@dataclass(frozen=True, slots=True)
class Each:
    """`for NAME in WORDS`."""

    name: str
    words: tuple[Word, ...]
    body: Program
    redirections: tuple[Redirection, ...] = ()


@dataclass(frozen=True, slots=True)
class Case:
    """`case WORD in PATTERN) …;; esac`."""

    word: Word
    items: tuple[tuple[tuple[Word, ...], Program], ...]
    redirections: tuple[Redirection, ...] = ()


Node = Simple | Condition | Group | Choice | Loop | Each | Case


@dataclass(frozen=True, slots=True)
class Pipeline:
    """Commands joined by `|`; `joiner` says when: ";" always, "&&" and "||" by the last code."""

    joiner: str
    commands: tuple[Node, ...]
    is_negated: bool = False


Program = tuple[Pipeline, ...]
