"""`getprop`, `setprop`, `svc` and `cmd` on the mock phone."""

from __future__ import annotations

from typing import Final

from apps_mock.adb_calls import Call, Command
from apps_mock.adb_device import MockDevice
from apps_mock.adb_ports import ClonePhone
from apps_mock.adb_settings import SettingsCommand
from apps_mock.android_facts import SettingKey, connected_network, saved_networks

SHADE_ACTIVITY: Final = ".ShadeActivity"
USUAL_DENSITY: Final = "420"
_KEYCODE_BACK: Final = 4
_NO_SERVICE: Final = 20

_PROPERTIES: Final[dict[str, str]] = {
    "dev.bootcomplete": "1",
    "gsm.operator.alpha": "Clone",
    "gsm.sim.state": "READY",
    "init.svc.adbd": "running",
    "init.svc.bootanim": "stopped",
    "persist.sys.timezone": "UTC",
    "ro.build.characteristics": "default",
    "ro.build.type": "user",
    "ro.build.version.security_patch": "2026-01-05",
    "ro.debuggable": "0",
    "ro.hardware": "clone",
    "ro.kernel.qemu": "0",
    "ro.product.board": "clone",
    "ro.product.brand": "Outrider",
    "ro.product.cpu.abi": "arm64-v8a",
    "ro.product.cpu.abilist": "arm64-v8a,armeabi-v7a,armeabi",
    "ro.product.device": "clone",
    "ro.product.manufacturer": "Outrider",
    "ro.product.name": "clone",
    "ro.secure": "1",
    "ro.serialno": "clone",
    "sys.boot_completed": "1",
}
_SWITCHES: Final[dict[str, SettingKey]] = {
    "wifi": ("global", "wifi_on"),
    "data": ("global", "mobile_data"),
    "bluetooth": ("global", "bluetooth_on"),
    "nfc": ("global", "nfc_on"),
}
_SILENT: Final = frozenset("appops overlay role deviceidle jobscheduler locale".split())
_WITHOUT_COMMANDS: Final = frozenset({"clipboard", "battery", "display"})
_ZEN: Final = {"on": "1", "off": "0", "priority": "1", "none": "2", "alarms": "3", "all": "0"}


class SystemCommands:
    """What asks and switches the phone itself."""

    def __init__(self, device: MockDevice, settings: SettingsCommand) -> None:
        self._device = device
        self._settings = settings
        self._set: dict[str, str] = {}

    def table(self) -> dict[str, Command]:
        """The commands by name."""
        return {
            "getprop": self._getprop, "setprop": self._setprop, "svc": self._svc, "cmd": self._cmd,
        }  # fmt: skip

    def properties(self) -> dict[str, str]:
        """What `getprop` knows."""
        info, profile = self._device.phone.info(), self._device.profile
        model = info.model.replace(" ", "_")
        release = profile.android_version
        fingerprint = f"Outrider/clone/clone:{release}/{model}/1:user/release-keys"
        said = {
            "persist.sys.locale": info.extra.get("locale", "en-US"),
            "ro.build.fingerprint": fingerprint,
            "ro.build.version.release": release,
            "ro.build.version.sdk": str(profile.api),
            "ro.product.locale": info.extra.get("locale", "en-US"),
            "ro.product.model": info.model,
            "ro.sf.lcd_density": density_of(self._device.phone),
        }
        return _PROPERTIES | said | self._set

    async def _getprop(self, call: Call) -> int:
        with self._device.in_use():
            known = self.properties()
        if call.arguments:
            name, *default = call.arguments
            call.out(known.get(name, default[0] if default else "") + "\n")
        else:
            call.out("".join(f"[{name}]: [{known[name]}]\n" for name in sorted(known)))
        return 0

    async def _setprop(self, call: Call) -> int:
        match call.arguments:
            case (name, value) if name.startswith(("debug.", "log.", "persist.log.")):
                if len(self._set) < 1000 and len(name) + len(value) < 300:
                    self._set[name] = value
                return 0
            case (name, value):
                return call.fail(f"failed to set property '{name}' to '{value}'")
        return call.fail("usage: setprop NAME VALUE")

    async def _svc(self, call: Call) -> int:
        with self._device.in_use():
            match call.arguments:
                case (what, "enable" | "disable" as how) if what in _SWITCHES:
                    self._switch(_SWITCHES[what], is_on=how == "enable")
                case ("power", "stayon", how):
                    value = {"true": "7", "false": "0", "usb": "2", "ac": "1"}.get(how, "4")
                    self._settings.put(("global", "stay_on_while_plugged_in"), value)
                case ("power", "shutdown" | "reboot", *_):
                    return call.fail("the mock phone does not switch itself off", 1)
                case ("usb", "getFunctions" | "setFunctions", *_):
                    call.out("mtp\n" if call.arguments[1] == "getFunctions" else "")
                case _:
                    return call.fail("Available commands: power data wifi usb nfc bluetooth", 1)
        return 0

    def _switch(self, key: SettingKey, *, is_on: bool) -> None:
        self._settings.put(key, "1" if is_on else "0")

    async def _cmd(self, call: Call) -> int:
        service, *words = call.arguments or ("-l",)
        aliases = {
            "package": "pm", "activity": "am", "window": "wm", "input": "input",
            "settings": "settings",
        }  # fmt: skip
        if service in aliases:
            return await call.run([aliases[service], *words], call.input)
        if service == "input_method":
            return await call.run(["ime", *words], call.input)
        with self._device.in_use():
            return self._run_cmd(call, service, words)

    def _run_cmd(self, call: Call, service: str, words: list[str]) -> int:
        if service == "-l":
            call.out("Currently running services:\n  activity\n  package\n  window\n")
            return 0
        if service in _SILENT:
            return 0
        if service in _WITHOUT_COMMANDS:
            call.out("No shell command implementation.\n")
            return 255
        if service in {"connectivity", "uimode"}:
            return self._with_answer(call, service, words)
        if service == "wifi" and words in (["status"], ["list-networks"]):
            call.out(self._wifi_status() if words == ["status"] else self._wifi_networks())
            return 0
        if self._switched(service, words):
            return 0
        return call.fail(f"Can't find service: {service} {' '.join(words)}".rstrip(), _NO_SERVICE)

    def _switched(self, service: str, words: list[str]) -> bool:
        """Switch what a service switches; False where it was asked for something else."""
        match service, words:
            case "wifi", ["set-wifi-enabled", "enabled" | "disabled" as how]:
                self._switch(_SWITCHES["wifi"], is_on=how == "enabled")
            case "bluetooth_manager", ["enable" | "disable" as how]:
                self._switch(_SWITCHES["bluetooth"], is_on=how == "enable")
            case "power", ["set-mode", "0" | "1" as mode]:
                self._switch(("global", "low_power"), is_on=mode == "1")
            case "notification", ["set_dnd", how] if how in _ZEN:
                self._settings.put(("global", "zen_mode"), _ZEN[how])
            case "statusbar", ["expand-notifications" | "expand-settings" | "collapse" as what]:
                self._move_shade(down=what != "collapse")
            case _:
                return False
        return True

    def _with_answer(self, call: Call, service: str, words: list[str]) -> int:
        match service, words:
            case "connectivity", ["airplane-mode", *rest]:
                return self._airplane(call, rest)
            case "uimode", ["night", *rest]:
                return self._night(call, rest)
        return call.fail(f"Unknown command: {' '.join(words)}", 255)

    def _airplane(self, call: Call, rest: list[str]) -> int:
        key: SettingKey = ("global", "airplane_mode_on")
        if rest in (["enable"], ["disable"]):
            self._switch(key, is_on=rest == ["enable"])
        else:
            call.out("enabled\n" if self._settings.get(key) == "1" else "disabled\n")
        return 0

    def _night(self, call: Call, rest: list[str]) -> int:
        key: SettingKey = ("secure", "ui_night_mode")
        if rest in (["yes"], ["no"]):
            self._settings.put(key, "2" if rest == ["yes"] else "1")
        call.out(f"Night mode: {'yes' if self._settings.get(key) == '2' else 'no'}\n")
        return 0

    def _wifi_status(self) -> str:
        """What `cmd wifi status` says of Wi-Fi and of the network that the phone is in."""
        state = self._device.phone.loaded_state()
        network = None if state is None else connected_network(state)
        is_on = self._settings.get(_SWITCHES["wifi"]) == "1"
        lines = [f"Wifi is {'enabled' if is_on else 'disabled'}"]
        lines += ["Wifi scanning is only available when wifi is enabled"]
        if is_on:
            lines.append(
                "Wifi is not connected" if network is None else f'Wifi is connected to "{network}"'
            )
        return "".join(f"{line}\n" for line in lines)

    def _wifi_networks(self) -> str:
        """What `cmd wifi list-networks` says of the networks that the phone knows."""
        state = self._device.phone.loaded_state()
        saved = [] if state is None else saved_networks(state)
        if not saved:
            return "No networks\n"
        rows = (f"{number:<12} {name:<32} wpa2-psk\n" for number, name in enumerate(saved))
        return f"Network Id      SSID                         Security type\n{''.join(rows)}"

    def _move_shade(self, *, down: bool) -> None:
        """Pull the notification shade down from the status bar, or put it away."""
        phone = self._device.phone
        is_down = phone.foreground()[1].endswith(SHADE_ACTIVITY)
        if down and not is_down:
            width, height = self._device.displays.size
            phone.swipe(width // 2, 1, width // 2, height // 2)
        elif is_down and not down:
            phone.press(_KEYCODE_BACK)


def density_of(phone: ClonePhone) -> str:
    """Dots per inch of a phone's screen."""
    return phone.info().extra.get("density", USUAL_DENSITY)
