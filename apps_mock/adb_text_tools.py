"""Filters of the mock phone's shell: grep, head, tail, wc, cut, tr, sort, uniq, xargs and such."""

from __future__ import annotations

import re

from apps_mock.adb_awk import Awk
from apps_mock.adb_calls import Call, Command, Input
from apps_mock.adb_files import Files, inputs
from apps_mock.adb_options import Options, options_of
from apps_mock.adb_patterns import CLASSES, basic, compiled
from apps_mock.adb_sed import Sed
from apps_mock.adb_tools import unescaped
from apps_mock.errors import CommandUsageError


class TextTools:
    """The filters over one file system."""

    def __init__(self, files: Files) -> None:
        self._files = files

    def table(self) -> dict[str, Command]:
        """The commands by name."""
        return {
            "grep": self._grep, "egrep": self._grep, "fgrep": self._grep, "head": self._head,
            "tail": self._tail, "wc": self._wc, "cut": self._cut, "tr": _tr, "sort": self._sort,
            "uniq": self._uniq, "xargs": _xargs, "sed": self._sed, "awk": self._awk,
            "rev": self._rev, "tac": self._tac, "nl": self._nl,
        }  # fmt: skip

    async def _lines(self, call: Call, paths: list[str]) -> list[bytes]:
        return _split(await inputs(self._files, call, paths))

    async def _grep(self, call: Call) -> int:
        options = options_of(
            call.arguments, flags="EFGivcoqnxwslHhra", valued="emABC", long_flags=["--color"]
        )
        patterns = options.every.get("e") or options.rest[:1]
        paths = options.rest if "e" in options.values else options.rest[1:]
        if not patterns:
            raise CommandUsageError("expected a pattern")
        if {"r", "A", "B", "C"} & ({*options.flags} | {*options.values}):
            raise CommandUsageError("options -r -A -B -C are not supported")
        pattern = _pattern_of(call.name, patterns, options)
        code = 1
        for path in paths or ["-"]:
            lines = await self._lines(call, [path] if paths else [])
            found = [
                (number, line)
                for number, line in enumerate(lines, 1)
                if bool(pattern.search(line)) != ("v" in options.flags)
            ][: options.number("m", len(lines)) if "m" in options.values else None]
            code = 0 if found else code
            if "l" in options.flags:
                call.out(f"{path}\n" if found else "")
            elif "q" not in options.flags:
                has_name = (len(paths) > 1 or "H" in options.flags) and "h" not in options.flags
                call.out(_found_text(pattern, found, options.flags, path if has_name else ""))
        return code

    async def _head(self, call: Call) -> int:
        options = _counted(call)
        data = await inputs(self._files, call, options.rest)
        if "c" in options.values:
            call.out(data[: options.number("c", 0)])
            return 0
        count = options.number("n", 10)
        lines = data.splitlines(keepends=True)
        call.out(b"".join(lines[:count]))
        return 0

    async def _tail(self, call: Call) -> int:
        options = _counted(call)
        data = await inputs(self._files, call, options.rest)
        if "c" in options.values:
            size = options.number("c", 0)
            call.out(data[-size:] if size else b"")
            return 0
        lines = data.splitlines(keepends=True)
        count = options.number("n", 10)
        if options.values.get("n", "").startswith("+"):
            call.out(b"".join(lines[max(0, count - 1) :]))
        else:
            call.out(b"".join(lines[-abs(count) :] if count else []))
        return 0

    async def _wc(self, call: Call) -> int:
        options = options_of(call.arguments, flags="lwcm")
        for path in options.rest or ["-"]:
            data = await inputs(self._files, call, [path])
            counts = {"l": data.count(b"\n"), "w": len(data.split()), "c": len(data)}
            counts["m"] = len(data.decode(errors="replace"))
            wanted = [each for each in "lwcm" if each in (options.flags or "lwc")]
            shown = " ".join(str(counts[each]) for each in wanted)
            call.out(shown + (f" {path}" if options.rest else "") + "\n")
        return 0

    async def _cut(self, call: Call) -> int:
        options = options_of(call.arguments, flags="sn", valued="dfcb")
        wanted = options.values.get("f") or options.values.get("c") or options.values.get("b")
        if not wanted:
            raise CommandUsageError("needs -f, -c or -b", 1)
        ranges = _ranges(wanted)
        delimiter = options.values.get("d", "\t").encode() or b"\t"
        for line in await self._lines(call, options.rest):
            if "f" not in options.values:
                call.out(b"".join(_chosen(list(_letters(line)), ranges)) + b"\n")
            elif delimiter in line:
                call.out(delimiter.join(_chosen(line.split(delimiter), ranges)) + b"\n")
            elif "s" not in options.flags:
                call.out(line + b"\n")
        return 0

    async def _sort(self, call: Call) -> int:
        options = options_of(call.arguments, flags="rnufVbg", valued="kt")
        lines = await self._lines(call, options.rest)
        field = re.match(r"\d{1,4}", options.values.get("k", ""))
        splitter = options.values.get("t", "").encode() or None

        def key(line: bytes) -> tuple[float, bytes]:
            if field:
                line = b" ".join(line.split(splitter)[max(0, int(field[0]) - 1) :])
            number = re.match(rb"\s*(-?\d{1,15}(?:\.\d{1,9})?)", line)
            by_number = {"n", "g"} & options.flags
            text = line.lower() if "f" in options.flags else line
            return (float(number[1]) if number and by_number else 0.0, text)

        lines.sort(key=key, reverse="r" in options.flags)
        if "u" in options.flags:
            lines = list(dict.fromkeys(lines))
        call.out(b"".join(line + b"\n" for line in lines))
        return 0

    async def _uniq(self, call: Call) -> int:
        options = options_of(call.arguments, flags="cdui")
        groups: list[tuple[bytes, int]] = []
        for line in await self._lines(call, options.rest):
            if groups and groups[-1][0] == line:
                groups[-1] = (line, groups[-1][1] + 1)
            else:
                groups.append((line, 1))
        for line, count in groups:
            is_shown = count > 1 if "d" in options.flags else count == 1
            if is_shown or not {"d", "u"} & options.flags:
                prefix = f"{count:7d} " if "c" in options.flags else ""
                call.out(prefix.encode() + line + b"\n")
        return 0

    async def _sed(self, call: Call) -> int:
        options = options_of(call.arguments, flags="nErsi", valued="e")
        scripts = options.every.get("e") or options.rest[:1]
        paths = options.rest if "e" in options.values else options.rest[1:]
        if not scripts:
            raise CommandUsageError("needs a script", 1)
        is_extended = bool({"E", "r"} & options.flags)
        sed = Sed(";".join(scripts), is_quiet="n" in options.flags, is_extended=is_extended)
        if "i" not in options.flags:
            call.out(sed.edited(await self._lines(call, paths)))
            return 0
        for path in paths:
            place = call.path(path)
            self._files.write(place, sed.edited(_split(self._files.read(place))))
        return 0

    async def _awk(self, call: Call) -> int:
        options = options_of(call.arguments, valued="Fv", in_order=True)
        if not options.rest:
            raise CommandUsageError("needs a program", 1)
        program, *paths = options.rest
        variables = dict(each.partition("=")[::2] for each in options.every.get("v", []))
        awk = Awk(program, separator=unescaped(options.values.get("F", " ")), variables=variables)
        call.out(awk.output(await self._lines(call, paths)))
        return 0

    async def _rev(self, call: Call) -> int:
        for line in await self._lines(call, list(call.arguments)):
            call.out(line.decode(errors="replace")[::-1] + "\n")
        return 0

    async def _tac(self, call: Call) -> int:
        lines = await self._lines(call, list(call.arguments))
        call.out(b"".join(line + b"\n" for line in reversed(lines)))
        return 0

    async def _nl(self, call: Call) -> int:
        options = options_of(call.arguments, valued="b")
        for number, line in enumerate(await self._lines(call, options.rest), 1):
            call.out(f"{number:6d}\t".encode() + line + b"\n")
        return 0


def _split(data: bytes) -> list[bytes]:
    """Lines without their ends; only line feeds end a line."""
    lines = data.split(b"\n")
    return lines[:-1] if lines[-1] == b"" else lines


def _letters(line: bytes) -> list[bytes]:
    return [letter.encode() for letter in line.decode(errors="replace")]


def _pattern_of(name: str, patterns: list[str], options: Options) -> re.Pattern[bytes]:
    """The regular expression that `grep` looks for."""
    is_fixed = "F" in options.flags or name == "fgrep"
    is_extended = "E" in options.flags or name == "egrep"
    lines = [line for pattern in patterns for line in pattern.split("\n")]
    expression = "|".join(
        re.escape(line) if is_fixed else line if is_extended else basic(line) for line in lines
    )
    if "x" in options.flags:
        expression = f"^(?:{expression})$"
    if "w" in options.flags:
        expression = rf"\b(?:{expression})\b"
    return compiled(expression, is_loose="i" in options.flags)


def _found_text(
    pattern: re.Pattern[bytes], found: list[tuple[int, bytes]], flags: frozenset[str], path: str
) -> bytes:
    """What `grep` prints of the lines that it found in a file; `path` is empty where untold."""
    prefix = f"{path}:" if path else ""
    if "c" in flags:
        return f"{prefix}{len(found)}\n".encode()
    shown: list[bytes] = []
    for number, line in found:
        start = (prefix + (f"{number}:" if "n" in flags else "")).encode()
        pieces = [line]
        if "o" in flags:
            pieces = [match[0] for match in pattern.finditer(line) if match[0]]
        shown += [start + piece + b"\n" for piece in pieces]
    return b"".join(shown)


def _counted(call: Call) -> Options:
    """Options of `head` and `tail`, where `-5` means `-n 5`."""
    words = [f"-n{word[1:]}" if re.fullmatch(r"-\d+", word) else word for word in call.arguments]
    return options_of(words, flags="qvf", valued="nc")


def _ranges(text: str) -> list[tuple[int, int]]:
    """Ranges such as `1,3-5,7-` as first and last numbers."""
    found: list[tuple[int, int]] = []
    for piece in text.split(","):
        match = re.fullmatch(r"(\d{0,6})(-?)(\d{0,6})", piece)
        if match is None or not (match[1] or match[3]):
            raise CommandUsageError(f"bad range '{text}'", 1)
        first = int(match[1] or 1)
        last = int(match[3]) if match[3] else 1 << 30 if match[2] else first
        found.append((first, last))
    return found


def _chosen(pieces: list[bytes], ranges: list[tuple[int, int]]) -> list[bytes]:
    return [
        piece
        for number, piece in enumerate(pieces, 1)
        if any(first <= number <= last for first, last in ranges)
    ]


async def _tr(call: Call) -> int:
    options = options_of(call.arguments, flags="dsc")
    sets = [_set_of(each) for each in options.rest]
    if not 1 <= len(sets) <= 2:
        raise CommandUsageError("needs one or two sets", 1)
    text = (await call.input.all()).decode("latin-1")
    first = sets[0]
    if "c" in options.flags:
        first = "".join(chr(code) for code in range(256) if chr(code) not in first)
    if "d" in options.flags:
        text = text.translate(dict.fromkeys(map(ord, first)))
    elif len(sets) > 1 and sets[1]:
        target = sets[1].ljust(len(first), sets[1][-1])
        text = text.translate(dict(zip(map(ord, first), target, strict=False)))
    if "s" in options.flags:
        squeezed = re.escape(sets[-1])
        text = re.sub(f"([{squeezed}])\\1+", r"\1", text) if squeezed else text
    call.out(text.encode("latin-1", errors="replace"))
    return 0


def _set_of(written: str) -> str:
    """The characters of a `tr` set, ranges and classes carried out."""
    for name, members in CLASSES.items():
        written = written.replace(name, members)
    text = unescaped(written).encode().decode("latin-1")
    found: list[str] = []
    position = 0
    while position < len(text):
        if position + 2 < len(text) and text[position + 1] == "-":
            found += map(chr, range(ord(text[position]), ord(text[position + 2]) + 1))
            position += 3
        else:
            found.append(text[position])
            position += 1
    return "".join(found)


async def _xargs(call: Call) -> int:
    options = options_of(call.arguments, flags="0rt", valued="nI", in_order=True)
    text = (await call.input.all()).decode(errors="replace")
    words = options.rest or ["echo"]
    place = options.values.get("I")
    if "0" in options.flags:
        items = [each for each in text.split("\0") if each]
    else:
        items = text.splitlines() if place else text.split()
    if not items and "r" in options.flags:
        return 0
    code = 0
    if place:
        for item in items:
            ended = await call.run([word.replace(place, item) for word in words], Input())
            code = 123 if ended else code
        return code
    size = options.number("n", 0) or len(items) or 1
    for start in range(0, max(1, len(items)), size):
        ended = await call.run([*words, *items[start : start + size]], Input())
        code = 123 if ended else code
    return code
