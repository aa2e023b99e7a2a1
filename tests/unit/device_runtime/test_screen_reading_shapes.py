"""Boxes, lines between rows, icons and veils in drawn pictures."""

from __future__ import annotations

import pytest
from PIL import Image, ImageDraw

from device_runtime.screen_reading_shapes import IconKind, shapes_in

np = pytest.importorskip("numpy")


def picture(draw, *, size=(720, 1280), background="white"):
    image = Image.new("RGB", size, background)
    draw(ImageDraw.Draw(image))
    return np.asarray(image)[:, :, ::-1].copy()


@pytest.fixture(autouse=True)
def _need_opencv(require):
    from importlib.util import find_spec

    require(find_spec("cv2"), "the extra ocr is not installed")


@pytest.mark.parametrize("style", [{"fill": "navy"}, {"outline": "black", "width": 3}])
def test_box_is_found_whether_it_is_filled_or_framed(style):
    shapes = shapes_in(picture(lambda draw: draw.rectangle((100, 200, 600, 300), **style)), [])

    assert len(shapes.boxes) == 1
    assert np.abs(np.array(shapes.boxes[0]) - (100, 200, 600, 300)).max() <= 5


def test_writing_is_no_hole_in_its_box():
    def draw(draw):
        draw.rectangle((100, 200, 600, 300), fill="navy")
        for x in range(150, 550, 6):
            draw.line((x, 220, x, 280), fill="white", width=2)

    shapes = shapes_in(picture(draw), [(140, 210, 560, 290)])

    assert len(shapes.boxes) == 1
    assert shapes.icons == ()


def test_large_picture_gives_places_in_its_own_pixels():
    def draw(draw):
        draw.rectangle((200, 400, 1200, 600), fill="navy")

    (box,) = shapes_in(picture(draw, size=(1440, 3120)), []).boxes

    assert np.abs(np.array(box) - (200, 400, 1200, 600)).max() <= 6


def test_thin_lines_across_the_screen_part_rows():
    def draw(draw):
        draw.line((32, 400, 720, 400), fill="gray", width=2)
        draw.line((32, 500, 720, 500), fill="gray", width=2)
        draw.line((32, 600, 200, 600), fill="gray", width=2)

    assert np.abs(np.array(shapes_in(picture(draw), []).dividers) - (399, 499)).max() <= 2


@pytest.mark.parametrize("is_ticked", [False, True])
def test_tick_box_is_a_square_that_is_empty_or_not(is_ticked):
    def draw(draw):
        draw.rectangle((600, 300, 632, 332), outline="black", width=3)
        if is_ticked:
            draw.line((606, 316, 614, 324, 626, 308), fill="black", width=3)

    (icon,) = shapes_in(picture(draw), []).icons

    assert (icon.kind, icon.is_on) == (IconKind.SQUARE, is_ticked)


@pytest.mark.parametrize("is_on", [False, True])
def test_switch_is_a_pill_that_leans_to_its_side(is_on):
    def draw(draw):
        draw.rounded_rectangle((560, 300, 640, 344), 22, outline="black", width=3)
        x = 604 if is_on else 568
        draw.ellipse((x, 306, x + 30, 338), fill="navy")
        draw.ellipse((x + 8, 314, x + 22, 330), fill="white")

    icons = [each for each in shapes_in(picture(draw), []).icons if each.kind is IconKind.PILL]

    assert [each.is_on for each in icons] == [is_on]


def test_dialog_over_a_veil_is_in_front():
    def draw(draw):
        draw.rectangle((60, 400, 660, 800), fill="white")

    assert shapes_in(picture(draw, background=(110, 110, 110)), []).front is not None
    assert shapes_in(picture(draw, background=(230, 230, 230)), []).front is None


def test_picture_of_one_colour_holds_nothing():
    shapes = shapes_in(picture(lambda _: None, background="black"), [])

    assert (shapes.boxes, shapes.dividers, shapes.icons, shapes.front) == ((), (), (), None)
