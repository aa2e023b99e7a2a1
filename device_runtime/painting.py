"""Pictures of a screen without its secrets: what a slot stands for in the tree is painted over.

A picture and a tree are never of quite the same moment. So the screen is looked at before and after
the picture, the secrets of both looks are covered, and a screen that moved on meanwhile gives no
picture at all.
"""

from __future__ import annotations

import io
from collections.abc import Iterable, Mapping
from typing import Final

from device_runtime.errors import PhoneFaultError
from device_runtime.pictures import opened_picture
from device_runtime.ports import Phone, Policy
from device_runtime.redaction import NO_SLOTS, Redacted, redact
from device_runtime.secret_patterns import RedactionRules
from sync.history import same_screen
from sync.vocabulary import Observation, Rect

_PAINT: Final = (96, 96, 96)
_MARGIN_PX: Final = 4
_KEYBOARD: Final = 0.5
"""A keyboard shows what is typed in its suggestions: it lies below this share of the height."""
_TRIES: Final = 3


def safe_picture(
    phone: Phone,
    rules: RedactionRules,
    known: Mapping[str, str] = NO_SLOTS,
    *,
    goal: str = "",
) -> bytes:
    """A PNG of the phone's screen in which every secret is painted over.

    Args:
        known: the episode's slots so far.
        goal: numbers and addresses that it names are no secrets.
    Raises: PhoneFaultError: the screen kept changing; nothing of it may leave the phone.
    """
    seen, png = steady_picture(phone)
    if png is None:
        raise PhoneFaultError("the screen kept changing while its picture was taken: none is kept")
    return paint_out(png, seen, covered_by(redact(seen, rules, known, goal=goal)))


def steady_picture(phone: Phone) -> tuple[Observation, bytes | None]:
    """What the phone shows, and a PNG of just that; None where the screen kept changing.

    The picture has its secrets: paint them over before anybody sees it.
    """
    before = phone.observe()
    for _ in range(_TRIES):
        png = phone.screenshot()
        after = phone.observe()
        if same_screen(before, after):
            return after, png
        before = after
    return before, None


def glance(phone: Phone, policy: Policy) -> tuple[Observation, bytes | None]:
    """What the phone shows, as `steady_picture` does where `policy` wants a picture."""
    if getattr(policy, "wants_picture", False):  # most policies need not know of pictures
        return steady_picture(phone)
    return phone.observe(), None


def covered_by(redacted: Redacted) -> tuple[Rect, ...]:
    """Where a picture of a redacted screen must be painted over, the keyboard included."""
    observation = redacted.observation
    if not observation.keyboard_shown:
        return redacted.covered
    is_typed = any(one.focused and one.bounds in redacted.covered for one in observation.elements)
    if not is_typed:
        return redacted.covered
    top = round(_KEYBOARD * observation.height_px)
    return (*redacted.covered, (0, top, observation.width_px, observation.height_px))


def paint_out(png: bytes, observation: Observation, covered: Iterable[Rect]) -> bytes:
    """`png` with rectangles of the observation's screen painted over; text chunks are dropped.

    Raises: PhoneFaultError: it is no picture.
    """
    from PIL import ImageDraw  # noqa: PLC0415 - only where a picture leaves a phone

    rectangles = tuple(covered)
    picture = opened_picture(png, advice="take another")
    scale_x = picture.width / max(observation.width_px, 1)
    scale_y = picture.height / max(observation.height_px, 1)
    draw = ImageDraw.Draw(picture)
    for left, top, right, bottom in rectangles:
        if right > left and bottom > top:
            draw.rectangle(
                (
                    int(left * scale_x) - _MARGIN_PX,
                    int(top * scale_y) - _MARGIN_PX,
                    int(right * scale_x) + _MARGIN_PX,
                    int(bottom * scale_y) + _MARGIN_PX,
                ),
                fill=_PAINT,
            )
    data = io.BytesIO()
    picture.save(data, "PNG")
    return data.getvalue()
