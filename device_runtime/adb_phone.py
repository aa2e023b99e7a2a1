"""A phone over ADB, physical or emulated, behind the port that the agent plays through.

`adb_observer` looks, this module acts and resets. An action is sent at most once: where the link
breaks after the phone may have got it, the episode ends as an env_error and is kept. Nothing is
sent of an action that is not valid on the screen that was last seen.
"""

from __future__ import annotations

import secrets
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Final

from device_runtime.adb import AdbClient, quote
from device_runtime.adb_gestures import ShellEvents
from device_runtime.adb_link import AdbLink, LinkSettings, require_done
from device_runtime.adb_observer import Observer
from device_runtime.adb_ready import Quiet, make_ready
from device_runtime.adb_screenshot import Screenshot
from device_runtime.adb_settings import AdbPhoneSettings
from device_runtime.adb_state import ANDROID, SYSTEM_UI
from device_runtime.adb_text import TextEntry, holds_letters, is_plain, same_letters
from device_runtime.errors import InvalidActionError, UnknownTaskError
from device_runtime.gestures import InputEvent, Pause, StartApp, Text, Touch, clearing, input_events
from device_runtime.ports import ActOutcome, PhoneInfo, ResetOutcome, ScreenReader
from sync.clock import Clock, SystemClock
from sync.vocabulary import Action, ActionKind, Assignment, Element, Observation

__all__ = ["AdbPhone", "AdbPhoneSettings"]

KEYCODE_HOME: Final = 3
NEVER_STOPPED: Final = frozenset(
    {"", ANDROID, SYSTEM_UI, "com.termux", "com.android.phone", "com.android.server.telecom"}
    | {"com.android.incallui", "com.samsung.android.incallui"}
)
"""Packages that a reset leaves alone whatever was in front: a call may be going on."""
CAREFUL_AT_ONCE: Final = 8
"""Characters in one command where a first try lost some."""


class AdbPhone:
    """Drives one phone through an adb server; implements the port `Phone`.

    Args:
        serial: which phone, as the server lists it; there is no default phone.
        apps: package by label, for opening apps by name; packages always work.
        reader: reads elements from a picture, for screens whose tree cannot be had.
        new_name: makes names that were never used before on this phone.

    Attributes:
        link: the connection, for others that ask the same phone (probes).
    """

    def __init__(
        self,
        client: AdbClient,
        serial: str,
        *,
        settings: AdbPhoneSettings | None = None,
        apps: Mapping[str, str] | None = None,
        reader: ScreenReader | None = None,
        clock: Clock | None = None,
        new_name: Callable[[], str] = lambda: secrets.token_hex(8),
    ) -> None:
        self._settings = settings or AdbPhoneSettings()
        self._clock = clock or SystemClock()
        patience = LinkSettings(self._settings.timeout_s, self._settings.reconnect_s)
        self.link = AdbLink(client, serial, settings=patience, clock=self._clock)
        self._observer = Observer(
            self.link, self._settings, clock=self._clock, new_name=new_name, reader=reader
        )
        pause_s = self._settings.keyboard_pause_s
        self._text = TextEntry(self.link, self._clock, pause_s=pause_s)
        self._quiet = Quiet(self.link)
        self._packages = {label.casefold(): package for label, package in (apps or {}).items()}
        self._last: Observation | None = None
        self._frame: Screenshot | None = None
        self._is_unsettled = False
        self._home = ""
        self._in_front: set[str] = set()

    @property
    def serial(self) -> str:
        """Which phone, as the adb server lists it."""
        return self.link.serial

    @property
    def frame(self) -> Screenshot | None:
        """The picture of the last observation, where one was taken."""
        return self._frame

    def reset(self, assignment: Assignment) -> ResetOutcome:
        """Make the phone ready, end what the episode before had in front, and go home.

        Raises:
            UnknownTaskError: the assignment has no goal text; templates need a clone.
            PhoneLockedError: the lock screen needs its owner.
            InputDeniedError: the phone forbids injected keys.
        """
        if not assignment.goal:
            raise UnknownTaskError(
                f"{self.serial} is no clone: it plays goals given as text, not templates"
            )
        settings = self._settings
        make_ready(self.link, self._clock, display=settings.display, unlocks=settings.unlocks)
        self._text.restore()
        if settings.quiet:
            self._quiet.begin()
        for command in self._reset_commands():
            require_done(self.serial, self.link.ask(command))
        self.forget()
        return ResetOutcome(goal=assignment.goal)

    def forget(self) -> None:
        """What is known is out of date: somebody else changed the phone."""
        self._observer.forget()
        self._observer.touched = None
        self._home = ""
        self._in_front.clear()
        self._unsettle()

    def observe(self) -> Observation:
        """What is on the screen, once it has settled after the last action.

        Raises:
            TreeUnavailableError: there is no tree, and nobody reads pictures.
            PhoneFaultError, PhoneLostError: as the port says.
        """
        waits = self._is_unsettled and self._settings.settle_s > 0
        wants = self._settings.screenshots
        seen = self._observer.settled() if waits else self._observer.look(with_screenshot=wants)
        observation = seen.observation
        if seen.screenshot is not None:
            observation = replace(observation, screenshot=seen.screenshot.digest)
        self._frame = seen.screenshot
        self._is_unsettled = False
        self._last = observation
        self._home = self._home or observation.package
        self._in_front.add(observation.package)
        return observation

    def act(self, action: Action) -> ActOutcome:
        """Carry out one action once; nothing is sent of an action that is not valid here.

        Raises:
            InputDeniedError: the phone forbids injected touches.
            PhoneLostError: the link broke; the action may or may not have been carried out.
        """
        return self.act_as_seen(action, self._last or self.observe())

    def act_as_seen(self, action: Action, seen: Observation) -> ActOutcome:
        """Like `act`, on the screen that `seen` describes: what a picture showed has no tree."""
        try:
            events = input_events(action, seen)
            if not events:
                return ActOutcome()
            self._require_possible(events)
            self._unsettle()
            self._play(events)
            if action.kind is ActionKind.TYPE and self._settings.verifies_text:
                self._verify_text(action, seen)
        except InvalidActionError as error:
            return ActOutcome(valid=False, detail=str(error))
        return ActOutcome()

    def screenshot(self) -> bytes:
        """The screen as PNG bytes, complete.

        Raises: PhoneFaultError: what came is no PNG, or not all of one.
        """
        return self._observer.screenshot().png

    def info(self) -> PhoneInfo:
        """What phone this is; asked once, until `forget`."""
        return self._observer.facts.info(self.serial, self._observer.warnings)

    def close(self) -> None:
        """Give back what was borrowed of the phone: its keyboard and its settings."""
        self._last = self._frame = None
        self._text.give_back()
        self._quiet.end()

    def _unsettle(self) -> None:
        self._last = None
        self._is_unsettled = True

    def _reset_commands(self) -> Iterable[str]:
        if self._settings.stops_apps:
            kept = NEVER_STOPPED | {self._home}
            stopped = sorted(self._in_front - kept)
            if stopped:
                yield "; ".join(f"am force-stop {quote(package)}" for package in stopped)
        for package in self._settings.clears:
            yield f"pm clear {quote(package)}"
        yield f"input keyevent {KEYCODE_HOME}"

    def _require_possible(self, events: Sequence[InputEvent]) -> None:
        """Nothing where every event can be played here; sends nothing that acts.

        Raises: InvalidActionError: the phone cannot type a text, or has no such app.
        """
        for event in events:
            if isinstance(event, Text):
                self._text.require(event.text)
            elif isinstance(event, StartApp):
                self._shell_events().package(event.name)

    def _shell_events(self, at_once: int | None = None) -> ShellEvents:
        settings = self._settings
        return ShellEvents(self._packages, settings.display, at_once or settings.typed_at_once)

    def _play(self, events: Sequence[InputEvent], *, at_once: int | None = None) -> None:
        """Play events in order, as many as possible in one round trip.

        Raises: InvalidActionError: an app was to be started that is not installed.
        """
        shell = self._shell_events(at_once)
        batch: list[InputEvent] = []
        for event in events:
            if isinstance(event, Pause):
                self._send(shell, batch)
                self._clock.sleep(event.duration_ms / 1000)
            elif isinstance(event, Text) and not is_plain(event.text):
                self._send(shell, batch)
                self._text.enter(event.text)
            else:
                batch.append(event)
        self._send(shell, batch)

    def _send(self, shell: ShellEvents, batch: list[InputEvent]) -> None:
        """Send a batch once, in one command line, and empty it."""
        commands = shell.commands(batch)
        for event in batch:
            if isinstance(event, Touch):
                self._observer.touched = (event.x_px, event.y_px)
        started = next((event.name for event in batch if isinstance(event, StartApp)), "")
        batch.clear()
        if not commands:
            return
        result = self.link.send(" && ".join(commands))
        if started and b"No activities found" in result.stdout + result.stderr:
            raise InvalidActionError(f"no app is called {started!r}")
        require_done(self.serial, result)

    def _verify_text(self, action: Action, before: Observation) -> None:
        """Read the field back; where characters were lost, clear it and type once more.

        Raises: InvalidActionError: they were lost again.
        """
        text = action.text
        if not isinstance(text, str) or not text or "\n" in text:
            return
        old = _focused_text(before)
        is_alone = action.clear or not old
        field = self._read_back()
        if field is None or _holds(field, text, is_alone=is_alone):
            return
        if is_alone:
            self._play((*clearing(field.text), Text(text)), at_once=CAREFUL_AT_ONCE)
            field = self._read_back()
        if field is not None and not _holds(field, text, is_alone=False):
            raise InvalidActionError(
                f"lost_text: the field shows {len(field.text)} characters after {len(text)} were "
                "typed into it"
            )

    def _read_back(self) -> Element | None:
        """The focused field as it is now; None where there is none any more."""
        return _focused_field(self._observer.look(with_screenshot=False).observation)


def _focused_field(seen: Observation) -> Element | None:
    return next((each for each in seen.elements if each.editable and each.focused), None)


def _focused_text(seen: Observation) -> str:
    field = _focused_field(seen)
    return field.text if field is not None else ""


def _holds(field: Element, text: str, *, is_alone: bool) -> bool:
    """Whether a field shows a text; of a password only the length can be seen."""
    if field.password:
        return len(field.text) >= len(text)
    return same_letters(text, field.text) if is_alone else holds_letters(text, field.text)
