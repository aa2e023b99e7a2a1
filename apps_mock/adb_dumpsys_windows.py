"""`dumpsys` of the mock phone about what shows: windows, activities, displays, input.

Texts follow what clients of real phones parse, in the words of the phone's Android version.
"""

from __future__ import annotations

from typing import Final

from apps_mock.adb_activity import ActivityCommands
from apps_mock.adb_device import MockDevice
from apps_mock.adb_display import DISPLAY_ID
from apps_mock.adb_faults import FaultKind
from apps_mock.phone_state import PhoneState, is_locked
from apps_mock.registry import APPS

_FRONT: Final = "1c0de5e"
_BAR: Final = "9b1d2f0"
_NAMED_FLAGS_SINCE: Final = 29
_TITLES: Final = {"hung": "Application Not Responding", "crash": "Application Error"}
_PLAIN_FLAGS: Final = "LAYOUT_IN_SCREEN LAYOUT_INSET_DECOR SPLIT_TOUCH HARDWARE_ACCELERATED"


class WindowDumps:
    """The dumps about windows of one phone; callers hold the phone's lock."""

    def __init__(self, device: MockDevice, activities: ActivityCommands) -> None:
        self._device = device
        self._activities = activities

    @property
    def _state(self) -> PhoneState | None:
        return self._device.phone.loaded_state()

    @property
    def _is_locked(self) -> bool:
        return self._state is not None and is_locked(self._state)

    def window(self) -> str:
        """`dumpsys window`, all its parts."""
        device = self._device
        width, height = device.displays.size
        focus, app = self._focus()
        locked = str(self._is_locked).lower()
        return (
            "WINDOW MANAGER LAST ANR (dumpsys window lastanr)\n  <no ANR has occurred since boot>\n"
            "WINDOW MANAGER POLICY STATE (dumpsys window policy)\n"
            f"    KeyguardServiceDelegate\n      showing={locked}\n      secure=false\n"
            f"    mAwake={str(device.displays.is_awake).lower()} mScreenOnEarly=true\n"
            "WINDOW MANAGER DISPLAY CONTENTS (dumpsys window displays)\n"
            f"  Display: mDisplayId=0\n    {self._sizes()}\n"
            f"    mCurrentRotation=ROTATION_{90 * device.displays.rotation}\n"
            "WINDOW MANAGER WINDOWS (dumpsys window windows)\n"
            + self._window(0, _BAR, "StatusBar", (0, 0, width, min(height, 84)), "")
            + self._window(1, _FRONT, self._title(), (0, 0, width, height), self._secure_flag())
            + f"{focus}{app}"
            f"  mRotation=ROTATION_{90 * device.displays.rotation}\n"
            f"  mDreamingLockscreen={locked} mShowingLockscreen={locked}\n"
            f"  isStatusBarKeyguard={locked}\n"
        )

    def _sizes(self) -> str:
        """The line of sizes: the panel's, what was put over it, and the present one."""
        displays = self._device.displays
        density = self._device.phone.info().extra.get("density", "420")
        panel, override, now = displays.physical, displays.override, displays.size
        parts = [f"init={panel[0]}x{panel[1]} {density}dpi"]
        if override is not None:
            parts.append(f"base={override[0]}x{override[1]} {density}dpi")
        shown = f"{now[0]}x{now[1]}"
        short, tall = min(now), max(now)
        parts.append(f"cur={shown} app={shown} rng={short}x{short}-{tall}x{tall}")
        return " ".join(parts)

    def _window(
        self, number: int, handle: str, title: str, frame: tuple[int, int, int, int], flags: str
    ) -> str:
        left, top, right, bottom = frame
        if self._device.profile.api >= _NAMED_FLAGS_SINCE:
            shown_flags = f"fl={_PLAIN_FLAGS}{' SECURE' if flags else ''}"
        else:
            shown_flags = f"fl=#{0x81810100 | (0x2000 if flags else 0):x}"
        return (
            f"  Window #{number} Window{{{handle} u0 {title}}}:\n"
            f"    mDisplayId=0 mSession=Session{{{handle} 2000:u0a10002}}\n"
            f"    mAttrs={{(0,0)(fillxfill) sim={{adjust=resize}} ty=BASE_APPLICATION\n"
            f"      {shown_flags}}}\n"
            f"    mFrame=[{left},{top}][{right},{bottom}] isVisible=true\n"
        )

    def _secure_flag(self) -> str:
        return "SECURE" if self._device.faults.is_armed(FaultKind.SECURE) else ""

    def _title(self) -> str:
        """The title of the window in front: a dialog of the system has words for one."""
        overlay = self._state.overlay if self._state is not None else None
        if overlay is not None and overlay.kind in _TITLES and overlay.subject in APPS:
            return f"{_TITLES[overlay.kind]}: {APPS[overlay.subject].package}"
        return self._device.component

    def _focus(self) -> tuple[str, str]:
        """The lines of the focused window and app."""
        if self._device.faults.strikes(FaultKind.NO_FOCUS, "dumpsys window"):
            return "  mCurrentFocus=null\n", "  mFocusedApp=null\n"
        return (
            f"  mCurrentFocus=Window{{{_FRONT} u0 {self._title()}}}\n",
            f"  mFocusedApp=ActivityRecord{{{_FRONT} u0 {self._device.component} t1}}\n",
        )

    def activity(self, part: str) -> str:
        """`dumpsys activity [activities|top|recents|services|processes]`."""
        component = self._device.component
        record = f"ActivityRecord{{{_FRONT} u0 {component} t1}}"
        resumed = f"    mResumedActivity: {record}\n"
        if self._device.profile.api >= _NAMED_FLAGS_SINCE:
            resumed = f"    topResumedActivity={record}\n  mResumedActivity: {record}\n"
        tasks = [
            f"  * Recent #{number}: Task{{{_FRONT} #{number} type=standard A={name}}}\n"
            for number, name in enumerate(self._activities.tasks())
        ]
        dumps = {
            "activities": (
                "ACTIVITY MANAGER ACTIVITIES (dumpsys activity activities)\n"
                f"Display #0 (activities from top to bottom):\n{resumed}"
                f"  mFocusedApp=ActivityRecord{{{_FRONT} u0 {component} t1}}\n"
            ),
            "top": f"TASK 10{_FRONT[:3]} id=1\n  ACTIVITY {component} {_FRONT} pid=4321\n",
            "recents": "ACTIVITY MANAGER RECENT TASKS (dumpsys activity recents)\n"
            + "".join(tasks),
            "services": "ACTIVITY MANAGER SERVICES (dumpsys activity services)\n  (nothing)\n",
            "processes": "ACTIVITY MANAGER RUNNING PROCESSES (dumpsys activity processes)\n"
            f"  PID #4321: ProcessRecord{{{_FRONT} 4321:{component.partition('/')[0]}/u0a100}}\n",
        }
        dumps["a"] = dumps["activities"]
        return dumps.get(part, dumps["activities"] + dumps["top"] if not part else "")

    def display(self) -> str:
        """`dumpsys display`."""
        displays = self._device.displays
        width, height = displays.size
        panel = displays.physical
        turn = displays.rotation
        on = "ON" if displays.is_awake else "OFF"
        viewports = [
            f"DisplayViewport{{type=INTERNAL, valid=true, isActive={str(number == 0).lower()}, "
            f"displayId={number}, uniqueId='local:{name}', physicalPort={number}, "
            f"orientation={turn}, logicalFrame=Rect(0, 0 - {width}, {height}), "
            f"physicalFrame=Rect(0, 0 - {panel[0]}, {panel[1]}), "
            f"deviceWidth={width}, deviceHeight={height}}}"
            for number, name in enumerate(displays.ids)
        ]
        return (
            "DISPLAY MANAGER (dumpsys display)\n"
            f"  mViewports=[{', '.join(viewports)}]\n"
            f"  mGlobalDisplayState={on}\n  mScreenState={on}\n"
            f"  mCurrentOrientation={turn}\n  orientation={turn}\n"
            f'  mBaseDisplayInfo=DisplayInfo{{"Built-in Screen", displayId 0, real {panel[0]} x '
            f"{panel[1]}, rotation {turn}, state {on}}}\n"
        )

    def surface_flinger(self, words: list[str]) -> str:
        """`dumpsys SurfaceFlinger [--display-id]`."""
        lines = [
            f"Display {name} (HWC display {number}): port={129 + number} pnpId=MCK "
            f'displayName="{"clone" if name == DISPLAY_ID else "clone inner"}"\n'
            for number, name in enumerate(self._device.displays.ids)
        ]
        return "".join(lines) + ("" if "--display-id" in words else "Composition list: none\n")

    def input(self) -> str:
        """`dumpsys input`."""
        displays = self._device.displays
        width, height = displays.size
        return (
            "INPUT MANAGER (dumpsys input)\n"
            "Input Reader State:\n  Device 2: touchscreen\n"
            f"      Viewport INTERNAL: displayId=0, orientation={displays.rotation}, "
            f"logicalFrame=[0, 0, {width}, {height}]\n"
            f"      SurfaceOrientation: {displays.rotation}\n"
            f"      InputDeviceOrientation: Rotation{90 * displays.rotation}\n"
            f"      PhysicalWidth: {width}.000mm\n      PhysicalHeight: {height}.000mm\n"
            f"      SurfaceWidth: {width}px\n      SurfaceHeight: {height}px\n"
            "Input Dispatcher State:\n"
            f"  FocusedApplications:\n    displayId=0, name='{self._device.component}'\n"
            f"  FocusedWindows:\n    displayId=0, name='{_FRONT} {self._title()}'\n"
        )
