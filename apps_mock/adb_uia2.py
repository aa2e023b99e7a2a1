"""The server on the phone that uiautomator2's client starts and then asks over HTTP.

The client pushes a file, runs it with `app_process` and keeps that stream open; as long as it is
open, device port 9008 answers `GET /ping` and JSON-RPC at `/jsonrpc/0`.
"""

from __future__ import annotations

import asyncio
import base64
import json
import re
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Final

from apps_mock.adb_calls import Call
from apps_mock.adb_device import MockDevice
from apps_mock.adb_http import Request, Response, serve_http
from apps_mock.adb_input import InputCommand, keycode_of
from apps_mock.adb_selectors import Selector, info_of, matching
from apps_mock.adb_streams import ByteStream
from apps_mock.effects import clipboard_of, copied
from apps_mock.phone_state import Overlay
from device_runtime.ui_tree import Node, parse

MAIN_CLASS: Final = "com.wetest.uia2.Main"
USUAL_PORT: Final = 9008
_NOT_FOUND, _BAD_PARAMETERS, _NO_METHOD = -32002, -32602, -32601
_DELETE: Final = 67
_MOST_DELETED: Final = 10_000
_POLL_S: Final = 0.05
_LONGEST_WAIT_MS: Final = 60_000
_KEYS: Final = {
    "home": 3, "back": 4, "left": 21, "right": 22, "up": 19, "down": 20, "center": 23, "menu": 82,
    "search": 84, "enter": 66, "delete": 67, "del": 67, "recent": 187, "volume_up": 24,
    "volume_down": 25, "volume_mute": 164, "camera": 27, "power": 26,
}  # fmt: skip


class RpcError(Exception):
    """A call that cannot be answered."""

    def __init__(self, code: int, text: str) -> None:
        super().__init__(text)
        self.code = code


class AppProcess:
    """`CLASSPATH=… app_process / MAIN -p PORT`: runs the server until its stream ends."""

    def __init__(self, device: MockDevice) -> None:
        self._device = device

    async def run(self, call: Call) -> int:
        """Run the server that is named; other programs have no code here."""
        words = [each for each in call.arguments if each != "/" and not each.startswith("-D")]
        if MAIN_CLASS not in words:
            call.error(f"Error: Could not find class {' '.join(words)[:200]}")
            return 1
        port = USUAL_PORT
        if "-p" in words and words[-1].isdigit() and len(words[-1]) <= 5:
            port = int(words[-1])
        if port in self._device.listening:
            call.error("java.lang.IllegalStateException: UiAutomationService already registered!")
            return 1
        call.out("[server] INFO: [UiAutomator2Server] Starting Server\n")
        await call.flush()
        self._device.listening.add(port)
        try:
            await asyncio.Event().wait()
        finally:
            self._device.listening.discard(port)
        return 0


class UiautomatorServer:
    """What answers on the port while the program runs."""

    def __init__(self, device: MockDevice, keys: InputCommand) -> None:
        self._device = device
        self._phone = device.phone
        self._keys = keys
        self._finger: tuple[int, int] | None = None
        self._toast: str | None = None
        self._methods: dict[str, Callable[..., object]] = {
            "deviceInfo": self._device_info,
            "dumpWindowHierarchy": self._dump,
            "takeScreenshot": self._screenshot,
            "click": self._click,
            "swipe": self._swipe,
            "drag": self._swipe,
            "swipePoints": self._swipe_points,
            "injectInputEvent": self._inject,
            "pressKey": self._press_key,
            "pressKeyCode": self._press_code,
            "wakeUp": device.wake,
            "sleep": device.sleep,
            "setOrientation": self._orient,
            "freezeRotation": lambda *_: None,
            "openNotification": self._open_shade,
            "openQuickSettings": self._open_shade,
            "getClipboard": self._clipboard,
            "setClipboard": self._set_clipboard,
            "pasteClipboard": lambda: self._phone.type_text(self._clipboard() or ""),
            "clearInputText": lambda: self._phone.press(_DELETE, times=_MOST_DELETED),
            "makeToast": self._make_toast,
            "getLastToast": lambda: self._toast,
            "clearLastToast": lambda: self._make_toast(None),
            "exist": lambda selector: bool(self._found(selector)),
            "count": lambda selector: len(self._found(selector)),
            "objInfo": lambda selector: info_of(self._one(selector)),
            "objInfoOfAllInstances": lambda selector: [info_of(n) for n in self._found(selector)],
            "getText": lambda selector: self._one(selector).text,
            "setText": self._set_text,
            "clearTextField": lambda selector: self._set_text(selector, ""),
        }

    async def serve(self, stream: ByteStream) -> None:
        """Serve one connection."""
        await serve_http(stream, self._answer)

    async def _answer(self, request: Request) -> Response:
        match request.method, request.path:
            case "GET", "/ping":
                return Response(b"pong")
            case "POST", "/jsonrpc/0":
                return await self._call(request.body)
        return Response(b"404 Not Found", "404 Not Found")

    async def _call(self, body: bytes) -> Response:
        try:
            wanted = json.loads(body)
        except (ValueError, RecursionError):
            return Response(b"bad JSON", "400 Bad Request")
        if not isinstance(wanted, dict):
            return Response(b"no JSON object", "400 Bad Request")
        answer: dict[str, object] = {"jsonrpc": "2.0", "id": wanted.get("id", 1)}
        try:
            answer["result"] = await self._result(wanted.get("method"), wanted.get("params"))
        except RpcError as error:
            answer["error"] = {"code": error.code, "message": str(error), "data": str(error)}
        return Response(json.dumps(answer).encode(), kind="application/json")

    async def _result(self, method: object, params: object) -> object:
        given = params if isinstance(params, list) else []
        named = params if isinstance(params, dict) else {}
        if method in {"waitForExists", "waitUntilGone"}:
            return await self._wait(given, is_there=method == "waitForExists")
        run = self._methods.get(method) if isinstance(method, str) else None
        if run is None:
            raise RpcError(_NO_METHOD, f"method not found: {method}")
        try:
            with self._device.in_use():
                self._device.meet_windows(str(method))
                return run(*given, **named)
        except (TypeError, ValueError, AttributeError) as error:
            raise RpcError(_BAD_PARAMETERS, f"bad parameters for {method}: {error}") from error

    async def _wait(self, given: Sequence[Any], *, is_there: bool) -> bool:
        """Wait for a selector to find something, or nothing any more."""
        if not given or not isinstance(given[0], Mapping):
            raise RpcError(_BAD_PARAMETERS, "a selector is missing")
        timeout_ms = given[1] if len(given) > 1 and isinstance(given[1], int) else 0
        loop = asyncio.get_running_loop()
        deadline_s = loop.time() + min(timeout_ms, _LONGEST_WAIT_MS) / 1000
        while True:
            with self._device.in_use():
                if bool(self._found(given[0])) is is_there:
                    return True
            if loop.time() >= deadline_s:
                return False
            await asyncio.sleep(_POLL_S)

    def _device_info(self) -> dict[str, object]:
        width, height = self._device.displays.size
        profile = self._device.profile
        return {
            "currentPackageName": self._phone.foreground()[0],
            "displayWidth": width,
            "displayHeight": height,
            "displayRotation": self._device.displays.rotation,
            "displaySizeDpX": width,
            "displaySizeDpY": height,
            "productName": "clone",
            "screenOn": self._device.displays.is_awake,
            "sdkInt": profile.api,
            "naturalOrientation": self._device.displays.rotation % 2 == 0,
        }

    def _dump(self, *_options: object) -> str:
        turned = f'rotation="{self._device.displays.rotation}"'.encode()
        return self._phone.tree_xml().replace(b'rotation="0"', turned, 1).decode()

    def _screenshot(self, *_options: object) -> str:
        return base64.b64encode(self._phone.screenshot()).decode()

    def _click(self, x: float, y: float, duration_ms: int = 0) -> bool:
        self._phone.touch(int(x), int(y), duration_ms=int(duration_ms))
        return True

    def _swipe(self, x1: float, y1: float, x2: float, y2: float, steps: int = 55) -> bool:
        start, end = (int(x1), int(y1)), (int(x2), int(y2))
        self._phone.swipe(*start, *end, duration_ms=5 * int(steps))
        return True

    def _swipe_points(self, points: Sequence[float], steps: int = 55) -> bool:
        (x1, y1), (x2, y2) = points[:2], points[-2:]
        return self._swipe(x1, y1, x2, y2, steps)

    def _inject(self, action: int, x: float, y: float, _meta: int = 0) -> bool:
        """A finger down (0), up (1) or moved (2)."""
        place = (int(x), int(y))
        if action == 0:
            self._finger = place
        elif action == 1:
            start, self._finger = self._finger or place, None
            if start == place:
                self._phone.touch(*place)
            else:
                self._phone.swipe(*start, *place)
        return True

    def _press_key(self, name: str) -> bool:
        self._keys.press(_KEYS.get(name) or keycode_of(name))
        return True

    def _press_code(self, code: int, _meta: int = 0) -> bool:
        self._keys.press(int(code))
        return True

    def _orient(self, name: str) -> None:
        turns = {"natural": 0, "n": 0, "left": 1, "l": 1, "upsidedown": 2, "u": 2, "right": 3}
        self._device.displays.turn(turns.get(name, 3 if name == "r" else 0))

    def _open_shade(self) -> bool:
        self._device.change(lambda state: state.under(Overlay("shade")))
        return True

    def _clipboard(self) -> str | None:
        state = self._phone.loaded_state()
        return None if state is None else clipboard_of(state)

    def _set_clipboard(self, _label: str | None, text: str) -> None:
        self._device.change(lambda state: copied(state, str(text)))

    def _make_toast(self, text: str | None, _duration_ms: int = 0) -> bool:
        self._toast = text
        return True

    def _found(self, selector: Selector) -> list[Node]:
        if not isinstance(selector, Mapping):
            raise RpcError(_BAD_PARAMETERS, "a selector is an object")
        return matching(parse(self._phone.tree_xml()).roots, selector)

    def _one(self, selector: Selector) -> Node:
        found = self._found(selector)
        if not found:
            shown = re.sub(r"\s+", " ", json.dumps(dict(selector)))[:200]
            raise RpcError(
                _NOT_FOUND, f"androidx.test.uiautomator.UiObjectNotFoundException: {shown}"
            )
        return found[0]

    def _set_text(self, selector: Selector, text: str) -> bool:
        left, top, right, bottom = self._one(selector).bounds
        self._phone.touch((left + right) // 2, (top + bottom) // 2)
        self._phone.press(_DELETE, times=_MOST_DELETED)
        self._phone.type_text(str(text))
        return True
