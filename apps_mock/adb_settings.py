"""`settings` on the mock phone: what the clone holds, as Android's tool prints it.

A setting that the clone has is changed in the clone. What programs put before they drive a phone
(rotation, the time until the screen goes off) is not: it is shown as it was put until the clone
itself changes it, so that a client which turns rotation off spoils no verdict.
"""

from __future__ import annotations

from typing import Final

from apps_mock.adb_calls import Call
from apps_mock.adb_clone_writes import with_setting
from apps_mock.adb_device import MockDevice
from apps_mock.adb_keyboards import OWN
from apps_mock.android_facts import SettingKey, settings_of

_USUAL: Final[dict[SettingKey, str]] = {
    ("global", "airplane_mode_on"): "0",
    ("global", "animator_duration_scale"): "0",
    ("global", "transition_animation_scale"): "0",
    ("global", "window_animation_scale"): "0",
    ("global", "zen_mode"): "0",
    ("global", "development_settings_enabled"): "1",
    ("global", "device_provisioned"): "1",
    ("global", "adb_enabled"): "1",
    ("global", "stay_on_while_plugged_in"): "7",
    ("global", "heads_up_notifications_enabled"): "1",
    ("secure", "android_id"): "0123456789abcdef",
    ("secure", "user_setup_complete"): "1",
    ("system", "accelerometer_rotation"): "0",
    ("system", "screen_off_timeout"): "60000",
    ("system", "user_rotation"): "0",
}
"""Settings of a phone that the clone's own settings app does not show."""

NAMESPACES: Final = ("system", "secure", "global")
"""The tables of settings."""

_KEYBOARD: Final = ("secure", "default_input_method")
_KEYBOARDS: Final = ("secure", "enabled_input_methods")
_ROTATION: Final = ("system", "user_rotation")


class SettingsCommand:
    """`settings get|put|delete|list`, and `svc` and such that switch what is a setting."""

    def __init__(self, device: MockDevice) -> None:
        self._device = device
        self._put: dict[SettingKey, tuple[str | None, str | None]] = {}

    async def __call__(self, call: Call) -> int:
        """Run one `settings` command."""
        words = without_user(call.arguments)
        with self._device.in_use():
            return self._run(call, tuple(word for word in words if word != "--lineage"))

    def get(self, key: SettingKey) -> str | None:
        """The value of a setting; None where it is not set."""
        return self._all().get(key)

    def table(self, namespace: str) -> dict[str, str]:
        """Name and value of a namespace's settings, sorted by name."""
        return {
            name: value for (its, name), value in sorted(self._all().items()) if its == namespace
        }

    def delete(self, key: SettingKey) -> bool:
        """Forget a setting; whether it was there."""
        was_there = key in self._all()
        self._put[key] = None, self._own().get(key)
        return was_there

    def put(self, key: SettingKey, value: str) -> None:
        """Set a setting, in the clone where the clone has it."""
        state = self._device.phone.loaded_state()
        after = None if state is None else with_setting(state, key, value)
        if after is not None:
            self._device.phone.restore(after)
            self._put.pop(key, None)
        elif key == _KEYBOARD:
            self._device.keyboards.choose(value)
        else:
            self._put[key] = value, self._own().get(key)
        if key == _ROTATION and value in {"0", "1", "2", "3"}:
            self._device.displays.turn(int(value))

    def _run(self, call: Call, words: tuple[str, ...]) -> int:
        match words:
            case ("get", namespace, name) if namespace in NAMESPACES:
                call.out((self.get((namespace, name)) or "null") + "\n")
            case ("put", namespace, name, value, *_) if namespace in NAMESPACES:
                self.put((namespace, name), value)
            case ("delete", namespace, name) if namespace in NAMESPACES:
                call.out(f"Deleted {int(self.delete((namespace, name)))} rows\n")
            case ("list", namespace) if namespace in NAMESPACES:
                held = self.table(namespace)
                call.out("".join(f"{name}={value}\n" for name, value in held.items()))
            case ("reset", *_):
                pass
            case _:
                return call.fail("expected get, put, delete or list of system, secure, global", 255)
        return 0

    def _own(self) -> dict[SettingKey, str]:
        state = self._device.phone.loaded_state()
        keyboards = self._device.keyboards
        held = _USUAL | ({} if state is None else settings_of(state))
        return held | {
            _KEYBOARD: keyboards.current,
            _KEYBOARDS: ":".join(dict.fromkeys((OWN, keyboards.current))),
            _ROTATION: str(self._device.displays.rotation),
        }

    def _all(self) -> dict[SettingKey, str]:
        own = self._own()
        held: dict[SettingKey, str | None] = dict(own)
        for key, (value, own_then) in self._put.items():
            if own.get(key) == own_then:
                held[key] = value
        return {key: value for key, value in held.items() if value is not None}


def without_user(arguments: tuple[str, ...]) -> tuple[str, ...]:
    """The arguments without `--user N`: the mock phone has one user."""
    words = list(arguments)
    while "--user" in words:
        at = words.index("--user")
        del words[at : at + 2]
    return tuple(words)
