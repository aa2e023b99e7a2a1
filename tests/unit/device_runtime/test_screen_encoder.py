"""A screen's picture becomes small, stays readable, and is the same bytes each time."""

from __future__ import annotations

import io

import numpy as np
import pytest
from PIL import Image, ImageDraw, ImageFont

from device_runtime.screen_colours import SHADE_NEAR
from device_runtime.screen_encoder import ScreenForm, encode_screen


def png_of(picture):
    data = io.BytesIO()
    picture.save(data, "PNG")
    return data.getvalue()


def screen(size=(1080, 2400), photograph=0):
    """Some lines of words; below them noise of so many pixels a side, as a photograph has it."""
    picture = Image.new("RGB", size, "#fdfcff")
    draw = ImageDraw.Draw(picture)
    for line in range(10):
        draw.text((60, 80 + 150 * line), f"Setting {line}", "#1b1b1f", ImageFont.load_default(48))
    if photograph:
        shape = (photograph // 8, photograph // 8, 3)
        noise = Image.fromarray(np.random.default_rng(3).integers(0, 256, shape, np.uint8))
        picture.paste(noise.resize((photograph, photograph)), (60, 1700))
    return picture


def decoded(data):
    with Image.open(io.BytesIO(data)) as picture:
        assert picture.format == "WEBP"
        return picture.convert("RGB")


@pytest.mark.parametrize(
    ("size", "sent"),
    [
        ((1080, 2400), (270, 600)),
        ((2400, 1080), (600, 270)),
        ((1440, 3120), (288, 624)),
        ((720, 1600), (240, 534)),
        ((828, 1792), (276, 598)),
        ((480, 960), (270, 540)),
        ((540, 960), (270, 480)),
        ((240, 640), (240, 640)),
    ],
)
def test_the_shorter_side_is_shrunk(size, sent):
    picture = Image.new("RGB", size, "white")
    assert decoded(encode_screen(png_of(picture), ScreenForm())).size == sent


def test_a_flat_screen_is_a_twentieth_of_its_png_and_keeps_every_shade_nearly():
    picture = screen()
    data = encode_screen(png_of(picture), ScreenForm())
    sent = np.asarray(decoded(data), np.int16)
    shrunk = np.asarray(picture.reduce(4), np.int16)
    assert len(data) < len(png_of(picture)) / 12
    assert np.abs(sent - shrunk).max() <= SHADE_NEAR
    assert tuple(sent[-1, -1]) == (0xFD, 0xFC, 0xFF)


def test_a_flat_screen_is_smaller_than_its_lossy_picture():
    shrunk, lossy = screen().reduce(4), io.BytesIO()
    shrunk.save(lossy, "WEBP", quality=ScreenForm().quality, method=4)
    assert len(encode_screen(png_of(screen()), ScreenForm())) < len(lossy.getvalue()) / 2


def test_a_screen_with_a_photograph_is_lossy():
    png = png_of(screen(photograph=600))
    coarse = encode_screen(png, ScreenForm(quality=10))
    assert len(coarse) < len(encode_screen(png, ScreenForm(quality=80)))


def test_one_picture_is_the_same_bytes_each_time():
    png = png_of(screen())
    assert encode_screen(png, ScreenForm()) == encode_screen(png, ScreenForm())
