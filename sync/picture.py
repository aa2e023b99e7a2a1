"""Pictures of screens as numbers: the same on the phone and where it is learnt from.

Only the reading of a PNG differs (it loses nothing); shrinking and normalising is this module.
"""

from __future__ import annotations

from dataclasses import asdict, dataclass
from functools import lru_cache
from typing import TYPE_CHECKING, Any, Final

import numpy as np

from sync.errors import RejectedError

if TYPE_CHECKING:
    import numpy.typing as npt

_SUPPORT: Final = 2.0
_SHARPNESS: Final = -0.5


@dataclass(frozen=True, slots=True)
class PictureForm:
    """What a network wants a picture to be.

    Attributes:
        height, width: in pixels.
        mean, std: of each channel (red, green, blue), in 0..1.
    """

    height: int
    width: int
    mean: tuple[float, float, float]
    std: tuple[float, float, float]

    def as_dict(self) -> dict[str, Any]:
        """The fields by name, as JSON has them."""
        return asdict(self)

    @staticmethod
    def read(fields: Any) -> PictureForm:  # Any: JSON
        """The form in `fields`.

        Raises: RejectedError: they describe none ("picture_form").
        """
        try:
            height, width = int(fields["height"]), int(fields["width"])
            mean, std = (tuple(map(float, fields[name])) for name in ("mean", "std"))
        except (KeyError, TypeError, ValueError) as error:
            raise _no_form() from error
        if min(height, width) < 1 or len(mean) != 3 or len(std) != 3 or min(std) <= 0.0:
            raise _no_form()
        return PictureForm(height, width, mean, std)


def _no_form() -> RejectedError:
    return RejectedError(
        "a picture's form is height, width, mean and std of three channels: save it again",
        reason="picture_form",
    )


def pixels_of(rgb: npt.NDArray[np.uint8], form: PictureForm) -> npt.NDArray[np.float32]:
    """`rgb` as a network reads it: float32 [3, height, width].

    Args:
        rgb: uint8 [H, W, 3], a picture of any size.
    """
    assert rgb.ndim == 3
    assert rgb.shape[2] == 3
    height, width = rgb.shape[:2]
    by_column = rgb.transpose(1, 0, 2).reshape(width, -1).astype(np.float32)
    narrow = _rounded(_filter(width, form.width) @ by_column).reshape(form.width, height, 3)
    by_row = narrow.transpose(1, 0, 2).reshape(height, -1)
    small = _rounded(_filter(height, form.height) @ by_row).reshape(form.height, form.width, 3)
    shrunk = small.transpose(2, 0, 1)
    mean, std = (np.asarray(one, dtype=np.float32)[:, None, None] for one in (form.mean, form.std))
    return np.ascontiguousarray((shrunk / np.float32(255.0) - mean) / std, dtype=np.float32)


def _rounded(values: npt.NDArray[np.float32]) -> npt.NDArray[np.float32]:
    """To whole steps of 0..255, as pictures are kept between the two directions."""
    return np.clip(np.rint(values), 0.0, 255.0).astype(np.float32)


@lru_cache(maxsize=16)
def _filter(source: int, target: int) -> npt.NDArray[np.float32]:
    """float32 [target, source]: bicubic weights, widened where the picture shrinks.

    Source: Keys 1981, Cubic convolution interpolation for digital image processing, a = -1/2.
    """
    scale = source / target
    widened = max(scale, 1.0)
    centres = (np.arange(target) + 0.5) * scale
    x = np.abs((np.arange(source)[None, :] + 0.5 - centres[:, None]) / widened)
    near = ((_SHARPNESS + 2.0) * x - (_SHARPNESS + 3.0)) * x * x + 1.0
    far = (((x - 5.0) * x + 8.0) * x - 4.0) * _SHARPNESS
    weights = np.where(x < 1.0, near, np.where(x < _SUPPORT, far, 0.0))
    return np.asarray(weights / weights.sum(axis=1, keepdims=True), dtype=np.float32)
