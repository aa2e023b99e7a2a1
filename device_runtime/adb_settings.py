"""How the driver of phones over ADB behaves: its patience, and what it may do to a phone."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class AdbPhoneSettings:
    """How patient the driver is, and what it may do to a phone besides acting.

    Attributes:
        timeout_s: deadline of one command.
        reconnect_s: how long a lost phone is waited for before the episode ends as an env_error.
        settle_s: after an action, how long to wait for two equal looks; 0 takes the first.
        settle_poll_s: pause between those looks.
        look_attempts: how often a look is tried that failed on the phone's side.
        retry_pause_s: pause before the next try.
        screenshots: whether each observation has a picture that was taken together with its tree.
        verifies_text: whether a field is read back after typing, and typed into once more where
            characters were lost or changed places.
        typed_at_once: most characters in one `input text` command.
        keyboard_pause_s: how long a keyboard that takes Unicode is given to find the field.
        display: the logical display that is played on.
        unlocks: whether a reset wakes the phone and dismisses a lock screen without a PIN.
        stops_apps: whether a reset ends the apps that the episode before had in front.
        clears: packages whose data a reset deletes.
        quiet: whether animations and pop-up notifications are off and the screen stays on while
            charging, until the phone is closed; what was set before is put back then.
    """

    timeout_s: float = 20.0
    reconnect_s: float = 15.0
    settle_s: float = 2.0
    settle_poll_s: float = 0.1
    look_attempts: int = 3
    retry_pause_s: float = 0.5
    screenshots: bool = False
    verifies_text: bool = True
    typed_at_once: int = 64
    keyboard_pause_s: float = 1.0
    display: int = 0
    unlocks: bool = True
    stops_apps: bool = True
    clears: tuple[str, ...] = ()
    quiet: bool = False
