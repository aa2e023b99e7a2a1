"""What one asks a phone to know how it is: harmless single commands, and the answers to them.

`outrider doctor` judges the answers, `recording` keeps them, and the mock phone gives them again.
Every question is one command without pipes or quotes, so that a recording can answer it whatever
line a client puts it into. Nothing here changes the phone: the only key is the one that means
nothing (`input keyevent 0`), and the dump goes into a file of its own that is removed again.
"""

from __future__ import annotations

import secrets
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Final

from device_runtime.adb import AdbClient
from device_runtime.adb_shell import AdbShell
from device_runtime.errors import PhoneFaultError
from sync.clock import Clock, SystemClock

FILE: Final = "FILE"
"""Stands for the path of a fresh file in a command."""

PROPERTIES: Final = "getprop"
TREE: Final = f"uiautomator dump {FILE}"
SCREENSHOT: Final = "screencap -p"
KEY: Final = "input keyevent 0"
DATE: Final = "date +%s"
SIZE, DENSITY = "wm size", "wm density"
WINDOWS: Final = "dumpsys window"
ACTIVITIES: Final = "dumpsys activity activities"
POWER, BATTERY, HEAT = "dumpsys power", "dumpsys battery", "dumpsys thermalservice"
DISPLAYS: Final = "dumpsys display"
PHYSICAL_DISPLAYS: Final = "dumpsys SurfaceFlinger --display-id"
ACCESSIBILITY: Final = "dumpsys accessibility"
KEYBOARDS: Final = "ime list -s"
STORAGE: Final = "df -k /data"
SETTINGS: Final = {name: f"settings list {name}" for name in ("global", "secure", "system")}

QUESTIONS: Final = (
    DATE, PROPERTIES, KEY, SIZE, DENSITY, *SETTINGS.values(), POWER, BATTERY, HEAT, WINDOWS,
    "dumpsys input_method", ACTIVITIES, DISPLAYS, PHYSICAL_DISPLAYS, "dumpsys input",
    ACCESSIBILITY, KEYBOARDS, STORAGE, "id", "am get-current-user", "pm list packages -s",
    TREE, SCREENSHOT,
)  # fmt: skip
"""Everything that is asked: the key early, so that what it wakes or uncovers is seen after it."""

KEPT_SETTINGS: Final[dict[str, frozenset[str]]] = {
    "global": frozenset(
        "adb_enabled airplane_mode_on always_finish_activities animator_duration_scale "
        "auto_time development_settings_enabled device_provisioned heads_up_notifications_enabled "
        "low_power mode_ringer policy_control stay_on_while_plugged_in "
        "transition_animation_scale window_animation_scale wifi_on zen_mode".split()
    ),
    "secure": frozenset(
        "accessibility_enabled default_input_method doze_always_on doze_enabled "
        "location_mode navigation_mode selected_input_method_subtype show_ime_with_hard_keyboard "
        "touch_exploration_enabled ui_night_mode user_setup_complete".split()
    ),
    "system": frozenset(
        "accelerometer_rotation font_scale screen_brightness screen_brightness_mode "
        "screen_off_timeout system_locales time_12_24 user_rotation".split()
    ),
}
"""The settings that are looked at and kept; all others may say who owns the phone."""

_SLOW_S: Final = 30.0
_LISTS = {command: name for name, command in SETTINGS.items()}


@dataclass(frozen=True, slots=True)
class Answer:
    """What a phone answered to one command.

    Attributes:
        elapsed_ms: how long that took, the way there and back included.
        file: what the command left in the file that it names, where it names one.
    """

    stdout: bytes = b""
    stderr: bytes = b""
    exit_code: int = 0
    elapsed_ms: float = 0.0
    file: bytes | None = None

    @property
    def text(self) -> str:
        """Everything that it said, as text."""
        return (self.stdout + b"\n" + self.stderr).decode(errors="replace")


Answers = Mapping[str, Answer]
"""Answers by the command that they belong to."""


class PhoneAsker:
    """Asks one phone.

    Args:
        new_name: makes names that were never used before on this phone.
    """

    def __init__(
        self,
        client: AdbClient,
        serial: str,
        *,
        clock: Clock | None = None,
        new_name: Callable[[], str] = lambda: secrets.token_hex(8),
    ) -> None:
        self._client = client
        self._serial = serial
        self._clock = clock or SystemClock()
        self._new_name = new_name
        self._shell = AdbShell(client, serial, timeout_s=_SLOW_S)

    def ask(self, command: str) -> Answer:
        """The answer to one command.

        Raises: PhoneLostError, PhoneFaultError: as for `AdbClient.shell`.
        """
        path = f"/data/local/tmp/outrider-{self._new_name()}"
        begun_s = self._clock.monotonic_s()
        if command == SCREENSHOT:
            stdout = self._client.execute(self._serial, command, timeout_s=_SLOW_S)
            return Answer(stdout, elapsed_ms=self._elapsed_ms(begun_s))
        line = command.replace(FILE, path)
        result = self._shell.shell(line)
        file = self._taken(path) if FILE in command else None
        answer = Answer(
            result.stdout.replace(path.encode(), FILE.encode()),
            result.stderr.replace(path.encode(), FILE.encode()),
            result.exit_code,
            self._elapsed_ms(begun_s),
            file,
        )
        return _without_strangers(command, answer)

    def ask_all(self, commands: tuple[str, ...] = QUESTIONS) -> dict[str, Answer]:
        """The answers to all commands; one that the phone answers with nonsense is left out.

        Raises: PhoneLostError: the phone cannot be reached any more.
        """
        answers = {}
        for command in commands:
            try:
                answers[command] = self.ask(command)
            except PhoneFaultError:
                continue
        return answers

    def _taken(self, path: str) -> bytes | None:
        """What is in a file of the phone, which is removed; None where there is none."""
        kept = self._shell.shell(f"cat {path}")
        self._shell.shell(f"rm -f {path}")
        return kept.stdout if kept.exit_code == 0 else None

    def _elapsed_ms(self, begun_s: float) -> float:
        return round((self._clock.monotonic_s() - begun_s) * 1000, 3)


def settings_of(answers: Answers, namespace: str) -> dict[str, str]:
    """The settings of one namespace that are looked at, by name."""
    answer = answers.get(SETTINGS[namespace], Answer())
    rows = (line.partition("=") for line in answer.stdout.decode(errors="replace").splitlines())
    return {name: value for name, _, value in rows if name in KEPT_SETTINGS[namespace]}


def properties_of(answers: Answers) -> dict[str, str]:
    """`getprop` as a table."""
    lines = answers.get(PROPERTIES, Answer()).stdout.decode(errors="replace").splitlines()
    rows = (line.strip().partition("]: [") for line in lines)
    return {name[1:]: value[:-1] for name, found, value in rows if found}


def _without_strangers(command: str, answer: Answer) -> Answer:
    """A list of settings without those that nobody here looks at."""
    if command not in _LISTS:
        return answer
    kept = settings_of({command: answer}, _LISTS[command])
    text = "".join(f"{name}={value}\n" for name, value in kept.items())
    return Answer(text.encode(), answer.stderr, answer.exit_code, answer.elapsed_ms)
