"""The mock phone's plain tools: echo, cat, ls, rm, mkdir, grep, head, wc, date, sleep and such."""

from __future__ import annotations

import asyncio
import posixpath
import re
from collections.abc import Callable
from datetime import UTC, datetime
from typing import Final

from apps_mock.adb_files import Files
from apps_mock.adb_shell import Call, Command

_ECHO_ESCAPES: Final = {"n": "\n", "t": "\t", "r": "\r", "\\": "\\"}


class Tools:
    """Tools over one file system; `now_s` is the phone's time, seconds since 1970."""

    def __init__(self, files: Files, now_s: Callable[[], int]) -> None:
        self._files = files
        self._now_s = now_s

    def table(self) -> dict[str, Command]:
        """The commands by name."""
        return {
            "echo": _echo, "printf": _printf, "true": _true, ":": _true, "false": _false,
            "sleep": _sleep, "id": _id, "whoami": _whoami, "grep": self._grep, "head": self._head,
            "tail": self._tail, "wc": self._wc, "cat": self._cat, "ls": self._ls, "rm": self._rm,
            "mkdir": self._mkdir, "date": self._date, "test": self._test, "[": self._test,
        }  # fmt: skip

    async def _inputs(self, call: Call, paths: list[str]) -> bytes:
        """What a filter reads: the named files, or else its standard input."""
        if not paths:
            return await call.read_input()
        parts = [
            await call.read_input() if path == "-" else self._files.read(path) for path in paths
        ]
        return b"".join(parts)

    async def _cat(self, call: Call) -> int:
        call.out(await self._inputs(call, list(call.arguments)))
        return 0

    async def _ls(self, call: Call) -> int:
        flags, paths = _flags(call.arguments)
        code = 0
        for path in paths or ["/"]:
            found = self._files.stat(path)
            if found is None:
                code = call.fail(f"{path}: No such file or directory")
                continue
            is_listed = self._files.is_folder(path) and "d" not in flags
            for name in self._files.names(path) if is_listed else (path,):
                call.out(self._line(posixpath.join(path, name), name, is_long="l" in flags))
        return code

    def _line(self, path: str, name: str, *, is_long: bool) -> str:
        mode, size, changed = self._files.stat(path) or (0, 0, 0)
        if not is_long:
            return f"{name}\n"
        bits = "".join(
            letter if mode >> (8 - place) & 1 else "-" for place, letter in enumerate("rwxrwxrwx")
        )
        kind = "d" if self._files.is_folder(path) else "-"
        moment = datetime.fromtimestamp(changed, UTC).strftime("%Y-%m-%d %H:%M")
        return f"{kind}{bits} 1 shell shell {size:7d} {moment} {name}\n"

    async def _rm(self, call: Call) -> int:
        flags, paths = _flags(call.arguments)
        code = 0
        for path in paths:
            if self._files.stat(path) is None:
                if "f" not in flags:
                    code = call.fail(f"{path}: No such file or directory")
                continue
            self._files.remove(path, recursive=bool(set("rR") & set(flags)))
        return code

    async def _mkdir(self, call: Call) -> int:
        flags, paths = _flags(call.arguments)
        for path in paths:
            self._files.make_folder(path, parents="p" in flags)
        return 0

    async def _grep(self, call: Call) -> int:
        flags, rest = _flags(call.arguments)
        if not rest or not set(flags) <= set("EFivcoqnae"):
            return call.fail("expected a pattern and options of -E -F -i -v -c -o -q", 2)
        expression = re.escape(rest[0]) if "F" in flags else rest[0]
        if not {"E", "F"} & set(flags):
            expression = expression.replace("\\|", "\0").replace("|", "\\|").replace("\0", "|")
        try:
            pattern = re.compile(expression.encode(), re.IGNORECASE if "i" in flags else 0)
        except re.error as error:
            return call.fail(f"bad pattern: {error}", 2)
        lines = (await self._inputs(call, rest[1:])).splitlines()
        kept = [line for line in lines if bool(pattern.search(line)) != ("v" in flags)]
        if "q" not in flags:
            call.out(_grepped(pattern, kept, flags))
        return 0 if kept else 1

    async def _head(self, call: Call) -> int:
        count, paths = _count(call.arguments)
        lines = (await self._inputs(call, paths)).splitlines(keepends=True)
        call.out(b"".join(lines[:count]))
        return 0

    async def _tail(self, call: Call) -> int:
        count, paths = _count(call.arguments)
        lines = (await self._inputs(call, paths)).splitlines(keepends=True)
        call.out(b"".join(lines[-count:] if count else []))
        return 0

    async def _wc(self, call: Call) -> int:
        flags, paths = _flags(call.arguments)
        data = await self._inputs(call, paths)
        counts = {"l": data.count(b"\n"), "w": len(data.split()), "c": len(data)}
        call.out(" ".join(str(counts[each]) for each in "lwc" if each in (flags or "lwc")) + "\n")
        return 0

    async def _date(self, call: Call) -> int:
        now = datetime.fromtimestamp(self._now_s(), UTC)
        given = [each for each in call.arguments if each != "-u"]
        if given and not given[0].startswith("+"):
            return call.fail("only '+FORMAT' is supported")
        form = given[0][1:] if given else "%a %b %e %H:%M:%S UTC %Y"
        call.out(now.strftime(form.replace("%s", str(self._now_s()))) + "\n")
        return 0

    async def _test(self, call: Call) -> int:
        words = list(call.arguments)
        if call.name == "[" and (not words or words.pop() != "]"):
            return call.fail("missing ]", 2)
        match words:
            case ["-e" | "-f" | "-d" as kind, path]:
                is_folder = self._files.is_folder(path)
                exists = self._files.stat(path) is not None
                holds = {"-e": exists, "-f": exists and not is_folder, "-d": is_folder}[kind]
            case [] | [_] | ["-n" | "-z", _]:
                holds = bool("".join(words[-1:])) != (words[:1] == ["-z"])
            case [left, "=" | "==" | "!=" as relation, right]:
                holds = (left == right) != (relation == "!=")
            case _:
                return call.fail(f"{' '.join(words)}: unsupported expression", 2)
        return 0 if holds else 1


async def _echo(call: Call) -> int:
    words = list(call.arguments)
    has_newline = not (words and words[0] == "-n")
    text = " ".join(words if has_newline else words[1:])
    text = re.sub(r"\\([ntr\\])", lambda match: _ECHO_ESCAPES[match[1]], text)
    call.out(text + ("\n" if has_newline else ""))
    return 0


async def _printf(call: Call) -> int:
    form, *values = call.arguments or ("",)
    text = re.sub(r"\\([ntr\\])", lambda match: _ECHO_ESCAPES[match[1]], form)
    remaining = iter(values)
    call.out(re.sub(r"%([sd%])", lambda m: "%" if m[1] == "%" else next(remaining, ""), text))
    return 0


async def _true(_call: Call) -> int:
    return 0


async def _false(_call: Call) -> int:
    return 1


async def _sleep(call: Call) -> int:
    try:
        seconds = sum(float(each) for each in call.arguments)
    except ValueError:
        return call.fail(f"bad number {' '.join(call.arguments)}")
    if not 0 <= seconds < 1e6:
        return call.fail("bad number")
    await call.flush()
    await asyncio.sleep(seconds)
    return 0


async def _id(call: Call) -> int:
    call.out("uid=2000(shell) gid=2000(shell) groups=2000(shell)\n")
    return 0


async def _whoami(call: Call) -> int:
    call.out("shell\n")
    return 0


def _flags(arguments: tuple[str, ...]) -> tuple[str, list[str]]:
    """Single-letter options joined, and the other arguments."""
    flags = "".join(each[1:] for each in arguments if each.startswith("-") and len(each) > 1)
    return flags, [each for each in arguments if not each.startswith("-") or len(each) == 1]


def _count(arguments: tuple[str, ...]) -> tuple[int, list[str]]:
    """How many lines `head` and `tail` show, and their files."""
    rest = list(arguments)
    if rest and (match := re.fullmatch(r"-n?(\d+)", rest[0])):
        return int(match[1]), rest[1:]
    if len(rest) > 1 and rest[0] == "-n" and rest[1].isdigit():
        return int(rest[1]), rest[2:]
    return 10, rest


def _grepped(pattern: re.Pattern[bytes], kept: list[bytes], flags: str) -> bytes:
    if "c" in flags:
        return f"{len(kept)}\n".encode()
    if "o" in flags:
        kept = [match[0] for line in kept for match in pattern.finditer(line)]
    return b"".join(line + b"\n" for line in kept)
