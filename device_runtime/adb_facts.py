"""What a phone is: model, version, language, sizes and displays, asked once in one command.

Two spaces of pixels. `input` and the view hierarchy use the size that `wm size` calls Override
where there is one; a screenshot may come in the panel's own. A display has two names as well: a
small number for `input -d`, and the panel's long id for `screencap -d`; both are kept.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Final

from device_runtime.adb_screenshot import Screenshot
from device_runtime.errors import PhoneFaultError
from device_runtime.ports import PhoneInfo

FACTS_COMMAND: Final = (
    "getprop ro.product.model; getprop ro.build.version.release; getprop ro.build.version.sdk; "
    "getprop persist.sys.locale; getprop ro.product.locale; wm size; wm density; "
    "dumpsys SurfaceFlinger --display-id; dumpsys display | grep DisplayViewport; echo"
)

Size = tuple[int, int]

_SIZE = re.compile(r"(Physical|Override) size: ([1-9]\d{0,4})x([1-9]\d{0,4})\b")
_DENSITY = re.compile(r"(Physical|Override) density: (\d{1,5})")
_PANEL = re.compile(r"^Display (\d+) \(HWC display \d+\)", re.MULTILINE)
_VIEWPORT = re.compile(
    r"DisplayViewport\{[^{}]*?displayId=(\d{1,9}), uniqueId='local:(\d+)'[^{}]*\}"
)
_ASPECT_TOLERANCE: Final = 0.02


@dataclass(frozen=True, slots=True)
class PhoneFacts:
    """What a phone said of itself.

    Attributes:
        size: of the space that touches and trees use, in the phone's natural position.
        panel_size: of the panel itself.
        panels: long ids of the panels, as `screencap -d` takes them.
        panel_by_display: which panel a logical display is on, as far as the phone said.
    """

    model: str
    android_version: str
    sdk: str
    locale: str
    size: Size
    panel_size: Size
    density: str = ""
    panels: tuple[str, ...] = ()
    panel_by_display: tuple[tuple[int, str], ...] = ()

    def panel_of(self, display: int) -> str:
        """The panel that a logical display is on; the first one where the phone did not say."""
        known = dict(self.panel_by_display)
        return known.get(display, self.panels[0] if self.panels else "")

    def info(self, serial: str, warnings: tuple[str, ...] = ()) -> PhoneInfo:
        """The facts as the port says them."""
        extra = {
            "sdk": self.sdk,
            "locale": self.locale,
            "density": self.density,
            "panel": f"{self.panel_size[0]}x{self.panel_size[1]}",
            "displays": ",".join(f"{number}={panel}" for number, panel in self.panel_by_display)
            or ",".join(self.panels),
            "warnings": "; ".join(warnings),
        }
        return PhoneInfo(
            serial=serial,
            model=self.model,
            android_version=self.android_version,
            width_px=self.size[0],
            height_px=self.size[1],
            extra={name: value for name, value in extra.items() if value},
        )


def read_facts(answer: str) -> PhoneFacts:
    """The facts in a phone's answer to `FACTS_COMMAND`.

    Raises: PhoneFaultError: it names no screen size.
    """
    lines = [line.strip() for line in answer.splitlines()]
    sizes = {kind: (int(width), int(height)) for kind, width, height in _SIZE.findall(answer)}
    if len(lines) < 5 or not sizes:
        raise PhoneFaultError("it does not say how large its screen is; check `wm size`")
    densities = dict(_DENSITY.findall(answer))
    viewports = {int(number): panel for number, panel in _VIEWPORT.findall(answer)}
    return PhoneFacts(
        model=lines[0],
        android_version=lines[1],
        sdk=lines[2],
        locale=lines[3] or lines[4],
        size=sizes.get("Override") or sizes["Physical"],
        panel_size=sizes.get("Physical") or sizes["Override"],
        density=densities.get("Override") or densities.get("Physical", ""),
        panels=tuple(dict.fromkeys(_PANEL.findall(answer))),
        panel_by_display=tuple(sorted(viewports.items())),
    )


def turned(size: Size, rotation: int) -> Size:
    """A size in the natural position as it is after quarter turns."""
    return size if rotation % 2 == 0 else (size[1], size[0])


def fitted(shot: Screenshot, size: Size, rotation: int, panel: Size) -> Screenshot | None:
    """The picture upright, where it can be one of a screen of that size; else None.

    Args:
        size: of the upright screen, in touches' pixels.
        panel: the panel's own size, in its natural position.
    """
    taken = (shot.width_px, shot.height_px)
    if _is_like(taken, size) or taken == turned(panel, rotation):
        return shot
    if rotation % 2 and (_is_like(taken, turned(size, 1)) or taken == panel):
        return shot.upright(rotation)
    return None


def _is_like(one: Size, other: Size) -> bool:
    """Whether two sizes have the same shape."""
    return abs(one[0] * other[1] / (one[1] * other[0]) - 1) <= _ASPECT_TOLERANCE
