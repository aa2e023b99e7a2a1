"""Six programs of other people as the hands and eyes of a player: none of them knows a clone.

Each reads the screen and acts through its own code alone; the adb program that some of them call is
chosen by the test. Distances are pixels of the screen.
"""

from __future__ import annotations

import subprocess
import xml.etree.ElementTree as ET
from dataclasses import dataclass
from pathlib import Path

DUMP = "/sdcard/window_dump.xml"
HOME, BACK, ENTER, DELETE, MOVE_END = 3, 4, 66, 67, 123


@dataclass(frozen=True)
class Link:
    """How a phone is reached: through which adb program and server, or straight."""

    adb: Path
    server_port: int
    serial: str
    daemon_port: int


def centres(xml: str) -> list[tuple[str, int, int]]:
    """Label and middle of everything in a dump, as a stranger reads it: with ElementTree."""
    found = []
    for node in ET.fromstring(xml).iter("node"):
        numbers = node.get("bounds", "").replace("][", ",").strip("[]").split(",")
        left, top, right, bottom = map(int, numbers)
        label = node.get("text") or node.get("content-desc") or ""
        found.append((label, (left + right) // 2, (top + bottom) // 2))
    return found


class Hands:
    """What every client is asked for; `close` where it holds something open."""

    def close(self):
        """Let go of the phone."""


class AdbProgram(Hands):
    """`adb` itself, one process a command."""

    def __init__(self, link):
        self._prefix = [str(link.adb), "-P", str(link.server_port), "-s", link.serial]

    def screen(self):
        self._run("shell", "uiautomator", "dump")
        return centres(self._run("exec-out", "cat", DUMP))

    def picture(self):
        done = subprocess.run(
            [*self._prefix, "exec-out", "screencap", "-p"], capture_output=True, check=True
        )
        return done.stdout

    def tap(self, x, y):
        self._run("shell", "input", "tap", str(x), str(y))

    def swipe(self, x1, y1, x2, y2):
        self._run("shell", "input", "swipe", *map(str, (x1, y1, x2, y2, 300)))

    def type(self, text):
        self._run("shell", "input", "text", "'" + text.replace(" ", "%s") + "'")

    def key(self, code, times=1):
        self._run("shell", "input", "keyevent", *[str(code)] * times)

    def _run(self, *words):
        done = subprocess.run([*self._prefix, *words], capture_output=True, check=True, text=True)
        return done.stdout


class AdbUtils(Hands):
    """adbutils' device object."""

    def __init__(self, link):
        import adbutils

        self._device = adbutils.AdbClient("127.0.0.1", link.server_port).device(link.serial)

    def screen(self):
        return centres(self._device.dump_hierarchy())

    def picture(self):
        return self._device.screenshot(error_ok=False)

    def tap(self, x, y):
        self._device.click(x, y)

    def swipe(self, x1, y1, x2, y2):
        self._device.swipe(x1, y1, x2, y2, 0.3)

    def type(self, text):
        self._device.send_keys(text)

    def key(self, code, times=1):
        for _ in range(times):
            self._device.keyevent(code)


class AdbShell(Hands):
    """adb-shell: the host's side of the protocol written anew, with no adb server at all."""

    def __init__(self, link):
        from adb_shell.adb_device import AdbDeviceTcp

        self._device = AdbDeviceTcp("127.0.0.1", link.daemon_port, default_transport_timeout_s=9.0)
        assert self._device.connect()

    def screen(self):
        self._device.shell("uiautomator dump")
        return centres(self._device.shell(f"cat {DUMP}"))

    def picture(self):
        return self._device.exec_out("screencap -p", decode=False)

    def tap(self, x, y):
        self._device.shell(f"input tap {x} {y}")

    def swipe(self, x1, y1, x2, y2):
        self._device.shell(f"input swipe {x1} {y1} {x2} {y2} 300")

    def type(self, text):
        self._device.shell("input text '" + text.replace(" ", "%s") + "'")

    def key(self, code, times=1):
        self._device.shell("input keyevent" + f" {code}" * times)

    def close(self):
        self._device.close()


class AgentBridge(Hands):
    """adb-agent-bridge: a tool that language-model agents drive phones with."""

    def __init__(self, link):
        from adb_agent_bridge import Bridge

        self._bridge = Bridge(link.serial)

    def screen(self):
        return [(each.text or each.desc, *each.center) for each in self._bridge.ui()]

    def picture(self):
        return self._bridge.device.exec_out("screencap -p")

    def tap(self, x, y):
        self._bridge.tap((x, y))

    def swipe(self, x1, y1, x2, y2):
        self._bridge.swipe(x1, y1, x2, y2)

    def type(self, text):
        self._bridge.text(text)

    def key(self, code, times=1):
        for _ in range(times):
            self._bridge.key(code)


class AndroidEnv(Hands):
    """android-env: the controller and the call parser that AndroidWorld stands on."""

    def __init__(self, link):
        from android_env.components import adb_call_parser, adb_controller, config_classes
        from android_env.proto import adb_pb2

        self._proto = adb_pb2
        self._controller = adb_controller.AdbController(
            config_classes.AdbControllerConfig(
                adb_path=str(link.adb),
                adb_server_port=link.server_port,
                device_name=link.serial,
                default_timeout=20.0,
            )
        )
        self._parser = adb_call_parser.AdbCallParser(self._controller)

    def screen(self):
        self._ask(generic=self._proto.AdbRequest.GenericRequest(args=["shell", "uiautomator dump"]))
        pulled = self._ask(pull=self._proto.AdbRequest.Pull(path=DUMP))
        return centres(pulled.pull.content.decode())

    def picture(self):
        return self._controller.execute_command(["exec-out", "screencap", "-p"])

    def tap(self, x, y):
        self._ask(tap=self._proto.AdbRequest.Tap(x=x, y=y))

    def swipe(self, x1, y1, x2, y2):
        words = ["shell", "input", "swipe", *map(str, (x1, y1, x2, y2, 300))]
        self._ask(generic=self._proto.AdbRequest.GenericRequest(args=words))

    def type(self, text):
        wanted = self._proto.AdbRequest.InputText(text=text.replace(" ", "%s"))
        self._ask(input_text=wanted)

    def key(self, code, times=1):
        buttons = self._proto.AdbRequest.PressButton.Button
        named = {HOME: buttons.HOME, BACK: buttons.BACK, ENTER: buttons.ENTER}
        for _ in range(times):
            if code in named:
                pressed = self._proto.AdbRequest.PressButton(button=named[code])
                self._ask(press_button=pressed)
            else:
                words = ["shell", "input", "keyevent", str(code)]
                self._ask(generic=self._proto.AdbRequest.GenericRequest(args=words))

    def _ask(self, **request):
        answer = self._parser.parse(self._proto.AdbRequest(**request))
        assert answer.status == self._proto.AdbResponse.Status.OK, answer.error_message
        return answer


class UiAutomator2(Hands):
    """uiautomator2: its server on the phone is the mock's; its client is the real one."""

    def __init__(self, link):
        import adbutils
        import uiautomator2

        client = adbutils.AdbClient("127.0.0.1", link.server_port)
        self._device = uiautomator2.Device(client.device(link.serial))

    def screen(self):
        return centres(self._device.dump_hierarchy())

    def picture(self):
        return self._device.screenshot()

    def tap(self, x, y):
        self._device.click(x, y)

    def swipe(self, x1, y1, x2, y2):
        self._device.swipe(x1, y1, x2, y2, 0.3)

    def type(self, text):
        self._device.send_keys(text)

    def key(self, code, times=1):
        for _ in range(times):
            self._device.press(code)


CLIENTS = {
    "adb": AdbProgram,
    "adbutils": AdbUtils,
    "adb-shell": AdbShell,
    "adb-agent-bridge": AgentBridge,
    "android-env": AndroidEnv,
    "uiautomator2": UiAutomator2,
}
