"""Makes a phone ready to be played on: booted, awake, unlocked; and quiet, where that is wanted.

A lock screen without a PIN is dismissed; one with a PIN, pattern or password is its owner's, so it
is refused with advice and nothing is ever typed into it.
"""

from __future__ import annotations

from typing import Final

import structlog

from device_runtime.adb_link import AdbLink
from device_runtime.adb_look import STATE_COMMAND
from device_runtime.adb_state import ScreenState, read_state
from device_runtime.errors import PhoneFaultError, PhoneLockedError, PhoneLostError
from sync.clock import Clock

KEYCODE_WAKEUP: Final = 224
KEYCODE_MENU: Final = 82
BOOT_TIMEOUT_S: Final = 60.0
BOOT_POLL_S: Final = 1.0
UNLOCK_POLLS: Final = 4
UNLOCK_POLL_S: Final = 0.4

QUIET_SETTINGS: Final = (
    ("window_animation_scale", "0"),
    ("transition_animation_scale", "0"),
    ("animator_duration_scale", "0"),
    ("heads_up_notifications_enabled", "0"),
    ("stay_on_while_plugged_in", "7"),
)
"""Global settings, and what a quiet phone has."""

_WAKE: Final = f"input keyevent {KEYCODE_WAKEUP}; wm dismiss-keyguard"
_log = structlog.get_logger()


def make_ready(link: AdbLink, clock: Clock, *, display: int = 0, unlocks: bool = True) -> None:
    """Return once the phone has booted and shows something that can be played on.

    Raises:
        PhoneLostError: it has not booted in time.
        PhoneLockedError: its lock screen needs its owner, or may not be touched.
        PhoneFaultError: its screen cannot be switched on.
    """
    state = _booted(link, clock, display)
    if not unlocks:
        _require_open(link, state)
        return
    for poll in range(UNLOCK_POLLS):
        if state.is_awake is not False and not state.is_locked:
            return
        menu = f"; input keyevent {KEYCODE_MENU}" if poll >= 1 and state.is_locked else ""
        link.ask(_WAKE + menu)
        clock.sleep(UNLOCK_POLL_S)
        state = _booted(link, clock, display)
    _require_open(link, state)


def _require_open(link: AdbLink, state: ScreenState) -> None:
    if state.is_awake is False:
        raise PhoneFaultError(f"{link.serial} sleeps and does not wake; press its power button")
    if state.is_locked:
        raise PhoneLockedError(
            f"{link.serial} is locked; unlock it by hand, remove its PIN or give it a profile "
            "without one, and let it stay awake while it charges"
        )


def _booted(link: AdbLink, clock: Clock, display: int) -> ScreenState:
    deadline_s = clock.monotonic_s() + BOOT_TIMEOUT_S
    while True:
        result = link.ask(f"getprop sys.boot_completed; {STATE_COMMAND}; echo")
        said, _, lines = result.stdout.decode(errors="replace").partition("\n")
        if said.strip() == "1":
            return read_state(lines, display)
        if clock.monotonic_s() >= deadline_s:
            raise PhoneLostError(
                f"{link.serial} has not booted in {BOOT_TIMEOUT_S:.0f} s; try again later",
                state="offline",
                may_have_arrived=False,
            )
        clock.sleep(BOOT_POLL_S)


class Quiet:
    """Keeps a phone's animations and pop-ups off; remembers what was set before."""

    def __init__(self, link: AdbLink) -> None:
        self._link = link
        self._before: dict[str, str] = {}

    def begin(self) -> None:
        """Make the phone quiet. Idempotent."""
        if self._before:
            return
        names = [name for name, _ in QUIET_SETTINGS]
        asked = self._link.ask("; ".join(f"settings get global {name}" for name in names))
        values = asked.stdout.decode(errors="replace").splitlines()
        if len(values) != len(names):
            raise PhoneFaultError(f"{self._link.serial} does not say its settings")
        self._before = dict(zip(names, map(str.strip, values), strict=True))
        self._put(dict(QUIET_SETTINGS))

    def end(self) -> None:
        """Put back what was set before. Idempotent; a phone that is gone keeps ours."""
        before, self._before = self._before, {}
        if not before:
            return
        try:
            self._put(before)
        except (PhoneLostError, PhoneFaultError) as error:
            _log.warning("settings_not_put_back", serial=self._link.serial, reason=str(error))

    def _put(self, values: dict[str, str]) -> None:
        commands = [
            f"settings delete global {name}"
            if value in {"null", ""}
            else f"settings put global {name} {value}"
            for name, value in values.items()
        ]
        self._link.ask("; ".join(commands))
