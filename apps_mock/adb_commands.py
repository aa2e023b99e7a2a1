"""The mock phone's Android commands: uiautomator, screencap, wm, am, pm, monkey, settings, getprop.

Texts follow what clients of real phones parse, the platform's spelling included.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import pairwise
from threading import RLock
from typing import Final

from apps_mock.adb_calls import Call, Command
from apps_mock.adb_dumpsys import Dumpsys
from apps_mock.adb_file_tools import FileTools
from apps_mock.adb_files import Files
from apps_mock.adb_input import InputCommand
from apps_mock.adb_ports import ClonePhone
from apps_mock.adb_providers import ContentCommand, SettingsCommand
from apps_mock.adb_text_tools import TextTools
from apps_mock.adb_tools import Tools
from apps_mock.android_facts import (
    connected_network,
    missing_packages,
    saved_networks,
    settings_of,
)

USUAL_DENSITY: Final = "420"
KEYCODE_HOME: Final = 3
KEYCODE_BACK: Final = 4
DUMP_PATH: Final = "/sdcard/window_dump.xml"
SHADE_ACTIVITY: Final = ".ShadeActivity"

_PROPERTIES: Final[dict[str, str]] = {
    "init.svc.bootanim": "stopped",
    "persist.sys.timezone": "UTC",
    "ro.build.characteristics": "default",
    "ro.build.version.sdk": "34",
    "ro.debuggable": "0",
    "ro.kernel.qemu": "0",
    "ro.product.brand": "Outrider",
    "ro.product.cpu.abi": "arm64-v8a",
    "ro.product.device": "clone",
    "ro.product.manufacturer": "Outrider",
    "ro.product.name": "clone",
    "ro.secure": "1",
    "ro.serialno": "clone",
    "sys.boot_completed": "1",
}


def properties(phone: ClonePhone) -> dict[str, str]:
    """What `getprop` knows of a phone."""
    info = phone.info()
    said = {
        "persist.sys.locale": info.extra.get("locale", "en-US"),
        "ro.build.version.release": info.android_version,
        "ro.product.model": info.model,
        "ro.sf.lcd_density": density(phone),
    }
    return _PROPERTIES | said


def density(phone: ClonePhone) -> str:
    """Dots per inch of a phone's screen."""
    return phone.info().extra.get("density", USUAL_DENSITY)


class PhoneCommands:
    """The commands over one phone; `packages` are the apps that `pm` lists."""

    def __init__(
        self,
        phone: ClonePhone,
        lock: RLock,
        *,
        files: Files,
        now_s: Callable[[], int],
        packages: Sequence[str] = (),
    ) -> None:
        self._phone = phone
        self._lock = lock
        self._files = files
        self._packages = tuple(packages)
        self._input = InputCommand(phone, lock)
        self._dumpsys = Dumpsys(phone, lock)
        self._now_s = now_s

    def table(self) -> dict[str, Command]:
        """All commands of the phone's shell by name, the plain tools included."""
        commands: dict[str, Command] = {}
        commands |= Tools(self._files, self._now_s, commands).table()
        commands |= FileTools(self._files).table() | TextTools(self._files).table()
        commands |= {
            "input": self._input, "dumpsys": self._dumpsys, "uiautomator": self._uiautomator,
            "screencap": self._screencap, "getprop": self._getprop, "wm": self._wm,
            "settings": SettingsCommand(self._phone.loaded_state),
            "content": ContentCommand(self._phone.loaded_state),
            "am": self._am, "pm": self._pm, "cmd": self._cmd, "monkey": self._monkey,
        }  # fmt: skip
        return commands

    async def _uiautomator(self, call: Call) -> int:
        words = [each for each in call.arguments if not each.startswith("--")]
        if not words or words[0] != "dump":
            return call.fail("only 'dump [FILE]' is supported", 2)
        path = words[1] if len(words) > 1 else DUMP_PATH
        with self._lock:
            dump = self._phone.tree_xml()
        if path == "/dev/tty":
            call.terminal.write(dump)
        else:
            self._files.write(path, dump)
        call.out(f"UI hierchary dumped to: {path}\n")
        return 0

    async def _screencap(self, call: Call) -> int:
        words = list(call.arguments)
        if "-d" in words:
            del words[words.index("-d") : words.index("-d") + 2]
        paths = [each for each in words if not each.startswith("-")]
        if "-p" not in words and not (paths and paths[0].endswith(".png")):
            return call.fail("only -p (PNG) is supported", 2)
        with self._lock:
            image = self._phone.screenshot()
        if paths:
            self._files.write(paths[0], image)
        else:
            call.out(image)
        return 0

    async def _getprop(self, call: Call) -> int:
        known = properties(self._phone)
        if call.arguments:
            name, *default = call.arguments
            call.out(known.get(name, default[0] if default else "") + "\n")
        else:
            call.out("".join(f"[{name}]: [{known[name]}]\n" for name in sorted(known)))
        return 0

    async def _wm(self, call: Call) -> int:
        match call.arguments:
            case ("size",):
                info = self._phone.info()
                call.out(f"Physical size: {info.width_px}x{info.height_px}\n")
            case ("density",):
                call.out(f"Physical density: {density(self._phone)}\n")
            case ("dismiss-keyguard",):
                pass
            case _:
                return call.fail("only 'size', 'density' and 'dismiss-keyguard' are supported", 2)
        return 0

    async def _am(self, call: Call) -> int:
        match call.arguments:
            case ("start" | "start-activity", *words):
                return self._start(call, words)
            case ("force-stop", *words) if words:
                with self._lock:
                    if self._phone.foreground()[0] == words[-1]:
                        self._phone.press(KEYCODE_HOME)
                return 0
            case ("broadcast", *_):
                call.out("Broadcasting: Intent { flg=0x400000 }\nBroadcast completed: result=0\n")
                return 0
        return call.fail("only start, force-stop and broadcast are supported", 255)

    def _start(self, call: Call, words: list[str]) -> int:
        options = dict(pairwise(words))
        component = options.get("-n", "")
        if not component and "android.intent.category.HOME" in words:
            call.out("Starting: Intent { act=android.intent.action.MAIN")
            call.out(" cat=[android.intent.category.HOME] }\n")
            with self._lock:
                self._phone.press(KEYCODE_HOME)
            return 0
        package = component.partition("/")[0] or options.get("-p", "")
        shown = f"cmp={component}" if component else f"pkg={package}"
        call.out(f"Starting: Intent {{ {shown} }}\n")
        with self._lock:
            is_started = bool(package) and self._phone.open_app(package)
            activity = "/".join(self._phone.foreground())
        if not is_started:
            call.error("Error type 3")
            call.error(f"Error: Activity class {{{component or package}}} does not exist.")
            return 1
        if "-W" in words:
            call.out(f"Status: ok\nLaunchState: COLD\nActivity: {activity}\n")
            call.out("TotalTime: 1\nWaitTime: 1\nComplete\n")
        return 0

    async def _monkey(self, call: Call) -> int:
        words = list(call.arguments)
        package = dict(pairwise(words)).get("-p", "")
        with self._lock:
            is_started = bool(package) and self._phone.open_app(package)
        if not is_started:
            call.out("** No activities found to run, monkey aborted.\n")
            return 252
        call.out("Events injected: 1\n## Network stats: elapsed time=1ms\n")
        return 0

    async def _pm(self, call: Call) -> int:
        match call.arguments:
            case ("list", "packages", *words):
                wanted = next((each for each in words if not each.startswith("-")), "")
                shown = [name for name in self._present() if wanted in name]
                call.out("".join(f"package:{name}\n" for name in shown))
                return 0
            case ("path", name) if name in self._present():
                call.out(f"package:/data/app/{name}/base.apk\n")
                return 0
            case ("path", _):
                return 1
        return call.fail("only 'list packages' and 'path' are supported", 255)

    def _present(self) -> list[str]:
        """The packages that the phone has now: a clone's apps come and go with its store."""
        state = self._phone.loaded_state()
        missing = frozenset[str]() if state is None else missing_packages(state)
        return sorted(set(self._packages) - missing)

    async def _cmd(self, call: Call) -> int:
        match call.arguments:
            case ("wifi", "status"):
                call.out(self._wifi_status())
                return 0
            case ("wifi", "list-networks"):
                call.out(self._wifi_networks())
                return 0
            case ("package", "list" | "path", *_):
                call.arguments = call.arguments[1:]
                return await self._pm(call)
            case ("statusbar", "expand-notifications" | "expand-settings" | "collapse" as what):
                with self._lock:
                    self._move_shade(down=what != "collapse")
                return 0
        return call.fail(f"Can't find service: {' '.join(call.arguments[:1])}", 20)

    def _wifi_status(self) -> str:
        """What `cmd wifi status` says of Wi-Fi and of the network that the phone is in."""
        state = self._phone.loaded_state()
        network = None if state is None else connected_network(state)
        is_on = state is not None and settings_of(state).get(("global", "wifi_on")) == "1"
        lines = [f"Wifi is {'enabled' if is_on else 'disabled'}"]
        lines += ["Wifi scanning is only available when wifi is enabled"]
        if is_on:
            lines.append(
                "Wifi is not connected" if network is None else f'Wifi is connected to "{network}"'
            )
        return "".join(f"{line}\n" for line in lines)

    def _wifi_networks(self) -> str:
        """What `cmd wifi list-networks` says of the networks that the phone knows."""
        state = self._phone.loaded_state()
        saved = [] if state is None else saved_networks(state)
        if not saved:
            return "No networks\n"
        rows = (f"{number:<12} {name:<32} wpa2-psk\n" for number, name in enumerate(saved))
        return f"Network Id      SSID                         Security type\n{''.join(rows)}"

    def _move_shade(self, *, down: bool) -> None:
        """Pull the notification shade down from the status bar, or put it away."""
        is_down = self._phone.foreground()[1].endswith(SHADE_ACTIVITY)
        if down and not is_down:
            info = self._phone.info()
            middle = info.width_px // 2
            self._phone.swipe(middle, 1, middle, info.height_px // 2)
        elif is_down and not down:
            self._phone.press(KEYCODE_BACK)
