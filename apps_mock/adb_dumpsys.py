"""`dumpsys SERVICE` on the mock phone, written from its state."""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

from apps_mock.adb_activity import ActivityCommands
from apps_mock.adb_calls import Call
from apps_mock.adb_device import MockDevice
from apps_mock.adb_dumpsys_windows import WindowDumps
from apps_mock.adb_packages import uid_of
from apps_mock.adb_settings import SettingsCommand
from apps_mock.android_facts import connected_network, epoch_ms, next_alarm, notifications

_SKIPPED: Final = frozenset({"-t", "-a", "--noredact", "--proto", "-c"})
_INSTALLED: Final = "2026-01-01 09:00:00"


class Dumpsys:
    """`dumpsys`; services that are not here are told apart from empty ones."""

    def __init__(
        self, device: MockDevice, activities: ActivityCommands, settings: SettingsCommand
    ) -> None:
        self._device = device
        self._settings = settings
        windows = WindowDumps(device, activities)
        self._services: dict[str, Callable[[list[str]], str]] = {
            "window": lambda _: windows.window(),
            "activity": lambda words: windows.activity(words[0] if words else ""),
            "display": lambda _: windows.display(),
            "SurfaceFlinger": windows.surface_flinger,
            "input": lambda _: windows.input(),
            "input_method": lambda _: self._input_method(),
            "power": lambda _: self._power(),
            "battery": lambda _: _BATTERY,
            "alarm": lambda _: self._alarm(),
            "notification": lambda _: self._notification(),
            "package": self._package,
            "telephony.registry": lambda _: _TELEPHONY,
            "wifi": lambda _: self._wifi(),
            "connectivity": lambda _: "Active default network: 100\n",
            "accessibility": lambda _: _ACCESSIBILITY,
            "thermalservice": lambda _: "IsStatusOverride: false\nThermal Status: 0\n",
            "meminfo": lambda _: _MEMORY,
            "cpuinfo": lambda _: "Load: 0.5 / 0.4 / 0.3\n10% TOTAL: 6% user + 4% kernel\n",
            "gfxinfo": lambda _: "Applications Graphics Acceleration Info:\n",
            "deviceidle": lambda _: "  mState=ACTIVE\n  mLightState=ACTIVE\n",
            "statusbar": lambda _: "  mDisabled1=0x0\n  mDisabled2=0x0\n",
            "audio": lambda _: "- STREAM_MUSIC:\n   Muted: false\n   streamVolume:5\n",
            "media_session": lambda _: "MEDIA SESSION SERVICE (dumpsys media_session)\n",
            "usagestats": lambda _: "user=0\n",
            "location": lambda _: "Location Manager State:\n",
            "trust": lambda _: "Trust manager state:\n deviceLocked=0\n",
            "clipboard": lambda _: "",
        }

    @property
    def services(self) -> tuple[str, ...]:
        """Names of the services, sorted."""
        return tuple(sorted(self._services))

    async def __call__(self, call: Call) -> int:
        """Print a service's state."""
        words = [each for each in call.arguments if each not in _SKIPPED]
        if not words or words[0] == "-l":
            call.out("Currently running services:\n")
            call.out("".join(f"  {name}\n" for name in self.services))
            return 0
        service = self._services.get(words[0])
        if service is None:
            call.error(f"Can't find service: {words[0]}")
            return 0
        with self._device.in_use():
            call.out(service(words[1:]))
        return 0

    def _input_method(self) -> str:
        shown = str(self._device.phone.keyboard_shown).lower()
        return (
            "Current Input Method Manager state:\n"
            f"  mCurMethodId={self._device.keyboards.current}\n"
            f"  mShowRequested={shown} mShowExplicitlyRequested=false mShowForced=false "
            f"mInputShown={shown}\n"
        )

    def _power(self) -> str:
        is_awake = self._device.displays.is_awake
        on = "ON" if is_awake else "OFF"
        return (
            "POWER MANAGER (dumpsys power)\n"
            f"  mWakefulness={'Awake' if is_awake else 'Asleep'}\n  mIsPowered=true\n"
            f"  mHoldingDisplaySuspendBlocker={str(is_awake).lower()}\n"
            f"Display Power: state={on}\n"
        )

    def _alarm(self) -> str:
        state = self._device.phone.loaded_state()
        ring = None if state is None else next_alarm(state)
        said = f"    user:0 pendingSend:false time:{epoch_ms(ring)} = {ring}\n" if ring else ""
        return f"Current Alarm Manager state:\n\n  Next alarm clock information:\n{said}\n"

    def _notification(self) -> str:
        state = self._device.phone.loaded_state()
        shown = [] if state is None else notifications(state)
        return "Current Notification Manager state:\n  Notification List:\n" + "".join(
            f"    NotificationRecord(0x{number:08x}: pkg={package} user=UserHandle{{0}})\n"
            "      extras={\n"
            f"          android.title=String ({title})\n"
            f"          android.text=String ({text})\n      }}\n"
            for number, (package, title, text) in enumerate(shown)
        )

    def _wifi(self) -> str:
        state = self._device.phone.loaded_state()
        network = None if state is None else connected_network(state)
        is_on = self._settings.get(("global", "wifi_on")) == "1"
        detail = "CONNECTED/CONNECTED" if network else "DISCONNECTED/DISCONNECTED"
        return (
            f"Wi-Fi is {'enabled' if is_on else 'disabled'}\n"
            f'mWifiInfo SSID: "{network or ""}", BSSID: 02:00:00:00:00:00\n'
            f"mNetworkInfo [type: WIFI[], state: {detail}, reason: (unspecified)]\n"
        )

    def _package(self, words: list[str]) -> str:
        packages = self._device.packages
        name = words[0] if words else ""
        if name and name not in packages.everything:
            return f"Unable to find package: {name}\n"
        return "Packages:\n" + "".join(
            self._about(each) for each in ([name] if name else packages.everything)
        )

    def _about(self, name: str) -> str:
        version, code = self._device.packages.version(name)
        is_system = name in self._device.packages.system
        return (
            f"  Package [{name}] (5f00d):\n    userId={uid_of(name)}\n"
            f"    codePath={self._device.packages.path(name).rpartition('/')[0]}\n"
            f"    versionCode={code} minSdk=23 targetSdk={self._device.profile.api}\n"
            f"    versionName={version}\n    splits=[base]\n"
            f"    flags=[ {'SYSTEM ' if is_system else ''}HAS_CODE ALLOW_CLEAR_USER_DATA ]\n"
            f"    firstInstallTime={_INSTALLED}\n    lastUpdateTime={_INSTALLED}\n"
            f"    User 0: ceDataInode=1 installed=true hidden=false stopped=false "
            f"enabled={0 if self._device.packages.is_enabled(name) else 2}\n"
        )


_BATTERY: Final = (
    "Current Battery Service state:\n  AC powered: true\n  USB powered: false\n"
    "  Wireless powered: false\n  Max charging current: 0\n  status: 2\n  health: 2\n"
    "  present: true\n  level: 100\n  scale: 100\n  voltage: 4200\n  temperature: 250\n"
    "  technology: Li-ion\n"
)
_TELEPHONY: Final = (
    "last known state:\n  Phone Id=0\n    mCallState=0\n    mCallIncomingNumber=\n"
    "    mServiceState={mVoiceRegState=0(IN_SERVICE), mDataRegState=0(IN_SERVICE)}\n"
    "    mDataConnectionState=2\n"
)
_ACCESSIBILITY: Final = (
    "ACCESSIBILITY MANAGER (dumpsys accessibility)\nUser state[\n"
    "     attributes:{id=0, touchExplorationEnabled=false}\n     Bound services:{}\n"
    "     Enabled services:{}\n     UiAutomation: null\n]\n"
)
_MEMORY: Final = (
    "Total RAM: 7,812,345K (status normal)\n Free RAM: 4,012,345K\n Used RAM: 3,500,000K\n"
)
