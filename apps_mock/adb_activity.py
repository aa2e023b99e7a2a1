"""`am` and `monkey` on the mock phone: starting and stopping apps, broadcasts, tasks."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import Final

from apps_mock.adb_calls import Call
from apps_mock.adb_device import MockDevice
from apps_mock.adb_options import options_of
from apps_mock.adb_packages import clone_of
from apps_mock.launcher import PACKAGE as LAUNCHER
from apps_mock.overlays import SETTINGS
from apps_mock.phone_state import PhoneState, closed
from apps_mock.registry import APPS

HOME: Final = "android.intent.category.HOME"
LAUNCH: Final = "android.intent.category.LAUNCHER"
_VALUES: Final = frozenset(
    "-n -a -d -c -t -p -f -i --user --display --windowingMode --activityType --task "
    "--receiver-permission -P -R --start-profiler --sampling --launchBounds".split()
)
_EXTRAS: Final = frozenset(
    "-e --es --ez --ei --el --ef --eu --ecn --eia --ela --efa --esa --eial --esal".split()
)
_SERVICE_VERBS: Final = frozenset(
    "startservice start-service startforegroundservice start-foreground-service".split()
)
_KEYCODE_HOME: Final = 3
_NO_APP: Final = 252


@dataclass(slots=True)
class Intent:
    """What is to be started or told."""

    action: str = ""
    data: str = ""
    component: str = ""
    package: str = ""
    categories: list[str] = field(default_factory=list)
    extras: dict[str, str] = field(default_factory=dict)
    flags: set[str] = field(default_factory=set)

    @property
    def target(self) -> str:
        """The package that it names."""
        return self.component.partition("/")[0] or self.package

    @property
    def shown(self) -> str:
        """The intent as Android prints it."""
        parts = [f"act={self.action}"] if self.action else []
        parts += [f"cat=[{','.join(self.categories)}]"] if self.categories else []
        parts += [f"dat={self.data}"] if self.data else []
        parts += [f"pkg={self.package}"] if self.package else []
        parts += [f"cmp={_short(self.component)}"] if self.component else []
        parts += ["(has extras)"] if self.extras else []
        return f"Intent {{ {' '.join(parts)} }}"


def intent_of(words: Sequence[str]) -> Intent:
    """The intent that words of `am` write.

    Raises: ValueError: an option without its value, or one that there is not.
    """
    intent, left = Intent(), list(words)
    names = {"-a": "action", "-d": "data", "-n": "component", "-p": "package"}
    while left:
        word = left.pop(0)
        if word in _EXTRAS:
            name = _next(left, word)
            intent.extras[name] = _next(left, word)
        elif word == "-c":
            intent.categories.append(_next(left, word))
        elif word in names:
            setattr(intent, names[word], _next(left, word))
        elif word in _VALUES:
            _next(left, word)
        elif re.fullmatch(r"-[WSDNR]|--esn|--[a-z-]+", word):
            intent.flags.add(word)
            if word == "--esn":
                _next(left, word)
        elif word.startswith("-"):
            raise ValueError(f"Unknown option: {word}")
        else:
            _take_bare(intent, word)
    return intent


def _take_bare(intent: Intent, word: str) -> None:
    """A word without an option: a component, a URI, or a package."""
    if "://" in word:
        intent.data = word
    elif "/" in word:
        intent.component = word
    else:
        intent.package = word


def _next(words: list[str], option: str) -> str:
    if not words:
        raise ValueError(f"Argument expected after {option!r}")
    return words.pop(0)


class ActivityCommands:
    """`am`, `cmd activity` and `monkey` of one phone."""

    def __init__(self, device: MockDevice) -> None:
        self._device = device
        self._phone = device.phone

    async def am(self, call: Call) -> int:
        """Run one command of the activity manager."""
        verb, *words = call.arguments or ("",)
        try:
            with self._device.in_use():
                return self._run(call, verb, words)
        except ValueError as error:
            call.error(f"Exception occurred while executing '{verb}':")
            call.error(f"java.lang.IllegalArgumentException: {error}")
            return 255

    def _run(self, call: Call, verb: str, words: list[str]) -> int:
        match verb:
            case "start" | "start-activity":
                return self._start(call, intent_of(words))
            case "force-stop" | "kill" | "stop-app":
                self._stop([each for each in words if not each.startswith("-")][-1:])
                return 0
            case "kill-all":
                return 0
            case "broadcast":
                return self._broadcast(call, intent_of(words))
            case (
                "startservice"
                | "start-service"
                | "start-foreground-service"
                | "startforegroundservice"
            ):
                intent = intent_of(words)
                call.out(f"Starting service: {intent.shown}\n")
                call.error("Error: Not found; no service started.")
                return 0
            case "stack" | "task" if words[:1] == ["list"]:
                call.out(self._stacks())
                return 0
            case "get-current-user":
                call.out("0\n")
                return 0
            case "instrument":
                call.error("INSTRUMENTATION_FAILED: " + " ".join(words[-1:]))
                return 0
            case "idle-maintenance" | "wait-for-broadcast-idle" | "wait-for-broadcast-barrier":
                call.out("All broadcast queues are idle!\n")
                return 0
        call.error(f"Unknown command: {verb}")
        return 255

    def _start(self, call: Call, intent: Intent) -> int:
        call.out(f"Starting: {intent.shown}\n")
        before = self._device.component
        if "-S" in intent.flags:
            self._stop([intent.target])
        if not self._open(intent):
            self._not_found(call, intent)
            return 1 if self._device.profile.api >= 29 else 0
        after = self._device.component
        if after == before and intent.target and "-S" not in intent.flags:
            call.error(
                "Warning: Activity not started, its current task has been brought to the front"
            )
        if "-W" in intent.flags:
            state = "HOT" if after == before else "COLD"
            call.out(f"Status: ok\nLaunchState: {state}\nActivity: {_short(after)}\n")
            call.out("TotalTime: 312\nWaitTime: 315\nComplete\n")
        return 0

    def _open(self, intent: Intent) -> bool:
        """Bring what an intent means to the front; False where nothing takes it."""
        if HOME in intent.categories or intent.target == LAUNCHER:
            self._phone.press(_KEYCODE_HOME)
            return True
        if intent.target:
            return self._phone.open_app(clone_of(intent.target))
        if intent.action.startswith("android.settings."):
            return self._phone.open_app(SETTINGS)
        if intent.data.startswith(("http://", "https://")):
            return self._phone.open_app("browser")
        if intent.data.startswith(("tel:", "content://contacts", "content://com.android.contacts")):
            return self._phone.open_app("contacts")
        if intent.data.startswith(("sms:", "smsto:")):
            return self._phone.open_app("messages")
        return False

    def _not_found(self, call: Call, intent: Intent) -> None:
        if intent.component:
            call.error("Error type 3")
            name = _short(intent.component)
            call.error(f"Error: Activity class {{{name}}} does not exist.")
        else:
            call.error(f"Error: Activity not started, unable to resolve {intent.shown}")

    def _stop(self, packages: list[str]) -> None:
        """End apps: the next start shows their first page; the launcher shows where one was."""
        for package in map(clone_of, packages):
            name = next((name for name, app in APPS.items() if app.package == package), "")
            self._device.change(partial(_stopped, name=name))

    def _broadcast(self, call: Call, intent: Intent) -> int:
        call.out(f"Broadcasting: {intent.shown}\n")
        result = "result=0"
        action = intent.action
        if action.startswith("ADB_"):
            is_heard = self._device.keyboards.broadcast(self._phone, action, intent.extras)
            is_u2 = is_heard and action.startswith("ADB_KEYBOARD_")
            result = 'result=-1, data="success"' if is_u2 else "result=0"
        call.out(f"Broadcast completed: {result}\n")
        return 0

    def _stacks(self) -> str:
        """The tasks as `am stack list` prints them, the one in front first."""
        width, height = self._device.displays.size
        bounds = f"[0,0][{width},{height}]"
        lines: list[str] = []
        for number, component in enumerate(self.tasks(), 1):
            package, _, activity = component.partition("/")
            is_visible = str(number == 1).lower()
            lines.append(f"RootTask id={number} bounds={bounds} displayId=0 userId=0")
            lines.append(
                f"  taskId={number}: {_short(component)} bounds={bounds} userId=0 "
                f"visible={is_visible} topActivity=ComponentInfo{{{package}/{activity}}}"
            )
        return "\n".join(lines) + "\n"

    def tasks(self) -> list[str]:
        """Components of the tasks, the one in front first."""
        front = self._device.component
        state = self._phone.loaded_state()
        recent = [] if state is None else [APPS[name] for name in state.recents if name in APPS]
        behind = [f"{app.package}/{app.package}.{_page(app.home.name)}" for app in recent]
        package = front.partition("/")[0]
        return [front, *(each for each in behind if not each.startswith(f"{package}/"))]

    async def monkey(self, call: Call) -> int:
        """`monkey -p PACKAGE -c CATEGORY N`: start an app; random events are refused."""
        options = options_of(
            call.arguments,
            flags="v",
            valued="pcs",
            long_flags=_MONKEY_FLAGS,
            long_valued=_MONKEY_VALUES,
        )
        package = options.values.get("p", "")
        if options.rest[:1] not in ([], ["1"], ["0"]):
            return call.fail("only one event, which starts an app, is supported", 2)
        with self._device.in_use():
            is_started = bool(package) and self._phone.open_app(clone_of(package))
        if not is_started:
            call.out("** No activities found to run, monkey aborted.\n")
            return _NO_APP
        call.out("Events injected: 1\n## Network stats: elapsed time=11ms (0ms mobile, 0ms wifi, ")
        call.out("11ms not connected)\n")
        return 0


def _stopped(state: PhoneState, name: str) -> PhoneState:
    return closed(state, name) if name and state.has(name) else state


_MONKEY_FLAGS: Final = tuple(
    "--ignore-crashes --ignore-timeouts --ignore-security-exceptions --kill-process-after-error "
    "--monitor-native-crashes".split()
)
_MONKEY_VALUES: Final = tuple(
    "--throttle --pct-touch --pct-motion --pct-syskeys --pct-appswitch --pct-nav --pct-majornav "
    "--pct-anyevent --pct-trackball".split()
)


def _page(name: str) -> str:
    return f"{name.title().replace('_', '')}Activity"


def _short(component: str) -> str:
    """A component with its class in short, as Android prints it."""
    package, slash, activity = component.partition("/")
    if activity.startswith(f"{package}."):
        activity = activity.removeprefix(package)
    return f"{package}{slash}{activity}"
