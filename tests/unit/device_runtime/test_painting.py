import io
from dataclasses import replace

import pytest
from PIL import Image, PngImagePlugin

from device_runtime.errors import PhoneFaultError
from device_runtime.painting import covered_by, paint_out, safe_picture
from device_runtime.redaction import OWNED_REDACTION, redact
from sync.vocabulary import Element, Observation

FIELD = Element(
    "android.widget.EditText",
    (100, 200, 300, 260),
    text="4111 1111 1111 1111",
    editable=True,
    focused=True,
)
CARD = Observation(400, 800, (FIELD,))


def png(width=400, height=800, **chunks):
    info = PngImagePlugin.PngInfo()
    for name, text in chunks.items():
        info.add_text(name, text)
    data = io.BytesIO()
    Image.new("RGB", (width, height), (255, 0, 0)).save(data, "PNG", pnginfo=info)
    return data.getvalue()


def pixel(data, x, y):
    return Image.open(io.BytesIO(data)).getpixel((x, y))


class Camera:
    """A phone whose screen goes through `screens`, one a look."""

    def __init__(self, *screens):
        self.screens = list(screens)

    def observe(self):
        return self.screens.pop(0) if len(self.screens) > 1 else self.screens[0]

    def screenshot(self):
        return png()


def test_the_whole_box_of_a_secret_is_painted_over_and_nothing_else():
    painted = paint_out(png(), CARD, redact(CARD, OWNED_REDACTION).covered)

    for corner in ((100, 200), (299, 259), (200, 230)):
        assert pixel(painted, *corner) == (96, 96, 96)
    assert pixel(painted, 200, 300) == (255, 0, 0)


def test_a_picture_of_another_size_is_painted_in_the_same_place():
    painted = paint_out(png(200, 400), CARD, [FIELD.bounds])

    assert pixel(painted, 100, 115) == (96, 96, 96)
    assert pixel(painted, 100, 150) == (255, 0, 0)


def test_texts_inside_the_file_do_not_leave_with_it():
    painted = paint_out(png(Comment="hunter22"), CARD, [])

    assert b"hunter22" not in painted


def test_a_keyboard_below_a_secret_field_is_painted_over():
    shown = replace(CARD, keyboard_shown=True)

    painted = paint_out(png(), shown, covered_by(redact(shown, OWNED_REDACTION)))

    assert pixel(painted, 5, 790) == (96, 96, 96)
    assert pixel(painted, 5, 100) == (255, 0, 0)


def test_a_screen_that_moves_on_gives_no_picture():
    screens = [replace(CARD, activity=str(number)) for number in range(9)]

    with pytest.raises(PhoneFaultError, match="kept changing"):
        safe_picture(Camera(*screens), OWNED_REDACTION)


def test_a_screen_that_settles_gives_a_painted_picture():
    painted = safe_picture(Camera(replace(CARD, activity="old"), CARD), OWNED_REDACTION)

    assert pixel(painted, 200, 230) == (96, 96, 96)
