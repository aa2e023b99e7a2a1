"""A flat screen keeps its colours and loses shades; a photograph is told apart."""

from __future__ import annotations

import numpy as np
import pytest
from PIL import Image, ImageDraw

from device_runtime.screen_colours import COMMON, MOST, NEAR, SHADE_NEAR, in_few_colours

SIZE = (120, 200)
COMMON_PIXELS = round(COMMON * SIZE[0] * SIZE[1]) + 1


def screen(background="#fdfcff"):
    return Image.new("RGB", SIZE, background)


def colours(picture):
    return {colour for _count, colour in picture.getcolors(1 << 16)}


def farthest(one, other):
    """The largest difference of two pictures in any pixel and channel."""
    return int(np.abs(np.asarray(one, np.int16) - np.asarray(other, np.int16)).max())


def test_a_screen_of_few_colours_stays_as_it_is():
    picture = screen()
    ImageDraw.Draw(picture).rectangle((10, 10, 60, 40), fill="#386a20")
    few = in_few_colours(picture)
    assert few.tobytes() == picture.tobytes()


def test_shades_are_rounded_and_no_pixel_moves_far():
    picture = screen("white")
    for x in range(SIZE[0]):  # each shade in one pixel: the edge of a letter
        picture.putpixel((x, 5), (2 * x, 2 * x, 2 * x))
    few = in_few_colours(picture)
    assert len(colours(few)) < len(colours(picture)) / 10
    assert farthest(few, picture) <= SHADE_NEAR


@pytest.mark.parametrize("lighter", [NEAR + 1, 20])
def test_a_faint_line_and_a_faint_hint_are_kept(lighter):
    picture = screen("white")
    faint = (255 - lighter,) * 3
    ImageDraw.Draw(picture).line((0, 50, COMMON_PIXELS, 50), fill=faint)
    assert faint in colours(in_few_colours(picture))


def test_two_buttons_of_one_tone_and_two_colours_stay_two():
    picture = screen()
    draw = ImageDraw.Draw(picture)
    draw.rectangle((10, 10, 50, 50), fill="#386a20")
    draw.rectangle((60, 10, 100, 50), fill="#6a3820")
    assert {(0x38, 0x6A, 0x20), (0x6A, 0x38, 0x20)} <= colours(in_few_colours(picture))


def photograph(size=SIZE):
    pixels = np.random.default_rng(7).integers(0, 256, (size[1], size[0], 3), np.uint8)
    return Image.fromarray(pixels)


def test_a_photograph_has_no_such_form():
    assert in_few_colours(photograph()) is None


def test_a_photograph_on_a_flat_screen_is_seen():
    picture = screen()
    picture.paste(photograph((40, 40)), (20, 20))
    assert in_few_colours(picture) is None


def test_as_many_colours_as_there_may_be_are_kept():
    picture = screen("black")
    draw = ImageDraw.Draw(picture)
    for place in range(1, MOST):
        draw.line((0, 3 * place, SIZE[0], 3 * place), fill=(0, 0, 4 * place))
        draw.line((0, 3 * place + 1, SIZE[0], 3 * place + 1), fill=(255, 0, 4 * place))
    few = in_few_colours(picture)
    assert few is not None
    assert len(colours(few)) <= MOST
    assert farthest(few, picture) <= NEAR
