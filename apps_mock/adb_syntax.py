"""The grammar of the mock phone's shell: a command line becomes a program.

What clients of phones write: quotes, variables, substitutions, arithmetic, `;`, `&&`, `||`, `!`,
pipes, redirections, `if`, `while`, `until`, `for`, `case`, `[[ ]]`, groups and subshells. What is
not here (jobs, functions, here-documents, brace and tilde expansion) is refused loudly before
anything runs, never taken for something else.
"""

from __future__ import annotations

import re
from typing import Final

from apps_mock.adb_arithmetic import check
from apps_mock.adb_program import (
    Case,
    Choice,
    Condition,
    Each,
    Group,
    Loop,
    Node,
    Pipeline,
    Program,
    Redirection,
    Simple,
)
from apps_mock.adb_words import (
    DEEPEST,
    Arithmetic,
    Literal,
    Substitution,
    Token,
    Variable,
    Word,
    tokens_of,
)
from apps_mock.errors import ShellSyntaxError

_OPENERS: Final = frozenset("if while until for case { [[ !".split())
_CLOSERS: Final = frozenset("then elif else fi do done esac }".split())
_REFUSED: Final = frozenset("function select time coproc".split())
_REDIRECTION = re.compile(r"(\d?)(>>|>\||>|<)")
_DUPLICATION = re.compile(r"(\d?)>&(\d)")


def parse(line: str) -> Program:
    """The program of a command line.

    Raises: ShellSyntaxError: it ends too early, or uses what this shell does not have.
    """
    return program_of(tokens_of(line))


def program_of(tokens: list[Token] | tuple[Token, ...], depth: int = 0) -> Program:
    """The program of tokens; what stands in substitutions is parsed too, so that it is refused now.

    Raises: ShellSyntaxError: as `parse`.
    """
    parser = _Parser(list(tokens), depth)
    return parser.whole()


class _Parser:
    """Recursive descent over the tokens."""

    def __init__(self, tokens: list[Token], depth: int) -> None:
        self._tokens = tokens
        self._position = 0
        self._depth = depth
        for token in tokens:
            if isinstance(token, tuple):
                _check_substitutions(token, depth)

    def whole(self) -> Program:
        """Everything up to the end."""
        program = self._program(frozenset())
        if self._peek() is not None:
            raise _unexpected(self._peek())
        return program

    def _program(self, ends: frozenset[str]) -> Program:
        """Commands up to a word of `ends`, or to a token that belongs to what stands around."""
        self._depth += 1
        if self._depth > DEEPEST:
            raise ShellSyntaxError("syntax error: too deeply nested")
        found: list[Pipeline] = []
        joiner = ";"
        while True:
            token = self._peek()
            if _is(token, "\n"):
                self._position += 1
                continue
            if joiner == ";" and self._is_end(token, ends):
                break
            found.append(self._pipeline(joiner))
            joiner = self._joiner()
        self._depth -= 1
        return tuple(found)

    def _is_end(self, token: Token | None, ends: frozenset[str]) -> bool:
        if token is None or token in {")", ";;"}:
            return True
        return bool(ends) and _bare(token) in ends

    def _body(self, *ends: str) -> Program:
        """A program that must not be empty, up to one of the words, which stays."""
        program = self._program(frozenset(ends))
        if not program:
            raise _unexpected(self._peek())
        return program

    def _peek(self) -> Token | None:
        return self._tokens[self._position] if self._position < len(self._tokens) else None

    def _next(self) -> Token | None:
        token = self._peek()
        self._position += 1
        return token

    def _expect(self, text: str) -> None:
        """Pass one word or operator."""
        token = self._next()
        if token != text and _bare(token) != text:
            raise _unexpected(token)

    def _joiner(self) -> str:
        token = self._peek()
        if token in {"&&", "||"}:
            self._position += 1
            while self._peek() == "\n":
                self._position += 1
            return str(token)
        if token in {";", "\n"}:
            self._position += 1
        elif token is not None and token not in {")", ";;"}:
            if _is(token, "&"):
                raise ShellSyntaxError("syntax error: '&' (a background job) is not supported")
            raise _unexpected(token)
        return ";"

    def _pipeline(self, joiner: str) -> Pipeline:
        is_negated = False
        while _bare(self._peek()) == "!":
            is_negated = not is_negated
            self._position += 1
        commands = [self._command()]
        while self._peek() == "|":
            self._position += 1
            while self._peek() == "\n":
                self._position += 1
            commands.append(self._command())
        return Pipeline(joiner, tuple(commands), is_negated)

    def _command(self) -> Node:
        token = self._peek()
        word = _bare(token)
        if _is(token, "(") or word in _OPENERS:
            self._position += 1
            return self._compound(word or "(")
        if word in _REFUSED or word in _CLOSERS:
            raise ShellSyntaxError(f"syntax error: unexpected or unsupported {word!r}")
        return self._simple()

    def _compound(self, opener: str) -> Node:
        match opener:
            case "(":
                body = self._body()
                self._expect(")")
                return Group(body, is_subshell=True, redirections=self._redirections())
            case "{":
                body = self._body("}")
                self._expect("}")
                return Group(body, is_subshell=False, redirections=self._redirections())
            case "if":
                return self._choice()
            case "while" | "until":
                condition = self._body("do")
                body = self._do()
                return Loop(condition, body, opener == "until", self._redirections())
            case "for":
                return self._each()
            case "case":
                return self._case()
            case "[[":
                return self._condition()
        raise ShellSyntaxError(f"syntax error: unexpected {opener!r}")

    def _choice(self) -> Choice:
        branches: list[tuple[Program | None, Program]] = []
        while True:
            condition = self._body("then")
            self._expect("then")
            branches.append((condition, self._body("elif", "else", "fi")))
            word = _bare(self._next())
            if word == "else":
                branches.append((None, self._body("fi")))
                self._expect("fi")
            if word != "elif":
                return Choice(tuple(branches), self._redirections())

    def _do(self) -> Program:
        self._expect("do")
        body = self._body("done")
        self._expect("done")
        return body

    def _each(self) -> Each:
        name = _bare(self._next())
        if not re.fullmatch(r"[A-Za-z_]\w*", name, re.ASCII):
            raise ShellSyntaxError("syntax error: 'for' needs a name")
        self._expect("in")
        words: list[Word] = []
        while isinstance(word := self._peek(), tuple):
            words.append(word)
            self._position += 1
        self._skip_ends()
        return Each(name, tuple(words), self._do(), self._redirections())

    def _skip_ends(self) -> None:
        if self._peek() == ";":
            self._position += 1
        while self._peek() == "\n":
            self._position += 1

    def _case(self) -> Case:
        word = self._next()
        if not isinstance(word, tuple):
            raise _unexpected(word)
        self._expect("in")
        items: list[tuple[tuple[Word, ...], Program]] = []
        while True:
            self._skip_ends()
            if _bare(self._peek()) == "esac":
                self._position += 1
                return Case(word, tuple(items), self._redirections())
            items.append((self._patterns(), self._program(frozenset({"esac"}))))
            if self._peek() == ";;":
                self._position += 1

    def _patterns(self) -> tuple[Word, ...]:
        if self._peek() == "(":
            self._position += 1
        patterns: list[Word] = []
        while True:
            word = self._next()
            if not isinstance(word, tuple):
                raise _unexpected(word)
            patterns.append(word)
            operator = self._next()
            if operator == ")":
                return tuple(patterns)
            if operator != "|":
                raise _unexpected(operator)

    def _condition(self) -> Condition:
        tokens: list[Token] = []
        while _bare(token := self._next()) != "]]":
            if token is None or token in {";", "\n", "|", "&", ";;"}:
                raise _unexpected(token)
            tokens.append(token)
        return Condition(tuple(tokens), self._redirections())

    def _redirections(self) -> tuple[Redirection, ...]:
        found: list[Redirection] = []
        while isinstance(token := self._peek(), str):
            redirection = self._redirection(token)
            if redirection is None:
                break
            found.append(redirection)
        return tuple(found)

    def _simple(self) -> Simple:
        assignments: list[tuple[str, Word]] = []
        words: list[Word] = []
        redirections: list[Redirection] = []
        while (token := self._peek()) is not None:
            if isinstance(token, str):
                redirection = self._redirection(token)
                if redirection is None:
                    break
                redirections.append(redirection)
                continue
            self._position += 1
            name = _assigned_name(token) if not words else None
            if name is not None:
                assignments.append((name, _after(token, len(name) + 1)))
            else:
                words.append(token)
        if not (assignments or words or redirections) or self._peek() == "(":
            raise _unexpected(self._peek())
        return Simple(tuple(assignments), tuple(words), tuple(redirections))

    def _redirection(self, operator: str) -> Redirection | None:
        """The redirection that starts here; None where the operator is none."""
        duplication = _DUPLICATION.fullmatch(operator)
        if duplication:
            self._position += 1
            return Redirection(int(duplication[1] or 1), ">&", (Literal(duplication[2]),))
        match = _REDIRECTION.fullmatch(operator)
        if match is None:
            return None
        self._position += 1
        target = self._next()
        if not isinstance(target, tuple):
            raise _unexpected(target)
        usual = 0 if match[2] == "<" else 1
        return Redirection(int(match[1] or usual), match[2].replace(">|", ">"), target)


def _check_substitutions(word: Word, depth: int) -> None:
    """Parse what stands inside a word, so that the line is refused before any of it runs."""
    for part in word:
        match part:
            case Substitution(tokens):
                program_of(tokens, depth + 1)
            case Arithmetic(expression):
                _check_substitutions(expression, depth + 1)
                if all(isinstance(piece, Literal) for piece in expression):
                    check("".join(piece.text for piece in expression if isinstance(piece, Literal)))
            case Variable(argument=argument):
                _check_substitutions(argument, depth + 1)
            case Literal():
                pass


def _is(token: Token | None, operator: str) -> bool:
    return isinstance(token, str) and token == operator


def _bare(token: Token | None) -> str:
    """The text of a word without any quote or expansion, which may be a reserved word."""
    if isinstance(token, tuple) and len(token) == 1:
        (part,) = token
        if isinstance(part, Literal) and not part.quoted:
            return part.text
    return ""


def _unexpected(token: Token | None) -> ShellSyntaxError:
    if token is None:
        return ShellSyntaxError("syntax error: unexpected end of the line")
    shown = token if isinstance(token, str) else _bare(token) or "word"
    return ShellSyntaxError(f"syntax error: unexpected {shown!r}")


def _assigned_name(word: Word) -> str | None:
    first = word[0] if word else Literal("")
    if not isinstance(first, Literal) or first.quoted:
        return None
    match = re.match(r"([A-Za-z_][A-Za-z0-9_]*)=", first.text)
    return match[1] if match else None


def _after(word: Word, length: int) -> Word:
    """The word without its first `length` characters, which lie in its first part."""
    first = word[0]
    rest = Literal(first.text[length:] if isinstance(first, Literal) else "")
    return (rest, *word[1:]) if rest.text else word[1:]
