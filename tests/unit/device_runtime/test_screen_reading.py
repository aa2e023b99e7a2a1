"""Pictures turned into elements by the real reader, and their merging with a tree."""

from __future__ import annotations

import io
from importlib.util import find_spec

import pytest
from PIL import Image, ImageDraw, ImageFont

from device_runtime.errors import PhoneFaultError, ReaderError
from device_runtime.picture_pixels import fit
from device_runtime.screen_reading import ScreenReader, merge, picture_of
from device_runtime.screen_reading_phone import picture_size
from device_runtime.screen_reading_text import LineReader, require_reader
from sync.vocabulary import Element

TEXT = "android.widget.TextView"


@pytest.fixture(scope="module")
def shared_reader():
    return ScreenReader()


@pytest.fixture
def reader(require, shared_reader):
    require(find_spec("rapidocr"), "the extra ocr is not installed")
    return shared_reader


def png_of(image: Image.Image) -> bytes:
    stream = io.BytesIO()
    image.save(stream, "PNG")
    return stream.getvalue()


@pytest.fixture(scope="module")
def screen() -> bytes:
    image = Image.new("RGB", (480, 800), "white")
    draw, font = ImageDraw.Draw(image), ImageFont.load_default(size=28)
    draw.text((40, 160), "Ada Lovelace", fill="black", font=font)
    draw.rounded_rectangle((30, 300, 450, 360), 8, outline="gray", width=2)
    draw.text((44, 312), "Search contacts", fill="gray", font=font)
    draw.rounded_rectangle((30, 420, 450, 480), 28, fill="navy")
    draw.text((210, 432), "Save", fill="white", font=font)
    return png_of(image)


def test_picture_becomes_texts_fields_and_buttons(reader, screen):
    elements = reader.read(screen, package="org.example")

    found = {each.text: (each.class_name.rpartition(".")[2], each.editable) for each in elements}
    assert found == {
        "Ada Lovelace": ("TextView", False),
        "Search contacts": ("EditText", True),
        "Save": ("Button", False),
    }
    assert all(each.package == "org.example" for each in elements)


def test_same_picture_is_read_the_same_by_every_reader(reader, screen):
    assert ScreenReader().read(screen) == reader.read(screen) == reader.read(screen)


def test_picture_without_anything_has_no_elements(reader):
    assert reader.read(png_of(Image.new("RGB", (480, 800), "black"))) == ()


@pytest.mark.parametrize("size", [(1, 1), (3, 900), (900, 2)])
def test_picture_of_an_odd_size_is_read(reader, size):
    assert reader.read(png_of(Image.new("RGB", size, "white"))) == ()


@pytest.mark.parametrize("data", [b"", b"nothing", b"\x89PNG\r\n\x1a\n" + b"\0" * 40])
def test_bytes_that_are_no_picture_are_a_fault_of_the_phone(data):
    with pytest.raises(PhoneFaultError, match="screenshot"):
        picture_of(data)


def test_picture_that_was_cut_off_is_a_fault_of_the_phone(screen):
    with pytest.raises(PhoneFaultError, match="cannot be read"):
        picture_of(screen[: len(screen) // 2])


def test_reader_that_is_not_installed_says_what_to_install(monkeypatch):
    monkeypatch.setattr("device_runtime.screen_reading_text.find_spec", lambda _: None)

    with pytest.raises(ReaderError, match=r"pip install 'outrider\[ocr\]'"):
        require_reader()
    with pytest.raises(ReaderError, match="extra ocr"):
        LineReader().lines(picture_of(png_of(Image.new("RGB", (400, 400)))))


def test_text_of_the_tree_wins_where_both_say_something():
    tree = [Element(TEXT, (0, 100, 400, 150), text="Ada Lovelace")]
    read = [
        Element(TEXT, (10, 110, 120, 140), text="Ada Lovelace"),
        Element(TEXT, (10, 300, 120, 330), text="On the canvas", clickable=True),
    ]

    merged = merge(tree, read)

    assert [each.text for each in merged] == ["Ada Lovelace", "On the canvas"]


def test_text_in_a_web_view_is_added_to_its_tree():
    tree = [Element("android.webkit.WebView", (0, 0, 400, 800), clickable=True)]
    read = [
        Element(TEXT, (10, 110, 120, 140), text="Hello"),
        Element("android.widget.ImageButton", (300, 10, 348, 58), clickable=True),
    ]

    assert merge(tree, read) == (*tree, read[0])


def test_icon_of_the_tree_is_not_added_again():
    tree = [
        Element("android.widget.ImageButton", (300, 10, 348, 58), description="New", clickable=True)
    ]

    assert merge(
        tree, [Element("android.widget.ImageButton", (306, 16, 342, 52), clickable=True)]
    ) == tuple(tree)


def test_merging_with_an_empty_tree_keeps_what_was_read():
    read = (
        Element(TEXT, (0, 0, 9, 9), text="a"),
        Element("x.ScrollView", (0, 9, 9, 99), scrollable=True),
    )

    assert merge((), read) == read
    assert merge(read, ()) == read


def test_elements_are_fitted_to_a_screen_of_another_size():
    (element,) = fit([Element(TEXT, (10, 20, 30, 40))], (100, 200), (200, 600))

    assert element.bounds == (20, 60, 60, 120)


def test_picture_states_its_size(screen):
    assert picture_size(screen) == (480, 800)
    with pytest.raises(PhoneFaultError):
        picture_size(b"no picture")
