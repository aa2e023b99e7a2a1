"""Commands over the mock phone's files: ls, cat, rm, cp, stat, find, md5sum, base64 and such."""

from __future__ import annotations

import base64
import binascii
import fnmatch
import hashlib
import posixpath
from collections.abc import Callable
from datetime import UTC, datetime
from typing import Final

from apps_mock.adb_calls import Call, Command
from apps_mock.adb_files import FILE_MODE, Files, inputs, resolve
from apps_mock.adb_options import Options, options_of
from apps_mock.errors import CommandUsageError, MockFileError

_SUMS: Final = {
    "md5sum": "md5", "sha1sum": "sha1", "sha256sum": "sha256", "sha512sum": "sha512",
}  # fmt: skip
STORAGE_KB: Final = 120_000_000


class FileTools:
    """The commands over one file system."""

    def __init__(self, files: Files) -> None:
        self._files = files

    def table(self) -> dict[str, Command]:
        """The commands by name."""
        sums: dict[str, Command] = dict.fromkeys(_SUMS, self._sum)
        return sums | {
            "cat": self._cat, "ls": self._ls, "rm": self._rm, "rmdir": self._rmdir,
            "mkdir": self._mkdir, "touch": self._touch, "cp": self._cp, "mv": self._mv,
            "chmod": self._chmod, "chown": self._exists, "stat": self._stat, "find": self._find,
            "base64": self._base64, "du": self._du, "df": _df, "basename": _basename,
            "dirname": _dirname, "realpath": self._realpath, "readlink": self._realpath,
            "tee": self._tee, "mktemp": self._mktemp,
        }  # fmt: skip

    async def _cat(self, call: Call) -> int:
        options = options_of(call.arguments, flags="uvet")
        code = 0
        if not options.rest:
            call.out(await call.input.all())
        for path in options.rest:
            try:
                call.out(await inputs(self._files, call, [path]))
            except MockFileError as error:
                code = call.fail(f"{path}: {error.reason}")
        return code

    async def _ls(self, call: Call) -> int:
        options = options_of(call.arguments, flags="1aAdlhFRpstrinZLHC", long_flags=["--color"])
        code, shown = 0, 0
        for path in options.rest or ["."]:
            place = call.path(path)
            if self._files.stat(place) is None:
                code = call.fail(f"{path}: No such file or directory")
                continue
            is_listed = self._files.is_folder(place) and "d" not in options.flags
            if len(options.rest) > 1 and is_listed:
                call.out(("\n" if shown else "") + f"{path}:\n")
            shown += 1
            self._list(call, path, options, is_listed=is_listed)
        return code

    def _list(self, call: Call, path: str, options: Options, *, is_listed: bool) -> None:
        place = call.path(path)
        if not is_listed:
            call.out(self._line(place, path, options))
            return
        names = [
            name
            for name in self._files.names(place)
            if not name.startswith(".") or {"a", "A"} & options.flags
        ]
        if "t" in options.flags:
            names.sort(key=lambda name: -self._changed_at(posixpath.join(place, name)))
        if "l" in options.flags:
            call.out(f"total {4 * len(names)}\n")
        for name in reversed(names) if "r" in options.flags else names:
            call.out(self._line(posixpath.join(place, name), name, options))

    def _changed_at(self, path: str) -> int:
        found = self._files.stat(path)
        return found[2] if found else 0

    def _line(self, path: str, name: str, options: Options) -> str:
        mode, size, changed = self._files.stat(path) or (0, 0, 0)
        is_folder = self._files.is_folder(path)
        mark = "/" if is_folder and {"F", "p"} & options.flags else ""
        if "l" not in options.flags:
            return f"{name}{mark}\n"
        moment = datetime.fromtimestamp(changed, UTC).strftime("%Y-%m-%d %H:%M")
        return f"{_bits(mode)} 1 shell shell {size:7d} {moment} {name}{mark}\n"

    async def _rm(self, call: Call) -> int:
        options = options_of(call.arguments, flags="rRfiv")
        code = 0
        for path in options.rest:
            try:
                self._files.remove(call.path(path), recursive=bool({"r", "R"} & options.flags))
            except MockFileError as error:
                is_missing = self._files.stat(call.path(path)) is None
                if not ("f" in options.flags and is_missing):
                    code = call.fail(f"{path}: {error.reason}")
        return code

    async def _rmdir(self, call: Call) -> int:
        for path in options_of(call.arguments, flags="p").rest:
            if not self._files.is_folder(call.path(path)):
                return call.fail(f"{path}: Not a directory")
            if self._files.names(call.path(path)):
                return call.fail(f"{path}: Directory not empty")
            self._files.remove(call.path(path), recursive=True)
        return 0

    async def _mkdir(self, call: Call) -> int:
        options = options_of(call.arguments, flags="pv", valued="m")
        for path in options.rest:
            self._files.make_folder(call.path(path), parents="p" in options.flags)
        return 0

    async def _touch(self, call: Call) -> int:
        options = options_of(call.arguments, flags="acm", valued="dt")
        for path in options.rest:
            if self._files.stat(call.path(path)) is None and "c" not in options.flags:
                self._files.write(call.path(path), b"")
        return 0

    async def _cp(self, call: Call) -> int:
        return self._carry(call, options_of(call.arguments, flags="rRfpaniv"), remove=False)

    async def _mv(self, call: Call) -> int:
        return self._carry(call, options_of(call.arguments, flags="fniv"), remove=True)

    def _carry(self, call: Call, options: Options, *, remove: bool) -> int:
        if len(options.rest) < 2:
            raise CommandUsageError("needs a source and a target", 1)
        *sources, target = options.rest
        is_deep = remove or bool({"r", "R", "a"} & options.flags)
        for source in sources:
            start, end = call.path(source), call.path(target)
            if self._files.is_folder(start) and not is_deep:
                return call.fail(f"Skipped dir '{source}'")
            if self._files.is_folder(end):
                end = posixpath.join(end, posixpath.basename(start.rstrip("/")))
            if resolve(end) == resolve(start) or resolve(end).startswith(resolve(start) + "/"):
                return call.fail(f"'{source}' is '{target}'")
            self._copy(start, end)
            if remove:
                self._files.remove(start, recursive=True)
        return 0

    def _copy(self, start: str, end: str) -> None:
        for path in self._files.walk(start):
            place = end + path[len(start) :]
            if self._files.is_folder(path):
                self._files.make_folder(place, parents=True)
            else:
                self._files.write(place, self._files.read(path))

    async def _chmod(self, call: Call) -> int:
        options = options_of(call.arguments, flags="Rfv", in_order=True)
        mode, *paths = options.rest or [""]
        for path in paths:
            found = self._files.stat(call.path(path))
            if found is None:
                return call.fail(f"{path}: No such file or directory")
            if not self._files.is_folder(call.path(path)):
                bits = int(mode, 8) & 0o777 if set(mode) <= set("01234567") else 0o755
                data, changed = self._files.read(call.path(path)), found[2]
                self._files.write(call.path(path), data, mode=FILE_MODE & ~0o777 | bits)
                self._files.touch(call.path(path), changed)
        return 0

    async def _exists(self, call: Call) -> int:
        for path in options_of(call.arguments, flags="Rfv").rest[1:]:
            if self._files.stat(call.path(path)) is None:
                return call.fail(f"{path}: No such file or directory")
        return 0

    async def _stat(self, call: Call) -> int:
        options = options_of(call.arguments, flags="Lf", valued="c")
        for path in options.rest:
            found = self._files.stat(call.path(path))
            if found is None:
                return call.fail(f"'{path}': No such file or directory")
            form = options.values.get("c", "  File: %n\n  Size: %s\t Modify: %y")
            call.out(_stat_text(form, path, found) + "\n")
        return 0

    async def _find(self, call: Call) -> int:
        words = list(call.arguments)
        starts: list[str] = []
        while words and not words[0].startswith("-"):
            starts.append(words.pop(0))
        tests, deepest, deletes = self._find_tests(words)
        for start in starts or ["."]:
            base = call.path(start)
            for place in self._files.walk(base):
                relative = place[len(base) :]
                shown = start.rstrip("/") + relative if relative else start
                is_near = relative.strip("/").count("/") + bool(relative.strip("/")) <= deepest
                if is_near and all(test(place) for test in tests):
                    if deletes:
                        self._files.remove(place, recursive=True)
                    else:
                        call.out(f"{shown}\n")
        return 0

    def _find_tests(self, words: list[str]) -> tuple[list[Callable[[str], bool]], int, bool]:
        """What a file must be, how deep to look, and whether to delete what is found."""
        tests: list[Callable[[str], bool]] = []
        deepest, deletes = 1000, False
        while words:
            word = words.pop(0)
            if word in {"-print", "-delete"}:
                deletes = deletes or word == "-delete"
                continue
            value = words.pop(0) if words else ""
            match word:
                case "-name" | "-iname":
                    tests.append(_named(value, is_loose=word == "-iname"))
                case "-type" if value in {"f", "d"}:
                    tests.append(self._of_kind(is_folder=value == "d"))
                case "-maxdepth" if value.isdigit():
                    deepest = int(value)
                case _:
                    raise CommandUsageError(f"bad arg '{word}'", 1)
        return tests, deepest, deletes

    def _of_kind(self, *, is_folder: bool) -> Callable[[str], bool]:
        return lambda path: self._files.is_folder(path) == is_folder

    async def _sum(self, call: Call) -> int:
        options = options_of(call.arguments, flags="bs")
        algorithm = _SUMS[call.name]
        for path in options.rest or ["-"]:
            data = await inputs(self._files, call, [path])
            digest = hashlib.new(algorithm, data, usedforsecurity=False).hexdigest()
            call.out(f"{digest}\n" if "b" in options.flags else f"{digest}  {path}\n")
        return 0

    async def _base64(self, call: Call) -> int:
        options = options_of(call.arguments, flags="di", valued="w", long_flags=["--decode"])
        data = await inputs(self._files, call, options.rest)
        if {"d", "--decode"} & options.flags:
            text, is_strict = b"".join(data.split()), "i" not in options.flags
            try:
                call.out(base64.b64decode(text, validate=is_strict))
            except binascii.Error:
                return call.fail("bad input")
            return 0
        encoded = base64.b64encode(data)
        width = options.number("w", 76) or len(encoded) or 1
        lines = [encoded[start : start + width] for start in range(0, len(encoded), width)]
        call.out(b"\n".join(lines) + (b"\n" if options.values.get("w") != "0" else b""))
        return 0

    async def _du(self, call: Call) -> int:
        options = options_of(call.arguments, flags="shkmac", valued="d")
        for path in options.rest or ["."]:
            sizes = [(self._files.stat(each) or (0, 0, 0))[1] for each in self._walk(call, path)]
            call.out(f"{-(-sum(sizes) // 1024)}\t{path}\n")
        return 0

    def _walk(self, call: Call, path: str) -> tuple[str, ...]:
        return self._files.walk(call.path(path))

    async def _realpath(self, call: Call) -> int:
        for path in options_of(call.arguments, flags="ef").rest:
            if self._files.stat(call.path(path)) is None:
                return call.fail(f"{path}: No such file or directory")
            call.out(resolve(call.path(path)) + "\n")
        return 0

    async def _tee(self, call: Call) -> int:
        options = options_of(call.arguments, flags="ai")
        data = await call.input.all()
        call.out(data)
        for path in options.rest:
            self._files.write(call.path(path), data, append="a" in options.flags)
        return 0

    async def _mktemp(self, call: Call) -> int:
        options = options_of(call.arguments, flags="dqu", valued="pt")
        number = len(self._files.names("/data/local/tmp"))
        path = f"/data/local/tmp/tmp.{number:06d}"
        while self._files.stat(path) is not None:
            number += 1
            path = f"/data/local/tmp/tmp.{number:06d}"
        if "d" in options.flags:
            self._files.make_folder(path)
        else:
            self._files.write(path, b"")
        call.out(f"{path}\n")
        return 0


def _named(pattern: str, *, is_loose: bool) -> Callable[[str], bool]:
    """Whether a path's last part matches."""

    def matches(path: str) -> bool:
        name = posixpath.basename(path.rstrip("/"))
        if is_loose:
            return fnmatch.fnmatchcase(name.casefold(), pattern.casefold())
        return fnmatch.fnmatchcase(name, pattern)

    return matches


def _bits(mode: int) -> str:
    letters = "".join(
        letter if mode >> (8 - place) & 1 else "-" for place, letter in enumerate("rwxrwxrwx")
    )
    return ("d" if mode & 0o040000 and not mode & 0o100000 else "-") + letters


def _stat_text(form: str, path: str, found: tuple[int, int, int]) -> str:
    mode, size, changed = found
    moment = datetime.fromtimestamp(changed, UTC).strftime("%Y-%m-%d %H:%M:%S.000000000 +0000")
    kind = "regular file" if mode & 0o100000 else "directory"
    facts = {
        "%n": path, "%N": f"'{path}'", "%s": str(size), "%Y": str(changed), "%y": moment,
        "%a": f"{mode & 0o777:o}", "%A": _bits(mode), "%F": kind, "%f": f"{mode:x}", "%u": "2000",
        "%g": "2000", "%U": "shell", "%G": "shell", "%i": "1", "%h": "1",
        "%b": str(-(-size // 512)),
    }  # fmt: skip
    for name, value in facts.items():
        form = form.replace(name, value)
    return form


async def _df(call: Call) -> int:
    options = options_of(call.arguments, flags="hkHi")
    used, free = STORAGE_KB // 3, STORAGE_KB * 2 // 3
    sizes = ("115G", "39G", "76G") if "h" in options.flags else (STORAGE_KB, used, free)
    unit = "Size  Used Avail" if "h" in options.flags else "1K-blocks     Used Available"
    call.out(f"Filesystem      {unit} Use% Mounted on\n")
    for path in options.rest or ["/data", "/storage/emulated"]:
        call.out(f"/dev/fuse       {sizes[0]} {sizes[1]} {sizes[2]}  34% {path}\n")
    return 0


async def _basename(call: Call) -> int:
    if not call.arguments:
        raise CommandUsageError("needs a path", 1)
    name = posixpath.basename(call.arguments[0].rstrip("/")) or "/"
    suffix = call.arguments[1] if len(call.arguments) > 1 else ""
    call.out((name.removesuffix(suffix) or name) + "\n")
    return 0


async def _dirname(call: Call) -> int:
    if not call.arguments:
        raise CommandUsageError("needs a path", 1)
    call.out((posixpath.dirname(call.arguments[0].rstrip("/")) or ".") + "\n")
    return 0
