from __future__ import annotations

import numpy as np
import pytest
from PIL import Image

from apps_mock.raster import paint
from apps_mock.shapes import Box, Icon, Picture, Shape, Veil, Words

PLACE = (20, 20, 220, 120)
SHAPES = [
    Box(PLACE, "#ff0000", 16),
    Box(PLACE, "", 16, "#ff0000", 4),
    Veil(PLACE, 0.5),
    Icon("star", (20, 20, 100, 100), "#ff0000"),
    Words("Words", PLACE, 40, "#ff0000"),
    Picture("Lake", PLACE, 20),
]


def painted(*shapes: Shape, scale: float = 1.0) -> Image.Image:
    image = Image.new("RGB", (240, 140), "#ffffff")
    paint(image, shapes, scale)
    return image


def outside(image: Image.Image) -> set[tuple[int, ...]]:
    frame = [(0, 0, 240, 19), (0, 121, 240, 140), (0, 0, 19, 140), (221, 0, 240, 140)]
    strips = [np.asarray(image.crop(box)).reshape(-1, 3) for box in frame]
    return {tuple(colour) for colour in np.unique(np.concatenate(strips), axis=0).tolist()}


@pytest.mark.parametrize("shape", SHAPES, ids=lambda shape: type(shape).__name__)
def test_a_shape_marks_its_place_and_nothing_else(shape):
    image = painted(shape)

    assert outside(image) == {(255, 255, 255)}
    assert len(image.getcolors(1 << 20)) > 1


@pytest.mark.parametrize("shape", SHAPES, ids=lambda shape: type(shape).__name__)
def test_painting_again_gives_the_same_pixels(shape):
    group = (shape,)
    images = [Image.new("RGB", (240, 140), "#ffffff") for _ in range(2)]
    for image in images:
        paint(image, group, 1.0)

    assert images[0].tobytes() == images[1].tobytes() == painted(shape).tobytes()


def test_many_shapes_on_one_ground_look_as_they_do_one_by_one():
    ground = Box((0, 0, 240, 140), "#eeeeee")
    keys = [Box((x, 30, x + 10, 50), "#123456", 3) for x in range(10, 220, 12)]

    together = painted(ground, *keys)
    apart = painted(ground)
    for key in keys:
        paint(apart, (key,), 1.0)

    assert together.tobytes() == apart.tobytes()


def test_a_shape_in_half_the_scale_takes_half_the_room():
    image = painted(Box((0, 0, 200, 100), "#000000"), scale=0.5)

    assert image.getpixel((99, 49)) == (0, 0, 0)
    assert image.getpixel((101, 49)) == (255, 255, 255)


def test_words_are_cut_where_their_clip_ends():
    cut = painted(Words("Words", PLACE, 40, "#000000", clip=(20, 20, 60, 120)))
    whole = painted(Words("Words", PLACE, 40, "#000000"))

    assert cut.crop((20, 20, 60, 120)).tobytes() == whole.crop((20, 20, 60, 120)).tobytes()
    assert cut.crop((61, 0, 240, 140)).getcolors() == [(179 * 140, (255, 255, 255))]


@pytest.mark.parametrize("bounds", [(50, 50, 50, 80), (80, 50, 40, 90)])
def test_shapes_without_area_paint_nothing(bounds):
    assert painted(Box(bounds, "#000000", 8, "#ff0000", 2)).getcolors() == [
        (240 * 140, (255, 255, 255))
    ]


def test_a_mirrored_icon_looks_the_other_way():
    straight, mirrored = (
        painted(Icon("back", (20, 20, 100, 100), "#000000", mirrored)) for mirrored in (False, True)
    )

    box = (20, 20, 100, 100)
    flipped = straight.crop(box).transpose(Image.Transpose.FLIP_LEFT_RIGHT)
    assert flipped.tobytes() == mirrored.crop(box).tobytes()
