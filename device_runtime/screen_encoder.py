"""A picture of a screen as a blob: smaller, WebP, the same bytes for the same picture.

Screens are flat and full of letters: a quarter as wide and in few colours, one takes about a
thirtieth of its PNG, and its words stay crisp. A screen with a photograph is lossy instead. What
a policy saw is the PNG; a blob is for people, judges and learners that shrink pictures anyway.
`lossless` keeps every pixel of what is sent.
"""

from __future__ import annotations

import io
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from device_runtime.errors import PhoneFaultError
from device_runtime.pictures import opened_picture
from device_runtime.screen_colours import in_few_colours

if TYPE_CHECKING:
    from PIL.Image import Image

MEDIA_TYPE: Final = "image/webp"
_EFFORT: Final = 4
"""WebP's method, 0 to 6: more takes longer and saves little on screens."""
_WHOLE_FROM: Final = 3
"""Pictures that shrink by so much shrink by a whole number: equal letters stay equal, and pack
well."""
_FLAT_EFFORT: Final = 80
"""How hard a flat screen is packed, 0 to 100: more takes longer and saves nothing."""


@dataclass(frozen=True, slots=True)
class ScreenForm:
    """What pictures of screens become before they are sent.

    Attributes:
        width_px: of the shorter side; from three times as much on, the nearest whole part of it. A
            smaller screen stays as it is, and 0 never shrinks. A quarter of 1080: what is small to
            read on a phone can still be read.
        quality: of the lossy WebP of a screen that does not go into few colours, 0 to 100.
        lossless: keep every pixel instead.
    """

    width_px: int = 270
    quality: int = 50
    lossless: bool = False


def encode_screen(png: bytes, form: ScreenForm) -> bytes:
    """`png` as WebP in a form; deterministic for one version of the library.

    Raises: PhoneFaultError: it is no picture, or longer than a WebP can be.
    """
    picture = _shrunk(opened_picture(png, advice="none is kept"), form.width_px)
    if form.lossless:
        return _webp(picture, quality=form.quality, lossless=True)
    flat = in_few_colours(picture)
    if flat is None:
        return _webp(picture, quality=form.quality, lossless=False)
    return _webp(flat, quality=_FLAT_EFFORT, lossless=True)


def _shrunk(picture: Image, width_px: int) -> Image:
    """`picture` with a shorter side of about `width_px`."""
    from PIL import Image  # noqa: PLC0415 - only where pictures leave

    shorter = min(picture.size)
    if not 0 < width_px < shorter:
        return picture
    times = round(shorter / width_px)
    if times >= _WHOLE_FROM or shorter == times * width_px:
        return picture.reduce(times)
    width, height = (max(1, round(side * width_px / shorter)) for side in picture.size)
    return picture.resize((width, height), Image.Resampling.HAMMING, reducing_gap=2.0)


def _webp(picture: Image, *, quality: int, lossless: bool) -> bytes:
    data = io.BytesIO()
    try:
        picture.save(data, "WEBP", lossless=lossless, quality=quality, method=_EFFORT, exact=False)
    except ValueError as error:
        raise PhoneFaultError(f"a screen is no WebP ({error}): none is kept") from error
    return data.getvalue()
