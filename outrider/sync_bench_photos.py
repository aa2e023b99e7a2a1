"""The screens of a benchmark with photographs on them, as apps that are not clones show them.

Cards with pictures cover two thirds of each screen: noise whose strength falls with its frequency
as in photographs of the world, with a sensor's grain. The same screen gets the same photographs.
"""

from __future__ import annotations

import io
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Final

from outrider.sync_bench_bytes import Recorded

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt

    from sync.messages import ScreenPicture

CARDS: Final = 3
_MARGIN: Final = 0.04
"""Around each card, of the screen's width."""
_COVERED: Final = 2 / 3
_CONTRAST: Final = 55.0
_GRAIN: Final = 3.0
"""Deviation of a sensor's noise, of 255."""


def photographed(recorded: Recorded, blobs: Path) -> Recorded:
    """The same episodes, their screens with photographs, as the phone sends them.

    Args:
        blobs: where the phone's pictures go.
    """
    from device_runtime.screen_encoder import ScreenForm, encode_screen
    from sync.blob_folder import BlobFolder

    pngs = {digest: with_photographs(png, digest) for digest, png in recorded.pngs.items()}
    folder = BlobFolder(blobs)
    sent: dict[str, ScreenPicture] = {}
    for one in recorded.played:
        for screen in one.screens:
            if screen.screen not in sent:
                data = encode_screen(pngs[screen.screen], ScreenForm())
                blob = folder.put(data)
                sent[screen.screen] = replace(screen, blob=blob, size_bytes=len(data))
    played = tuple(
        replace(one, screens=tuple(sent[screen.screen] for screen in one.screens))
        for one in recorded.played
    )
    return Recorded(played, pngs, recorded.shown)


def with_photographs(png: bytes, seed: str) -> bytes:
    """A screen's PNG with cards of photographs over its lower part; the same for one seed."""
    import numpy as np
    from PIL import Image

    made = io.BytesIO()
    with Image.open(io.BytesIO(png)) as picture:
        screen = picture.convert("RGB")
    random = np.random.default_rng(list(seed.encode()))
    margin = round(_MARGIN * screen.width)
    top = round((1 - _COVERED) * screen.height)
    step = (screen.height - top) // CARDS
    for card in range(CARDS):
        photograph = Image.fromarray(_photograph(random, step - margin, screen.width - 2 * margin))
        screen.paste(photograph, (margin, top + card * step))
    screen.save(made, "PNG", compress_level=1)
    return made.getvalue()


def _photograph(random: np.random.Generator, height: int, width: int) -> npt.NDArray[np.uint8]:
    """uint8 [height, width, 3], a picture with the statistics of a photograph.

    Amplitudes fall with 1 / frequency; the colours share most of what is light and dark.
    Source: Field 1987, Relations between the statistics of natural images and the response
    properties of cortical cells.
    """
    import numpy as np

    down, across = np.fft.fftfreq(height)[:, None], np.fft.rfftfreq(width)[None, :]
    frequency = np.hypot(down, across)
    frequency[0, 0] = np.inf
    noise = random.standard_normal((4, height, width))
    light, *tints = np.fft.irfft2(np.fft.rfft2(noise) / frequency, (height, width))
    mixed = np.stack([light + 0.4 * tint for tint in tints], axis=-1)
    mixed = random.uniform(90, 165, 3) + _CONTRAST * mixed / mixed.std()
    grained = mixed + random.normal(0.0, _GRAIN, mixed.shape)
    return np.asarray(np.clip(np.rint(grained), 0, 255), np.uint8)
