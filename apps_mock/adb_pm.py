"""`pm` and `cmd package` on the mock phone, and what `adb install` sends."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from typing import Final

from apps_mock.adb_calls import LARGEST_BYTES, Call
from apps_mock.adb_files import Files
from apps_mock.adb_options import Options, options_of
from apps_mock.adb_packages import GetState, Packages, clone_of, uid_of
from apps_mock.launcher import PACKAGE as LAUNCHER
from apps_mock.phone_state import PhoneState, closed
from apps_mock.registry import APPS, SYSTEM

_FAILED: Final = 1


class PackageCommand:
    """`pm …`, and `cmd package …` with the same words."""

    def __init__(
        self,
        packages: Packages,
        files: Files,
        *,
        restore: Callable[[PhoneState], object],
        get_state: GetState,
        home_of: Callable[[str], str],
    ) -> None:
        self._packages = packages
        self._files = files
        self._restore = restore
        self._get_state = get_state
        self._home_of = home_of

    async def __call__(self, call: Call) -> int:
        """Run one command of the package manager."""
        verb, *rest = call.arguments or ("",)
        if verb in {"install", "install-create", "install-write"}:
            return await self._install(call, verb, rest)
        if verb == "dump":
            return await call.run(["dumpsys", "package", *rest], call.input)
        return self._run(call, verb, rest)

    def _run(self, call: Call, verb: str, rest: list[str]) -> int:
        match verb:
            case "install-commit" | "install-abandon":
                return self._end_session(call, verb, rest)
            case "list":
                return self._list(call, rest)
            case "path" | "uninstall" | "clear" | "enable" | "disable" | "disable-user":
                return self._about(call, verb, _named(rest))
            case "grant" | "revoke":
                return self._grant(call, _named_all(rest))
            case "resolve-activity" | "query-activities":
                return self._resolve(call, rest)
            case "get-install-location":
                call.out("0[auto]\n")
                return 0
            case "has-feature" if rest:
                call.out(
                    "true\n" if rest[0].startswith("android.hardware.touchscreen") else "false\n"
                )
                return 0
            case "trim-caches" | "compile" | "set-install-location" | "hide" | "unhide":
                call.out("Success\n" if verb == "compile" else "")
                return 0
        call.out(f"Unknown command: {verb}\n")
        return 255

    def _list(self, call: Call, rest: list[str]) -> int:
        kind, *words = rest or [""]
        match kind:
            case "packages" | "package":
                return self._list_packages(call, words)
            case "users":
                call.out("Users:\n\tUserInfo{0:Owner:4c13} running\n")
            case "features":
                call.out("feature:android.hardware.touchscreen\nfeature:android.hardware.wifi\n")
            case "instrumentation" | "libraries" | "permission-groups" | "permissions":
                pass
            case _:
                call.error(f"Error: unknown list type '{kind}'")
                return 255
        return 0

    def _list_packages(self, call: Call, words: list[str]) -> int:
        options = options_of(
            words,
            flags="3sfdeuiUal",
            long_flags=["--show-versioncode"],
            long_valued=["--user", "--uid"],
        )
        names = self._packages.everything
        if "3" in options.flags:
            names = self._packages.third_party
        elif "s" in options.flags:
            names = self._packages.system
        if {"d", "e"} & options.flags:
            wanted = "e" in options.flags
            names = [name for name in names if self._packages.is_enabled(name) is wanted]
        part = options.rest[0] if options.rest else ""
        call.out("".join(self._line(name, options) for name in names if part in name))
        return 0

    def _line(self, name: str, options: Options) -> str:
        shown = f"{self._packages.path(name)}={name}" if "f" in options.flags else name
        if "--show-versioncode" in options.flags:
            shown += f" versionCode:{self._packages.version(name)[1]}"
        if "i" in options.flags:
            shown += "  installer=null"
        if "U" in options.flags:
            shown += f" uid:{uid_of(name)}"
        return f"package:{shown}\n"

    def _about(self, call: Call, verb: str, package: str) -> int:
        is_there = package in self._packages.everything
        match verb:
            case "path" if is_there:
                call.out(f"package:{self._packages.path(package)}\n")
                return 0
            case "path":
                return _FAILED
            case "uninstall":
                said, state = self._packages.uninstall(package)
                if state is not None:
                    self._restore(state)
            case "clear":
                said = self._clear(package) if is_there else "Failed"
            case _ if is_there:
                self._packages.enable(package, is_enabled=verb == "enable")
                state_name = "enabled" if verb == "enable" else verb.replace("disable", "disabled")
                said = f"Package {package} new state: {state_name}"
            case _:
                call.error(f"java.lang.IllegalArgumentException: Unknown package: {package}")
                return 255
        call.out(f"{said}\n")
        return _FAILED if said.startswith("Fail") else 0

    def _clear(self, package: str) -> str:
        """Let an app start afresh.

        What a clone holds stays: its data is the task, and a phone without it would be another.
        """
        state, clone = self._get_state(), clone_of(package)
        name = next((name for name, app in APPS.items() if app.package == clone), SYSTEM)
        if state is not None and name != SYSTEM and state.has(name):
            self._restore(closed(state, name))
        return "Success"

    def _grant(self, call: Call, words: list[str]) -> int:
        if len(words) < 2 or words[0] not in self._packages.everything:
            call.error(
                "java.lang.IllegalArgumentException: Unknown package: " + " ".join(words[:1])
            )
            return 255
        if not re.fullmatch(r"[\w.]{3,200}", words[1]):
            call.error(f"java.lang.IllegalArgumentException: Unknown permission: {words[1]}")
            return 255
        return 0

    def _resolve(self, call: Call, rest: list[str]) -> int:
        package = _named(rest)
        if "android.intent.category.HOME" in rest:
            package = LAUNCHER
        if clone_of(package) not in self._packages.apps and package != LAUNCHER:
            call.out("No activity found\n")
            return 0
        component = self._home_of(package)
        call.out("priority=0 preferredOrder=0 match=0x108000 specificIndex=-1 isDefault=true\n")
        call.out(f"{component}\n")
        return 0

    async def _install(self, call: Call, verb: str, rest: list[str]) -> int:
        options = options_of(
            rest, flags="rtdgRlfspq", valued="Si", long_valued=_INSTALL_VALUES,
            long_flags=_INSTALL_FLAGS,
        )  # fmt: skip
        size = options.number("S", -1)
        if verb == "install-create":
            call.out(f"Success: created install session [{self._packages.begin()}]\n")
            return 0
        data = await self._bytes(call, options, size, verb)
        if data is None:
            return _FAILED
        if verb == "install-write":
            files = self._packages.session(options.rest[0] if options.rest else "")
            if files is None:
                call.error("java.lang.SecurityException: no such session")
                return 255
            files[options.rest[1] if len(options.rest) > 1 else "base.apk"] = data
            call.out(f"Success: streamed {len(data)} bytes\n")
            return 0
        said = self._packages.install(data)
        call.out(f"{said}\n")
        return 0 if said == "Success" else _FAILED

    async def _bytes(self, call: Call, options: Options, size: int, verb: str) -> bytes | None:
        """The APK's bytes: so many of the input, or those of the file that is named last."""
        path = options.rest[-1] if options.rest else "-"
        is_file = path.startswith("/") and (verb == "install" or len(options.rest) > 2)
        if is_file:
            return self._files.read(call.path(path))
        if not 0 <= size <= LARGEST_BYTES:
            call.out(f"Failure [INSTALL_FAILED_INSUFFICIENT_STORAGE: {size} bytes]\n")
            return None
        data = await call.input.exactly(size)
        if len(data) < size:
            call.out(f"Failure [INSTALL_FAILED_INVALID_APK: {len(data)} of {size} bytes came]\n")
            return None
        return data

    def _end_session(self, call: Call, verb: str, rest: list[str]) -> int:
        number = _named(rest)
        if self._packages.session(number) is None:
            call.error("java.lang.SecurityException: no such session")
            return 255
        said = "Success"
        if verb == "install-abandon":
            self._packages.abandon(number)
        else:
            said = self._packages.commit(number)
        call.out(f"{said}\n")
        return 0 if said == "Success" else _FAILED


_INSTALL_FLAGS: Final = (
    "--fastdeploy", "--no-fastdeploy", "--no-incremental", "--no-streaming", "--full", "--instant",
    "--bypass-low-target-sdk-block", "--force-uuid", "--apex", "--dont-kill",
    "--restrict-permissions", "--skip-verification",
)  # fmt: skip
_INSTALL_VALUES: Final = (
    "--user", "--abi", "--install-location", "--install-reason", "--originating-uri", "--pkg",
    "--update-ownership", "--package-source",
)  # fmt: skip


def _named(words: Sequence[str]) -> str:
    """The last word that is no option, such as a package."""
    named = _named_all(words)
    return named[-1] if named else ""


def _named_all(words: Sequence[str]) -> list[str]:
    """The words that are no options, nor the user that one names."""
    rest = list(words)
    while "--user" in rest:
        at = rest.index("--user")
        del rest[at : at + 2]
    return [word for word in rest if not word.startswith("-")]
