"""One look at a phone's screen in one round trip: view hierarchy, windows, and the picture.

The parts come between markers that no screen can forge, from a dump file of a name that was never
used before, so that a dump which an earlier command left behind is never read. A part counts only
with proof that it is whole: the "dumped to" line and the XML's end tag, the next marker, the PNG's
IEND chunk; and the shell's exit code proves the whole.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from device_runtime.adb_screenshot import Screenshot, read_screenshot
from device_runtime.adb_state import (
    KEYBOARD_LINES,
    POWER_LINES,
    WINDOW_LINES,
    ScreenState,
    read_state,
)
from device_runtime.errors import HierarchyError, PhoneFaultError, TreeUnavailableError
from device_runtime.ui_tree import Hierarchy, parse

STATE_COMMAND: Final = (
    f"dumpsys window | grep -E '{WINDOW_LINES}'; "
    f"dumpsys input_method | grep {KEYBOARD_LINES}; "
    f"dumpsys power | grep -E '{POWER_LINES}'"
)
"""What is asked about a screen beside its tree and its picture."""
FOLDER: Final = "/data/local/tmp"

_KILLED: Final = 137
_REASONS: Final = (
    ("already registered", "busy"),
    ("could not get idle state", "not_idle"),
    ("null root node", "null_root"),
    ("Killed", "killed"),
)
_ADVICE: Final = {
    "busy": "another program reads its screen (Appium, uiautomator2, a screen reader): end that",
    "not_idle": "something on it moves all the time",
}


@dataclass(frozen=True, slots=True)
class Look:
    """What one look brought.

    Attributes:
        hierarchy: the view hierarchy; None where the phone gave none, and `tree_fault` says why.
        screenshot: None where none was wanted.
    """

    state: ScreenState
    hierarchy: Hierarchy | None = None
    tree_fault: TreeUnavailableError | None = None
    screenshot: Screenshot | None = None


@dataclass(frozen=True, slots=True)
class LookRequest:
    """A look that can be asked for once.

    Args:
        name: never used before on this phone, of letters and digits.
        with_screenshot: whether the picture is wanted too.
        screencap: the command that takes it.
        display: the logical display.
    """

    name: str
    with_screenshot: bool = False
    screencap: str = "screencap -p"
    display: int = 0

    @property
    def command(self) -> str:
        """What to run in the phone's shell."""
        path, mark = self._path, self._mark
        command = (
            f"rm -f {path}; uiautomator dump {path} 2>&1; echo {mark}$?; cat {path} 2>&1; echo; "
            f"echo {mark}; {STATE_COMMAND}; rm -f {path}; echo {mark}"
        )
        if self.with_screenshot:
            command += f"; {self.screencap} 2>/dev/null; echo; echo {mark}"
        return command

    def read(self, answer: bytes) -> Look:
        """What a phone answered to `command`.

        Raises: PhoneFaultError: a part is missing, or the picture is not whole.
        """
        mark = self._mark.encode()
        parts = answer.split(mark)
        if len(parts) != (5 if self.with_screenshot else 4) or parts[-1].strip():
            raise PhoneFaultError(f"the look has {len(parts) - 1} of its parts; look again")
        said, dump, state = (part.decode(errors="replace") for part in parts[:3])
        code, _, _ = dump.partition("\n")
        hierarchy, fault = self._hierarchy(said, parts[1][len(code) :], code.strip())
        screenshot = read_screenshot(parts[3]) if self.with_screenshot else None
        return Look(
            state=read_state(state, self.display),
            hierarchy=hierarchy,
            tree_fault=fault,
            screenshot=screenshot,
        )

    def _hierarchy(
        self, said: str, dump: bytes, code: str
    ) -> tuple[Hierarchy | None, TreeUnavailableError | None]:
        if f"dumped to: {self._path}" not in said:
            return None, tree_fault(said, code)
        try:
            return parse(dump), None
        except HierarchyError as error:
            return None, TreeUnavailableError(f"damaged dump: {error}", reason="damaged")

    @property
    def _path(self) -> str:
        return f"{FOLDER}/outrider-{self.name}.xml"

    @property
    def _mark(self) -> str:
        return f"--{self.name}--"


def tree_fault(said: str, code: str) -> TreeUnavailableError:
    """Why there is no dump, from what the dumper said and the code that it ended with."""
    text = " ".join(said.split())[:200]
    reason = next((reason for words, reason in _REASONS if words in said), "crashed")
    if code == str(_KILLED):
        reason = "killed"
    advice = _ADVICE.get(reason)
    shown = f"{text or 'no word'} (code {code or '?'})"
    return TreeUnavailableError(
        f"could not dump its screen: {shown}{'; ' + advice if advice else ''}", reason=reason
    )
