"""A recorded phone behind the mock daemon: it answers as the phone did that was asked.

It implements `adb_ports.RecordedPhone`. A recording holds single commands; what clients ask in
other words is answered from it where that is the same question: one property of `getprop`, one
setting of a list, a part of `dumpsys`. Touches and keys are taken, or refused, as the one key was
that the phone was asked to take; they change nothing, since there is only one screen.
"""

from __future__ import annotations

import shlex
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Final

from apps_mock.adb_ports import Answer
from device_runtime import phone_questions as asked
from device_runtime.recording import Recording
from sync.clock import Clock

_PATH_OF_DUMP: Final = "/sdcard/window_dump.xml"
_KEEPS_NOTHING: Final = frozenset(
    {("wm", "dismiss-keyguard"), ("am", "start"), ("am", "force-stop"), ("am", "broadcast")}
)


class ReplayedPhone:
    """The phone of a recording.

    Args:
        clock: the time now; the phone's clock stands as far from it as it stood then.
    """

    def __init__(self, recording: Recording, *, clock: Clock) -> None:
        self._answers = recording.answers
        self._made_at_ms = recording.made_at_ms
        self._clock = clock
        self._settings: dict[tuple[str, str], str | None] = {}

    def properties(self) -> Mapping[str, str]:
        """`getprop` as a table."""
        return asked.properties_of(self._answers)

    def answer(self, words: Sequence[str]) -> Answer | None:
        """What the phone answered to a command; None where the recording does not tell."""
        match list(words):
            case ["getprop", name, *default]:
                value = self.properties().get(name, default[0] if default else "")
                return Answer(f"{value}\n".encode())
            case ["settings", verb, namespace, *rest] if namespace in asked.SETTINGS:
                return self._setting(verb, namespace, rest)
            case ["date", *_]:
                return self._date(words)
            case ["uiautomator", "dump", *rest]:
                return self._dump([word for word in rest if not word.startswith("--")])
            case ["screencap", *rest]:
                return self._screenshot([word for word in rest if not word.startswith("-")])
            case ["input", *_]:
                return self._recorded(asked.KEY)
            case [name, verb, *_] if (name, verb) in _KEEPS_NOTHING:
                return Answer()
            case _:
                return self._same_question(words)

    def _recorded(self, command: str) -> Answer | None:
        found = self._answers.get(command)
        if found is None:
            return None
        return Answer(found.stdout, found.stderr, found.exit_code, found.file)

    def _same_question(self, words: Sequence[str]) -> Answer | None:
        """The answer to the very command, or to one that says all of that and more."""
        for count in range(len(words), 0, -1):
            found = self._recorded(" ".join(words[:count]))
            if found is not None:
                return found
        wider = shlex.join(words[:2])
        return next(
            (self._recorded(command) for command in self._answers if command.startswith(wider)),
            None,
        )

    def _setting(self, verb: str, namespace: str, rest: list[str]) -> Answer | None:
        known: dict[str, str | None] = dict(asked.settings_of(self._answers, namespace))
        known.update(
            (name, value) for (where, name), value in self._settings.items() if where == namespace
        )
        match verb, rest:
            case "list", []:
                rows = sorted((name, value) for name, value in known.items() if value is not None)
                return Answer("".join(f"{name}={value}\n" for name, value in rows).encode())
            case "get", [name]:
                return Answer(f"{known.get(name) or 'null'}\n".encode())
            case "put", [name, value, *_]:
                self._settings[namespace, name] = value
                return Answer()
            case "delete", [name]:
                self._settings[namespace, name] = None
                return Answer(f"Deleted {int(known.get(name) is not None)} rows\n".encode())
            case _:
                return None

    def _date(self, words: Sequence[str]) -> Answer | None:
        """The time by the phone's clock; None for forms other than seconds since 1970."""
        then = self._answers.get(asked.DATE)
        if then is None or list(words) != asked.DATE.split() or not then.stdout.strip().isdigit():
            return None
        passed_s = (self._clock.wall_ms() - self._made_at_ms) / 1000
        return Answer(f"{int(int(then.stdout) + passed_s)}\n".encode())

    def _dump(self, paths: list[str]) -> Answer | None:
        found = self._recorded(asked.TREE)
        if found is None:
            return None
        path = (paths[0] if paths else _PATH_OF_DUMP).encode()
        name = asked.FILE.encode()
        return replace(
            found,
            stdout=found.stdout.replace(name, path),
            stderr=found.stderr.replace(name, path),
        )

    def _screenshot(self, paths: list[str]) -> Answer | None:
        found = self._recorded(asked.SCREENSHOT)
        if found is None or not paths:
            return found
        return Answer(file=found.stdout)
