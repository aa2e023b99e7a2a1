"""Plain commands of the mock phone's shell that touch no file: echo, date, sleep, id and such."""

from __future__ import annotations

import asyncio
import re
from collections.abc import Callable, Mapping
from datetime import UTC, datetime
from typing import Final

from apps_mock.adb_calls import Call, Command
from apps_mock.adb_conditions import holds
from apps_mock.adb_files import Files
from apps_mock.adb_options import options_of
from apps_mock.errors import CommandUsageError, ShellSyntaxError

_ESCAPES: Final = {
    "n": "\n", "t": "\t", "r": "\r", "\\": "\\", "a": "\a", "b": "\b", "f": "\f", "v": "\v",
    "e": "\x1b",
}  # fmt: skip
_ESCAPE = re.compile(r"\\(?:([abefnrtv\\])|0([0-7]{1,3})|x([0-9a-fA-F]{1,2}))")
_CONVERSION = re.compile(r"%(-?0?\d{0,4}(?:\.\d{1,3})?)([sdixXoucb%])")
_LONGEST_SEQUENCE: Final = 100_000


class Tools:
    """The plain commands of one phone.

    Args:
        now_s: the phone's time, seconds since 1970.
        commands: all commands of the phone, for those that run others.
    """

    def __init__(
        self, files: Files, now_s: Callable[[], int], commands: Mapping[str, Command]
    ) -> None:
        self._files = files
        self._now_s = now_s
        self._commands = commands

    def table(self) -> dict[str, Command]:
        """The commands by name."""
        return {
            "echo": _echo, "printf": _printf, "true": _true, ":": _true, "false": _false,
            "sleep": _sleep, "usleep": _usleep, "id": _id, "whoami": _whoami, "uname": _uname,
            "date": self._date, "test": self._test, "[": self._test, "seq": _seq,
            "env": _env, "printenv": _printenv, "sh": self._sh, "toybox": self._toybox,
            "which": self._which, "timeout": _timeout, "nohup": _run_rest, "su": _su,
            "sync": _true, "uptime": self._uptime, "nproc": _nproc, "hostname": _hostname,
            "tty": _tty, "expr": _expr,
        }  # fmt: skip

    async def _date(self, call: Call) -> int:
        options = options_of(call.arguments, flags="u", valued="d")
        if "d" in options.values or (options.rest and not options.rest[0].startswith("+")):
            raise CommandUsageError("only '+FORMAT' is supported")
        now = datetime.fromtimestamp(self._now_s(), UTC)
        form = options.rest[0][1:] if options.rest else "%a %b %e %H:%M:%S UTC %Y"
        form = form.replace("%s", str(self._now_s())).replace("%N", "000000000")
        if re.search(r"%[-_0^#]*\d", form):  # a width could ask for any amount of memory
            raise CommandUsageError(f"bad format '{form}'", 1)
        call.out(now.strftime(form) + "\n")
        return 0

    async def _uptime(self, call: Call) -> int:
        now = datetime.fromtimestamp(self._now_s(), UTC)
        call.out(f" {now:%H:%M:%S} up 1 day,  2:03,  0 users,  load average: 0.50, 0.40, 0.30\n")
        return 0

    async def _test(self, call: Call) -> int:
        words = list(call.arguments)
        if call.name == "[" and (not words or words.pop() != "]"):
            return call.fail("missing ]", 2)
        try:
            return int(not holds(words, self._files, call.folder))
        except ShellSyntaxError as error:
            return call.fail(str(error), 2)

    async def _sh(self, call: Call) -> int:
        if call.arguments[:1] == ("-c",) and len(call.arguments) > 1:
            return await call.run_line(call.arguments[1])
        if call.arguments and not call.arguments[0].startswith("-"):
            script = self._files.read(call.path(call.arguments[0]))
            return await call.run_line(script.decode(errors="replace"))
        if call.arguments:
            raise CommandUsageError("only -c COMMAND and a script are supported")
        return await call.run_line((await call.input.all()).decode(errors="replace"))

    async def _toybox(self, call: Call) -> int:
        if not call.arguments:
            call.out(" ".join(sorted(self._commands)) + "\n")
            return 0
        if call.arguments[0] not in self._commands:
            raise CommandUsageError(f"Unknown command {call.arguments[0]}", 127)
        return await call.run(call.arguments, call.input)

    async def _which(self, call: Call) -> int:
        found = [name for name in call.arguments if name in self._commands]
        call.out("".join(f"/system/bin/{name}\n" for name in found))
        return 0 if len(found) == len(call.arguments) else 1


def unescaped(text: str) -> str:
    """The text with its backslash sequences carried out."""

    def character(match: re.Match[str]) -> str:
        if match[1]:
            return _ESCAPES[match[1]]
        return chr(int(match[2], 8) & 0xFF if match[2] else int(match[3], 16))

    return _ESCAPE.sub(character, text)


async def _echo(call: Call) -> int:
    words = list(call.arguments)
    has_newline, is_raw = True, False
    while words and re.fullmatch(r"-[neE]+", words[0]):
        has_newline = has_newline and "n" not in words[0]
        is_raw = "E" in words[0]
        del words[0]
    text = " ".join(words)
    call.out((text if is_raw else unescaped(text)) + ("\n" if has_newline else ""))
    return 0


async def _printf(call: Call) -> int:
    if not call.arguments:
        raise CommandUsageError("usage: printf format [arguments ...]", 1)
    form, *values = call.arguments
    remaining = list(values)
    shown: list[str] = []
    while True:
        before = len(remaining)
        shown.append(_CONVERSION.sub(lambda match: _converted(match, remaining), unescaped(form)))
        if not remaining or len(remaining) == before:
            break
    call.out("".join(shown))
    return 0


def _converted(match: re.Match[str], remaining: list[str]) -> str:
    flags, kind = match[1], match[2]
    if kind == "%":
        return "%"
    value = remaining.pop(0) if remaining else ""
    if kind in "di":
        return f"%{flags}d" % _number(value)
    if kind in "xXou":
        return f"%{flags}{'d' if kind == 'u' else kind}" % _number(value)
    if kind == "c":
        return value[:1]
    return f"%{flags}s" % (unescaped(value) if kind == "b" else value)


def _number(text: str) -> int:
    try:
        return int(text or "0", 0)
    except ValueError:
        raise CommandUsageError(f"bad number {text!r}", 1) from None


async def _true(_call: Call) -> int:
    return 0


async def _false(_call: Call) -> int:
    return 1


async def _sleep(call: Call) -> int:
    units = {"s": 1, "m": 60, "h": 3600, "d": 86400}
    seconds = 0.0
    for text in call.arguments:
        match = re.fullmatch(r"(\d{0,9}(?:\.\d{1,9})?)([smhd]?)", text)
        if match is None or not match[1]:
            raise CommandUsageError(f"bad number '{text}'", 1)
        seconds += float(match[1]) * units.get(match[2], 1)
    await call.flush()
    await asyncio.sleep(seconds)
    return 0


async def _usleep(call: Call) -> int:
    text = call.arguments[0] if call.arguments else ""
    if not re.fullmatch(r"\d{1,12}", text):
        raise CommandUsageError(f"bad number '{text}'", 1)
    await call.flush()
    await asyncio.sleep(int(text) / 1e6)
    return 0


async def _timeout(call: Call) -> int:
    options = options_of(call.arguments, valued="ks", in_order=True)
    if len(options.rest) < 2 or not re.fullmatch(r"\d{1,6}(\.\d+)?s?", options.rest[0]):
        raise CommandUsageError("usage: timeout SECONDS COMMAND", 125)
    limit_s = float(options.rest[0].rstrip("s"))
    try:
        async with asyncio.timeout(limit_s):
            return await call.run(options.rest[1:], call.input)
    except TimeoutError:
        return 124


async def _run_rest(call: Call) -> int:
    return await call.run(call.arguments, call.input) if call.arguments else 125


async def _su(call: Call) -> int:
    return call.fail("inaccessible or not found", 127)


async def _id(call: Call) -> int:
    groups = "2000(shell),1004(input),1007(log),1015(sdcard_rw),3003(inet)"
    match call.arguments:
        case ("-u",):
            call.out("2000\n")
        case ("-un",):
            call.out("shell\n")
        case _:
            call.out(f"uid=2000(shell) gid=2000(shell) groups={groups} context=u:r:shell:s0\n")
    return 0


async def _whoami(call: Call) -> int:
    call.out("shell\n")
    return 0


async def _uname(call: Call) -> int:
    release = "5.10.177-android12-9"
    facts = {"s": "Linux", "n": "localhost", "r": release, "v": "#1 SMP PREEMPT", "m": "aarch64"}
    options = options_of(call.arguments, flags="asnrvmo")
    wanted = facts if "a" in options.flags else {k: facts[k] for k in facts if k in options.flags}
    call.out(" ".join((wanted or {"s": "Linux"}).values()) + "\n")
    return 0


async def _nproc(call: Call) -> int:
    call.out("8\n")
    return 0


async def _hostname(call: Call) -> int:
    call.out("localhost\n")
    return 0


async def _tty(call: Call) -> int:
    call.out("not a tty\n")
    return 1


async def _env(call: Call) -> int:
    rest = [each for each in call.arguments if "=" not in each]
    if rest:
        return await call.run(rest, call.input)
    call.out("".join(f"{name}={value}\n" for name, value in sorted(call.variables.items())))
    return 0


async def _printenv(call: Call) -> int:
    if not call.arguments:
        return await _env(call)
    values = [call.variables.get(name) for name in call.arguments]
    call.out("".join(f"{value}\n" for value in values if value is not None))
    return 1 if None in values else 0


async def _seq(call: Call) -> int:
    numbers = [_number(each) for each in call.arguments]
    if not 1 <= len(numbers) <= 3:
        raise CommandUsageError("usage: seq [first] [step] last", 1)
    first = numbers[0] if len(numbers) > 1 else 1
    step = numbers[1] if len(numbers) > 2 else 1
    if step == 0:
        raise CommandUsageError("step is 0", 1)
    found = range(first, numbers[-1] + (1 if step > 0 else -1), step)
    if len(found) > _LONGEST_SEQUENCE:
        raise CommandUsageError("too many numbers", 1)
    call.out("".join(f"{number}\n" for number in found))
    return 0


async def _expr(call: Call) -> int:
    match call.arguments:
        case (left, "+" | "-" | "*" | "/" | "%" as operator, right):
            first, second = _number(left), _number(right)
            if operator in "/%" and not second:
                raise CommandUsageError("division by zero")
            value = {
                "+": first + second,
                "-": first - second,
                "*": first * second,
                "/": first // (second or 1),
                "%": first % (second or 1),
            }[operator]
            call.out(f"{value}\n")
            return int(not value)
    raise CommandUsageError("only NUMBER OPERATOR NUMBER is supported")
