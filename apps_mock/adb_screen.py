"""`uiautomator` and `screencap` on the mock phone, with what goes wrong with them on phones."""

from __future__ import annotations

import struct
from io import BytesIO
from typing import Final

from apps_mock.adb_calls import Call
from apps_mock.adb_device import MockDevice
from apps_mock.adb_display import black_png
from apps_mock.adb_faults import FaultKind
from apps_mock.adb_options import options_of
from apps_mock.errors import CommandUsageError

DUMP_PATH: Final = "/sdcard/window_dump.xml"
NULL_ROOT: Final = "ERROR: null root node returned by UiTestAutomationBridge."
NO_IDLE: Final = "ERROR: could not get idle state."
SEVERAL_DISPLAYS: Final = (
    "[Warning] Multiple displays were found, but no display id was specified! Defaulting to the "
    "first display found, however this default is not guaranteed to be consistent across captures. "
    "A display id should be specified.\n"
    "A display ID can be specified with the [-d display-id] option.\n"
    'See "dumpsys SurfaceFlinger --display-id" for valid display IDs.\n'
)
TERMINALS: Final = frozenset({"/dev/tty", "/dev/stdout", "/proc/self/fd/1"})
_KILLED: Final = 137
_RGBA_8888: Final = 1
_SRGB: Final = 1


class ScreenCommands:
    """What reads the screen of one phone."""

    def __init__(self, device: MockDevice) -> None:
        self._device = device
        self._last_dump = b""

    async def uiautomator(self, call: Call) -> int:
        """`uiautomator dump [--compressed] [FILE]`; most failures are texts with code 0."""
        options = options_of(
            call.arguments, long_flags=["--compressed", "--windows"], long_valued=["--display-id"]
        )
        if not options.rest or options.rest[0] != "dump":
            raise CommandUsageError("only 'dump [--compressed] [FILE]' is supported")
        path = options.rest[1] if len(options.rest) > 1 else DUMP_PATH
        with self._device.in_use():
            self._device.meet_windows(call.shown)
            refusal = self._refusal(call)
            if refusal is not None:
                return refusal
            dump = self._dump(call)
        if path in TERMINALS:
            call.terminal.write(dump)
        else:
            self._device.files.write(call.path(path), dump)
        call.out(f"UI hierchary dumped to: {path}\n")
        return 0

    def _refusal(self, call: Call) -> int | None:
        """The exit code where there is no dump; None where there is one."""
        strikes = self._device.faults.strikes
        if strikes(FaultKind.NO_IDLE, call.shown):
            call.error(NO_IDLE)
            return 0
        if strikes(FaultKind.NULL_ROOT, call.shown) or not self._device.displays.is_awake:
            call.error(NULL_ROOT)
            return 0
        if strikes(FaultKind.DUMP_KILLED, call.shown):
            call.error("Killed")
            return _KILLED
        return None

    def _dump(self, call: Call) -> bytes:
        strikes = self._device.faults.strikes
        if self._last_dump and strikes(FaultKind.STALE_FILE, call.shown):
            return self._last_dump
        turned = f'rotation="{self._device.displays.rotation}"'.encode()
        dump = self._device.phone.tree_xml().replace(b'rotation="0"', turned, 1)
        self._last_dump = dump
        if strikes(FaultKind.EMPTY_TREE, call.shown):
            start = dump.find(b"<hierarchy")
            return dump[:start] + b"<hierarchy " + turned + b"></hierarchy>"
        if strikes(FaultKind.BAD_XML, call.shown):
            noisy = dump.replace(b'text="', b'text="\x01\xed\xa0\xbc&#xd83c;', 1)
            return b"WARNING: linker: unused DT entry\n" + noisy + b"\nkilled after work\n"
        struck = strikes(FaultKind.CUT_XML, call.shown)
        if struck:
            return dump[: len(dump) // 2 if struck.amount is None else struck.amount]
        return dump

    async def screencap(self, call: Call) -> int:
        """`screencap [-p] [-d ID] [FILE]`: a PNG, or the picture's bytes behind a short head."""
        options = options_of(call.arguments, flags="p", valued="d")
        path = options.rest[0] if options.rest else None
        is_png = "p" in options.flags or (path is not None and path.endswith(".png"))
        wanted = options.values.get("d")
        with self._device.in_use():
            self._device.meet_windows(call.shown)
            displays = self._device.displays
            if wanted is not None and wanted not in {*displays.ids, "0"}:
                return call.fail(f"Invalid display ID: {wanted}")
            is_on = wanted in {None, "0", displays.ids[0]}
            image = self._image(call, is_on=is_on, is_png=is_png)
            prefix = self._prefix(call, is_chosen=wanted is not None)
        if path is None:
            call.out(prefix + image)
        else:
            self._device.files.write(call.path(path), image)
            call.out(prefix)
        return 0

    def _image(self, call: Call, *, is_on: bool, is_png: bool) -> bytes:
        faults, displays = self._device.faults, self._device.displays
        is_black = not (is_on and displays.is_awake)
        if faults.strikes(FaultKind.SECURE, call.shown) or is_black:
            image = black_png(displays.size)
        else:
            image = self._device.phone.screenshot()
        if not is_png:
            image = raw_picture(image, self._device.profile.api)
        struck = faults.strikes(FaultKind.TRUNCATED_PNG, call.shown)
        if struck is None:
            return image
        size = faults.number(8, len(image) - 13) if struck.amount is None else struck.amount
        return image[: min(size, len(image) - 13)]

    def _prefix(self, call: Call, *, is_chosen: bool) -> bytes:
        """The warning that phones with several displays print, on standard output."""
        has_several = len(self._device.displays.ids) > 1
        if is_chosen:
            return b""
        if has_several or self._device.faults.strikes(FaultKind.WARNING_PREFIX, call.shown):
            return SEVERAL_DISPLAYS.encode()
        return b""


def raw_picture(png: bytes, api: int) -> bytes:
    """A picture as `screencap` writes it without -p: size, format and colours, then RGBA bytes.

    Before Android 9 (API 28) the head does not name the colours.
    """
    from PIL import Image  # noqa: PLC0415 - Pillow loads only when somebody looks

    with Image.open(BytesIO(png)) as picture:
        pixels = picture.convert("RGBA")
    head = (pixels.width, pixels.height, _RGBA_8888, _SRGB)[: 4 if api >= 28 else 3]
    return struct.pack(f"<{len(head)}I", *head) + pixels.tobytes()
