"""Pictures of screens: what is blank, and which way is up."""

from __future__ import annotations

import io

import pytest
from PIL import Image, ImageDraw

from device_runtime.adb_screenshot import read_screenshot
from device_runtime.errors import PhoneFaultError
from tests.pictures import png_header


def shot_of(image):
    data = io.BytesIO()
    image.save(data, "PNG")
    return read_screenshot(data.getvalue())


@pytest.fixture
def black():
    return Image.new("RGBA", (360, 800), (0, 0, 0, 255))


@pytest.mark.parametrize("colour", ["black", "white", "#202124"])
def test_picture_of_one_colour_is_blank(colour):
    assert shot_of(Image.new("RGB", (360, 800), colour)).is_blank()


def test_bars_at_the_edges_do_not_make_a_picture_less_blank(black):
    draw = ImageDraw.Draw(black)
    draw.rectangle((0, 0, 360, 40), fill="white")
    draw.text((10, 10), "12:00", fill="black")
    draw.rectangle((120, 780, 240, 785), fill="white")

    assert shot_of(black).is_blank()


def test_one_small_thing_in_the_middle_makes_a_picture_not_blank(black):
    ImageDraw.Draw(black).point((180, 400), fill="white")

    assert not shot_of(black).is_blank()


def test_large_picture_is_not_even_opened(black):
    noise = Image.effect_noise((360, 800), 80)

    assert not shot_of(noise).is_blank()


def test_what_stood_before_the_picture_is_kept_in_one_line(black):
    data = io.BytesIO()
    black.save(data, "PNG")

    shot = read_screenshot(b"[Warning] two\r\ndisplays\n" + data.getvalue())

    assert shot.printed == "[Warning] two displays"
    assert (shot.width_px, shot.height_px) == (360, 800)


@pytest.mark.parametrize(("rotation", "corner"), [(0, (0, 0)), (1, (0, 359)), (2, (359, 799))])
def test_turning_upright_turns_against_the_display(black, rotation, corner):
    black.putpixel((0, 0), (255, 0, 0, 255))

    upright = shot_of(black).upright(rotation)

    with Image.open(io.BytesIO(upright.png)) as image:
        assert image.convert("RGB").getpixel(corner) == (255, 0, 0)
        assert image.size == (upright.width_px, upright.height_px)


def test_equal_pictures_have_equal_names(black):
    assert shot_of(black).digest == shot_of(black).digest
    assert len(shot_of(black).digest) == 64


@pytest.mark.parametrize("size", [(30_000, 30_000), (9_000, 9_000), (360, 800)])
@pytest.mark.parametrize("look", [lambda shot: shot.is_blank(), lambda shot: shot.upright(1)])
def test_what_is_too_large_or_has_no_pixels_is_a_fault_of_the_phone(size, look):
    shot = read_screenshot(png_header(*size))

    with pytest.raises(PhoneFaultError, match="cannot be read"):
        look(shot)
