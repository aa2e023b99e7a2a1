"""A phone over ADB, physical or emulated, behind the port that the agent plays through.

One look is one round trip: a fresh dump under a name of its own, the focused window and the
keyboard, between markers that no screen can forge. Nothing counts without proof that it is whole:
the shell's exit packet, the "dumped to" line, the XML's end tag, the last marker; for a screenshot
the PNG's signature and its IEND chunk. A dump that an earlier command left behind is never read.
"""

from __future__ import annotations

import re
import secrets
import struct
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Final

from device_runtime.adb import AdbClient, ShellResult, quote
from device_runtime.errors import (
    HierarchyError,
    InvalidActionError,
    PhoneFaultError,
    UnknownTaskError,
)
from device_runtime.gestures import (
    InputEvent,
    KeyPress,
    Pause,
    StartApp,
    Swipe,
    Text,
    Touch,
    input_events,
)
from device_runtime.ports import ActOutcome, PhoneInfo, ResetOutcome
from device_runtime.ui_tree import elements_of, parse
from sync.clock import Clock, SystemClock
from sync.vocabulary import Action, Assignment, Observation

KEYCODE_HOME: Final = 3
KEYS_PER_COMMAND: Final = 40

_PNG_SIGNATURE: Final = b"\x89PNG\r\n\x1a\n"
_PNG_SEARCHED_BYTES: Final = 8192
_CHUNK = struct.Struct(">I4s")
_SIZE = re.compile(r"(Physical|Override) size: (\d{1,5})x(\d{1,5})")
_FOCUS = re.compile(r"m(?:CurrentFocus|FocusedApp)=\w+\{\S+ u\d+ ([^\s/}]+)/([^\s}]+)")
_PACKAGE = re.compile(r"[A-Za-z]\w*(\.\w+)+")
_UNTYPABLE = re.compile(r"[^\x20-\x7e]")


@dataclass(frozen=True, slots=True)
class AdbPhoneSettings:
    """How patient the driver is.

    Attributes:
        timeout_s: deadline of one command.
        settle_s: after an action, how long to wait for two equal looks; 0 takes the first.
        settle_poll_s: pause between those looks.
        look_attempts: how often a look is tried that failed on the phone's side.
        retry_pause_s: pause before the next try.
    """

    timeout_s: float = 20.0
    settle_s: float = 2.0
    settle_poll_s: float = 0.1
    look_attempts: int = 3
    retry_pause_s: float = 0.5


class AdbPhone:
    """Drives one phone through an adb server; implements the port `Phone`.

    Args:
        serial: which phone, as the server lists it; there is no default phone.
        apps: package by label, for opening apps by name; packages always work.
        new_name: makes names that were never used before on this phone.
    """

    def __init__(
        self,
        client: AdbClient,
        serial: str,
        *,
        settings: AdbPhoneSettings | None = None,
        apps: Mapping[str, str] | None = None,
        clock: Clock | None = None,
        new_name: Callable[[], str] = lambda: secrets.token_hex(8),
    ) -> None:
        self._client = client
        self._serial = serial
        self._settings = settings or AdbPhoneSettings()
        self._packages = {label.casefold(): package for label, package in (apps or {}).items()}
        self._clock = clock or SystemClock()
        self._new_name = new_name
        self._info: PhoneInfo | None = None
        self._last: Observation | None = None
        self._is_unsettled = False

    def reset(self, assignment: Assignment) -> ResetOutcome:
        """Go to the home screen; the goal is the assignment's text.

        Raises: UnknownTaskError: the assignment has no goal text; templates need a clone.
        """
        if not assignment.goal:
            raise UnknownTaskError(
                f"{self._serial} is no clone: it plays goals given as text, not templates"
            )
        self._run(f"input keyevent {KEYCODE_HOME}")
        self.forget()
        return ResetOutcome(goal=assignment.goal)

    def forget(self) -> None:
        """What is known is out of date: somebody else changed the phone."""
        self._info = None
        self._unsettle()

    def _unsettle(self) -> None:
        self._last = None
        self._is_unsettled = True

    def observe(self) -> Observation:
        """What is on the screen, once it has settled after the last action."""
        observation = self._look()
        if self._is_unsettled and self._settings.settle_s > 0:
            observation = self._settled(observation)
        self._is_unsettled = False
        self._last = observation
        return observation

    def act(self, action: Action) -> ActOutcome:
        """Carry out one action once; nothing is sent of an action that is not valid here."""
        try:
            events = input_events(action, self._last or self.observe())
            commands = [command for event in events for command in self._commands(event)]
        except InvalidActionError as error:
            return ActOutcome(valid=False, detail=str(error))
        if not commands:
            return ActOutcome()
        self._unsettle()
        if not self._play(commands):
            return ActOutcome(valid=False, detail=f"no app is called {action.app!r}")
        return ActOutcome()

    def screenshot(self) -> bytes:
        """The screen as PNG bytes, complete.

        Raises: PhoneFaultError: what came is no PNG, or not all of one.
        """
        data = self._client.execute(
            self._serial, "screencap -p", timeout_s=self._settings.timeout_s
        )
        return complete_png(data)

    def info(self) -> PhoneInfo:
        """What phone this is; asked once, until `forget`."""
        if self._info is None:
            self._info = self._ask()
        return self._info

    def close(self) -> None:
        """Nothing to let go of: each command has its own connection."""
        self._last = None

    def _ask(self) -> PhoneInfo:
        names = ("model", "release", "sdk", "locale")
        answer = self._run(
            "getprop ro.product.model; getprop ro.build.version.release; "
            "getprop ro.build.version.sdk; getprop persist.sys.locale; wm size"
        ).decode(errors="replace")
        facts = dict(zip(names, answer.splitlines(), strict=False))
        sizes = {match[1]: match for match in _SIZE.finditer(answer)}
        size = sizes.get("Override") or sizes.get("Physical")
        if size is None:
            raise PhoneFaultError(
                f"{self._serial} does not say how large its screen is: {answer!r}"
            )
        return PhoneInfo(
            serial=self._serial,
            model=facts.get("model", ""),
            android_version=facts.get("release", ""),
            width_px=int(size[2]),
            height_px=int(size[3]),
            extra={"sdk": facts.get("sdk", ""), "locale": facts.get("locale", "")},
        )

    def _settled(self, observation: Observation) -> Observation:
        """The first look that equals the one before it, or the last before the deadline."""
        deadline_s = self._clock.monotonic_s() + self._settings.settle_s
        while self._clock.monotonic_s() < deadline_s:
            self._clock.sleep(self._settings.settle_poll_s)
            again = self._look()
            if again == observation:
                break
            observation = again
        return observation

    def _look(self) -> Observation:
        """One complete look; the phone's own failures are tried again, a lost phone is not."""
        for _ in range(self._settings.look_attempts - 1):
            try:
                return self._look_once()
            except PhoneFaultError:
                self._clock.sleep(self._settings.retry_pause_s)
        return self._look_once()

    def _look_once(self) -> Observation:
        name = self._new_name()
        path, marker = f"/data/local/tmp/outrider-{name}.xml", f"--{name}--"
        output = self._run(
            f"rm -f {path}; uiautomator dump {path} 2>&1; echo {marker}; cat {path} 2>&1; echo; "
            f"echo {marker}; dumpsys window | grep -E 'mCurrentFocus|mFocusedApp'; "
            f"dumpsys input_method | grep mInputShown; rm -f {path}; echo {marker}"
        )
        parts = output.replace(b"\r\n", b"\n").split(f"{marker}\n".encode())
        if len(parts) != 4 or parts[3]:
            raise PhoneFaultError(f"{self._serial} answered a look with only a part of it")
        said, dump, state, _ = parts
        if f"dumped to: {path}".encode() not in said:
            text = " ".join(said.decode(errors="replace").split())[:200]
            raise PhoneFaultError(f"{self._serial} could not dump its screen: {text or 'no word'}")
        return self._observation(dump, state.decode(errors="replace"))

    def _observation(self, dump: bytes, state: str) -> Observation:
        try:
            hierarchy = parse(dump)
        except HierarchyError as error:
            raise PhoneFaultError(f"{self._serial} sent a damaged dump: {error}") from error
        info = self.info()
        width, height = info.width_px, info.height_px
        if hierarchy.rotation % 2:
            width, height = height, width
        package, activity = _foreground(state)
        return Observation(
            width_px=width,
            height_px=height,
            elements=elements_of(hierarchy.roots, width, height),
            rotation=hierarchy.rotation,
            package=package,
            activity=activity,
            keyboard_shown="mInputShown=true" in state,
        )

    def _commands(self, event: InputEvent) -> list[str | Pause]:
        match event:
            case Touch(x, y, 0):
                return [f"input tap {x} {y}"]
            case Touch(x, y, duration_ms):
                return [f"input swipe {x} {y} {x} {y} {duration_ms}"]
            case Swipe():
                path = f"{event.x1} {event.y1} {event.x2} {event.y2}"
                return [f"input swipe {path} {event.duration_ms}"]
            case Text(text):
                return [*typed_commands(text)]
            case KeyPress(keycode, times):
                whole, rest = divmod(times, KEYS_PER_COMMAND)
                counts = [KEYS_PER_COMMAND] * whole + ([rest] if rest else [])
                return [f"input keyevent {' '.join([str(keycode)] * count)}" for count in counts]
            case StartApp(name):
                return [f"monkey -p {self._package(name)} -c android.intent.category.LAUNCHER 1"]
            case Pause():
                return [event]

    def _package(self, name: str) -> str:
        known = self._packages.get(name.casefold())
        if known is None and not _PACKAGE.fullmatch(name):
            raise InvalidActionError(f"no app is called {name!r}")
        return known or name

    def _play(self, commands: list[str | Pause]) -> bool:
        """Run commands in order, as many as possible in one round trip; pauses pass here.

        Returns: False where an app was to be started that is not installed.
        """
        batch: list[str] = []
        for command in [*commands, Pause(0)]:
            if isinstance(command, str):
                batch.append(command)
                continue
            if batch:
                result = self._shell(" && ".join(batch))
                batch.clear()
                if b"No activities found" in result.stdout + result.stderr:
                    return False
                self._check(result)
            self._clock.sleep(command.duration_ms / 1000)
        return True

    def _run(self, command: str) -> bytes:
        """The output of a command that must succeed."""
        result = self._shell(command)
        self._check(result)
        return result.stdout

    def _shell(self, command: str) -> ShellResult:
        return self._client.shell(self._serial, command, timeout_s=self._settings.timeout_s)

    def _check(self, result: ShellResult) -> None:
        text = " ".join(result.stderr.decode(errors="replace").split())[:200]
        if "INJECT_EVENTS" in text:
            raise PhoneFaultError(
                f"{self._serial} forbids injected touches; allow them in its developer options "
                '("USB debugging (Security settings)" on some makes)'
            )
        if result.exit_code != 0:
            raise PhoneFaultError(
                f"{self._serial} ended a command with code {result.exit_code}: {text or 'no word'}"
            )


def typed_commands(text: str) -> list[str]:
    """`input text` commands for `text`; a literal "%s" is split, since it would mean a space.

    Raises: InvalidActionError: it holds anything but printable ASCII, which adb cannot type.
    """
    if _UNTYPABLE.search(text):
        raise InvalidActionError("unsupported_text: adb types printable ASCII only")
    pieces = re.split(r"(?<=%)(?=s)", text)
    return [f"input text {quote(piece.replace(' ', '%s'))}" for piece in pieces]


def _foreground(state: str) -> tuple[str, str]:
    """Package and activity of the focused window, or else of the focused app; empty if unknown."""
    match = _FOCUS.search(state)
    if match is None:
        return "", ""
    package, activity = match[1], match[2]
    return package, package + activity if activity.startswith(".") else activity


def complete_png(data: bytes) -> bytes:
    """The PNG in `data` without what a phone printed before it.

    Raises: PhoneFaultError: no PNG, or one that ends before its IEND chunk.
    """
    start = data.find(_PNG_SIGNATURE, 0, _PNG_SEARCHED_BYTES)
    if start < 0:
        raise PhoneFaultError(f"the screenshot is no PNG ({len(data)} bytes); take another")
    position = start + len(_PNG_SIGNATURE)
    while position + _CHUNK.size <= len(data):
        length, kind = _CHUNK.unpack_from(data, position)
        position += _CHUNK.size + length + 4
        if kind == b"IEND" and position <= len(data):
            return data[start:position]
    raise PhoneFaultError(f"the screenshot was cut off after {len(data)} bytes; take another")
