"""The lines of `dumpsys` that clients of a phone parse, written from the mock phone's state."""

from __future__ import annotations

from collections.abc import Callable
from threading import RLock
from typing import Final

from apps_mock.adb_calls import Call
from apps_mock.adb_ports import ClonePhone
from apps_mock.android_facts import epoch_ms, next_alarm, notifications

DISPLAY_ID: Final = "4619827259835644672"
_HANDLE: Final = "1c0de5e"


class Dumpsys:
    """`dumpsys SERVICE`; services that are not here are told apart from empty ones."""

    def __init__(self, phone: ClonePhone, lock: RLock) -> None:
        self._phone = phone
        self._lock = lock
        self._services: dict[str, Callable[[], str]] = {
            "window": self._window,
            "input_method": self._input_method,
            "display": self._display,
            "activity": self._activity,
            "power": self._power,
            "battery": self._battery,
            "SurfaceFlinger": self._surface_flinger,
            "input": self._input,
            "alarm": self._alarm,
            "notification": self._notification,
        }

    async def __call__(self, call: Call) -> int:
        """Print a service's state."""
        words = [each for each in call.arguments if each not in {"-t", "-a", "--noredact"}]
        if not words or words[0] == "-l":
            call.out("Currently running services:\n")
            call.out("".join(f"  {name}\n" for name in sorted(self._services)))
            return 0
        service = self._services.get(words[0])
        if service is None:
            call.error(f"Can't find service: {words[0]}")
            return 0
        with self._lock:
            call.out(service())
        return 0

    def _component(self) -> str:
        package, activity = self._phone.foreground()
        return f"{package}/{activity}"

    def _window(self) -> str:
        component = self._component()
        info = self._phone.info()
        width, height = info.width_px, info.height_px
        return (
            "WINDOW MANAGER WINDOWS (dumpsys window windows)\n"
            f"  Window #0 Window{{{_HANDLE} u0 {component}}}:\n"
            f"    mDisplayId=0 mSession=Session{{{_HANDLE} 2000:u0a10002}}\n"
            f"    mFrame=[0,0][{width},{height}] isVisible=true\n"
            f"  mCurrentFocus=Window{{{_HANDLE} u0 {component}}}\n"
            f"  mFocusedApp=ActivityRecord{{{_HANDLE} u0 {component} t1}}\n"
            "  mRotation=ROTATION_0\n"
            "  mDreamingLockscreen=false\n"
        )

    def _input_method(self) -> str:
        shown = str(self._phone.keyboard_shown).lower()
        return (
            "Current Input Method Manager state:\n"
            "  mCurMethodId=com.android.inputmethod.latin/.LatinIME\n"
            f"  mShowRequested={shown} mShowExplicitlyRequested=false mShowForced=false "
            f"mInputShown={shown}\n"
        )

    def _display(self) -> str:
        info = self._phone.info()
        width, height = info.width_px, info.height_px
        viewport = (
            f"DisplayViewport{{type=INTERNAL, valid=true, isActive=true, displayId=0, "
            f"uniqueId='local:{DISPLAY_ID}', orientation=0, "
            f"logicalFrame=Rect(0, 0 - {width}, {height}), "
            f"physicalFrame=Rect(0, 0 - {width}, {height}), "
            f"deviceWidth={width}, deviceHeight={height}}}"
        )
        return f"DISPLAY MANAGER (dumpsys display)\n  mViewports=[{viewport}]\n  orientation=0\n"

    def _activity(self) -> str:
        component = self._component()
        return (
            "ACTIVITY MANAGER ACTIVITIES (dumpsys activity activities)\n"
            "Display #0 (activities from top to bottom):\n"
            f"    topResumedActivity=ActivityRecord{{{_HANDLE} u0 {component} t1}}\n"
            f"  mResumedActivity: ActivityRecord{{{_HANDLE} u0 {component} t1}}\n"
            f"  ACTIVITY {component} {_HANDLE} pid=1000\n"
        )

    def _power(self) -> str:
        return (
            "POWER MANAGER (dumpsys power)\n"
            "  mWakefulness=Awake\n  mHoldingDisplaySuspendBlocker=true\n"
            "  Display Power: state=ON\n"
        )

    def _battery(self) -> str:
        return (
            "Current Battery Service state:\n  AC powered: true\n  USB powered: false\n"
            "  status: 2\n  health: 2\n  present: true\n  level: 100\n  scale: 100\n"
            "  voltage: 4200\n  temperature: 250\n"
        )

    def _surface_flinger(self) -> str:
        return f'Display {DISPLAY_ID} (HWC display 0): port=0 displayName="clone"\n'

    def _input(self) -> str:
        return "INPUT MANAGER (dumpsys input)\n      SurfaceOrientation: 0\n"

    def _alarm(self) -> str:
        state = self._phone.loaded_state()
        ring = None if state is None else next_alarm(state)
        said = f"    user:0 pendingSend:false time:{epoch_ms(ring)} = {ring}\n" if ring else ""
        return f"Current Alarm Manager state:\n\n  Next alarm clock information:\n{said}\n"

    def _notification(self) -> str:
        state = self._phone.loaded_state()
        shown = [] if state is None else notifications(state)
        return "Current Notification Manager state:\n  Notification List:\n" + "".join(
            f"    NotificationRecord(0x{number:08x}: pkg={package} user=UserHandle{{0}})\n"
            "      extras={\n"
            f"          android.title=String ({title})\n"
            f"          android.text=String ({text})\n      }}\n"
            for number, (package, title, text) in enumerate(shown)
        )
