"""A picture of a screen as a blob: smaller, WebP, the same bytes for the same picture.

Screens are flat and full of letters: halved in size and lossy, one takes about an eighth of its
PNG, and its words can still be read. What a policy saw is the PNG; a blob is for people, judges and
learners that shrink pictures anyway. `lossless` keeps every pixel of what is sent.
"""

from __future__ import annotations

import io
from dataclasses import dataclass
from typing import Final

from device_runtime.painting import opened_picture

MEDIA_TYPE: Final = "image/webp"
_EFFORT: Final = 4
"""WebP's method, 0 to 6: more takes longer and saves little on screens."""


@dataclass(frozen=True, slots=True)
class ScreenForm:
    """What pictures of screens become before they are sent.

    Attributes:
        width_px: widest side-to-side; a narrower screen stays as it is. 0 never shrinks.
        quality: of lossy WebP, 0 to 100.
        lossless: keep every pixel instead.
    """

    width_px: int = 540
    quality: int = 50
    lossless: bool = False


def encode_screen(png: bytes, form: ScreenForm) -> bytes:
    """`png` as WebP in a form; deterministic for one version of the library.

    Raises: PhoneFaultError: it is no picture.
    """
    from PIL import Image  # noqa: PLC0415 - only where pictures leave

    picture = opened_picture(png, advice="none is kept")
    if 0 < form.width_px < picture.width:
        height = max(1, round(picture.height * form.width_px / picture.width))
        picture = picture.resize(
            (form.width_px, height), Image.Resampling.LANCZOS, reducing_gap=2.0
        )
    data = io.BytesIO()
    picture.save(
        data, "WEBP", lossless=form.lossless, quality=form.quality, method=_EFFORT, exact=False
    )
    return data.getvalue()
