"""A flat screen in few colours, so that it packs well without loss; photographs are told apart.

Most screens are a few colours and the shades between them that smooth letters. Rounding the shades
and keeping the colours leaves crisp words in a third of the bytes of a lossy picture, which spends
its bytes on the edges of letters. The commonest colour that no kept one is near to is kept next,
until every pixel is near to one: no colour of a button, a line or a hint is lost, however faint.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt
    from PIL.Image import Image

MOST: Final = 64
"""Colours of a flat screen; one that needs more holds a photograph, or something like it."""
NEAR: Final = 12
"""How far a common colour may be from what stands for it, of 255, in each channel."""
SHADE_NEAR: Final = 48
"""The same for rare colours: shades at the edges of letters and icons."""
SHADES_MOST: Final = 16_384
"""Different colours of a screen that is looked at closer; a photograph has more."""
COMMON: Final = 0.002
"""A colour of this share of the pixels is common."""


def in_few_colours(picture: Image) -> Image | None:
    """An RGB picture with at most `MOST` colours; None where it has no such form."""
    import numpy as np  # noqa: PLC0415 - only where pictures leave
    from PIL import Image  # noqa: PLC0415

    pixels = np.asarray(picture).astype(np.int32)
    packed = pixels[..., 0] << 16 | pixels[..., 1] << 8 | pixels[..., 2]
    found, where, counts = np.unique(packed, return_inverse=True, return_counts=True)
    if len(found) > SHADES_MOST:
        return None
    colours = np.stack([found >> 16, found >> 8 & 255, found & 255], axis=1)
    near = np.where(counts >= COMMON * packed.size, NEAR, SHADE_NEAR)
    stands_for = _kept(colours, counts, near)
    if stands_for is None:
        return None
    return Image.fromarray(colours[stands_for][where].reshape(pixels.shape).astype(np.uint8))


def _kept(
    colours: npt.NDArray[np.int32], counts: npt.NDArray[np.intp], near: npt.NDArray[np.intp]
) -> npt.NDArray[np.intp] | None:
    """For each colour the row of the one that is kept in its place; None where too many were.

    Args:
        colours: (n, 3), each once.
        counts: (n,) pixels of each.
        near: (n,) how far what stands for it may be.
    """
    import numpy as np  # noqa: PLC0415 - only where pictures leave

    distance = np.full(len(colours), 256)
    stands_for = np.zeros(len(colours), np.intp)
    for _ in range(MOST):
        waiting = np.where(distance > near, counts, 0)
        commonest = waiting.argmax()
        if not waiting[commonest]:
            return stands_for
        to_it = np.abs(colours - colours[commonest]).max(axis=1)
        nearer = to_it < distance
        distance[nearer] = to_it[nearer]
        stands_for[nearer] = commonest
    return stands_for if (distance <= near).all() else None
