"""Pictures in files, opened: whatever a phone sends in place of a screen is a fault with a name."""

from __future__ import annotations

import io
from typing import TYPE_CHECKING, Final

from device_runtime.errors import PhoneFaultError

if TYPE_CHECKING:
    from PIL.Image import Image

MOST_PIXELS: Final = 1 << 26
"""Twice the largest screens (7680 x 4320); more is never opened: its pixels would fill memory."""


def opened_picture(png: bytes, *, advice: str) -> Image:
    """The pixels of `png`, RGB.

    Raises: PhoneFaultError: it is no picture of a screen; the text ends with `advice`.
    """
    import PIL.Image  # noqa: PLC0415 - heavy, and most phones never need it

    try:
        with PIL.Image.open(io.BytesIO(png)) as image:
            if image.width * image.height > MOST_PIXELS:
                raise ValueError(f"{image.width} x {image.height} pixels are no screen")  # noqa: TRY301
            return image.convert("RGB")
    except (OSError, ValueError, SyntaxError, PIL.Image.DecompressionBombError) as error:
        # what Pillow says of damaged files, and of huge ones
        raise PhoneFaultError(f"the screenshot cannot be read ({error}): {advice}") from error
