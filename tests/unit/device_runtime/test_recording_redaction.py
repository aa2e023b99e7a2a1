"""Redaction of recordings: what says whose phone it is does not leave the machine."""

import io

import pytest
from PIL import Image

from device_runtime.phone_questions import (
    ACTIVITIES,
    PROPERTIES,
    SCREENSHOT,
    SIZE,
    TREE,
    Answer,
    properties_of,
)
from device_runtime.recording_redaction import HIDDEN, redacted

PROPERTY_LINES = (
    "[ro.serialno]: [R58N12ABCDE]\n[ro.product.model]: [Pixel 8]\n[ro.boot.serialno]: [R58N12ABCDE]"
    "\n[gsm.operator.alpha]: [Some Carrier]\n[net.hostname]: [anna-phone]\n"
    "[ro.build.version.sdk]: [34]\n[sys.boot_completed]: [1]\n[persist.sys.locale]: [de-DE]\n"
    "[persist.sys.timezone]: [Europe/Berlin]\n"
)


def text_of(text):
    return redacted({"dumpsys window": Answer(text.encode())})["dumpsys window"].stdout.decode()


def dump(*nodes):
    return f'<?xml version="1.0"?><hierarchy rotation="0">{"".join(nodes)}</hierarchy>'.encode()


def node(text, *, password="false", bounds="[0,0][100,100]"):
    return (
        f'<node index="0" text="{text}" class="android.widget.EditText" package="p" '
        f'content-desc="" password="{password}" bounds="{bounds}" />'
    )


def test_properties_are_kept_by_name():
    kept = redacted({PROPERTIES: Answer(PROPERTY_LINES.encode())})
    assert properties_of(kept) == {
        "ro.product.model": "Pixel 8",
        "ro.build.version.sdk": "34",
        "sys.boot_completed": "1",
        "persist.sys.locale": "de-DE",
    }


def test_the_serial_number_goes_from_every_answer():
    answers = {
        PROPERTIES: Answer(PROPERTY_LINES.encode()),
        "dumpsys display": Answer(b"name r58n12abcde", b"R58N12ABCDE"),
    }
    kept = redacted(answers)["dumpsys display"]
    assert (kept.stdout.decode(), kept.stderr.decode()) == (f"name {HIDDEN}", HIDDEN)


@pytest.mark.parametrize(
    "secret",
    [
        "anna.ashton+x@mail.example.org",
        "02:42:ac:11:00:02",
        "192.168.1.44",
        "fe80::1ff:fe23:4567:890a",
        "2001:db8:85a3:8d3:1319:8a2e:370:7348",
        "+49 171 2345678",
        "490154203237518",
    ],
)
def test_numbers_and_addresses_of_people_and_devices_are_hidden(secret):
    assert text_of(f"a {secret} z") == f"a {HIDDEN} z"


@pytest.mark.parametrize(
    ("text", "kept"),
    [
        (
            "Account {name=anna, type=com.example}",
            "Account {name=" + HIDDEN + ", type=com.example}",
        ),
        ('SSID: "My House", freq', "SSID:" + HIDDEN + ", freq"),
        ("act=VIEW dat=content://sms/5 cmp=a/.B", f"act=VIEW dat={HIDDEN} cmp=a/.B"),
        ("tel:0301234567 next", f"{HIDDEN} next"),
    ],
)
def test_names_of_accounts_networks_and_links_are_hidden(text, kept):
    assert text_of(text) == kept


@pytest.mark.parametrize(
    "text",
    [
        "mCurrentFocus=Window{1c0de5e u0 com.a.b/com.a.b.MainActivity}",
        "Display 4619827259835644672 (HWC display 0): port=0",
        "logicalFrame=Rect(0, 0 - 1080, 2400), deviceWidth=1080",
        "  level: 87\n  temperature: 251\n",
        "123456789012345",
    ],
)
def test_what_the_runtime_reads_stays(text):
    assert text_of(text) == text


def test_words_of_the_owner_are_hidden_in_any_case():
    kept = redacted({ACTIVITIES: Answer(b"Meyer, MEYER and meyers")}, words=["Meyer", "x"])
    assert kept[ACTIVITIES].stdout.decode() == f"{HIDDEN}, {HIDDEN} and {HIDDEN}s"


def picture():
    data = io.BytesIO()
    Image.new("RGB", (400, 200), (255, 255, 255)).save(data, "PNG")
    return data.getvalue()


SECRET_SCREEN = {
    SIZE: Answer(b"Physical size: 400x200\n"),
    TREE: Answer(
        file=dump(
            node("hunter22", password="true", bounds="[100,40][300,80]"),
            node("Sign in", bounds="[0,150][400,190]"),
        )
    ),
}


def test_secrets_on_the_screen_go_and_are_painted_over():
    kept = redacted({**SECRET_SCREEN, SCREENSHOT: Answer(picture())})
    assert b"hunter22" not in (kept[TREE].file or b"")
    assert b"Sign in" in (kept[TREE].file or b"")
    with Image.open(io.BytesIO(kept[SCREENSHOT].stdout)) as image:
        assert image.getpixel((200, 60)) != (255, 255, 255)
        assert image.getpixel((200, 170)) == (255, 255, 255)


@pytest.mark.parametrize(
    "answers",
    [
        {**SECRET_SCREEN, SCREENSHOT: Answer(b"\x89PNG")},
        {TREE: SECRET_SCREEN[TREE], SCREENSHOT: Answer(picture())},
    ],
)
def test_a_picture_that_cannot_be_painted_is_not_kept(answers):
    assert SCREENSHOT not in redacted(answers)


def test_a_screen_without_secrets_is_kept_as_it_is():
    tree = dump(node("Wi-Fi &amp; network"), node("10:30"))
    answers = {TREE: Answer(file=tree), SCREENSHOT: Answer(b"\x89PNG 192.168.1.44")}
    assert redacted(answers) == answers


def test_an_angle_bracket_in_a_label_hides_no_secret_from_us():
    odd = node("a > b").replace('content-desc=""', 'content-desc="me@home.example.com"')
    kept = redacted({TREE: Answer(file=dump(odd))})[TREE].file or b""
    assert b"home.example" not in kept
    assert b"a > b" in kept


def test_a_damaged_dump_loses_what_looks_like_a_secret():
    damaged = b'<hierarchy><node text="me@home.example.com" /><node text="pw" password="true" text='
    kept = redacted({TREE: Answer(file=damaged)})[TREE].file
    assert kept is not None
    assert b"home.example" not in kept


def test_the_recordings_own_answers_are_not_changed():
    answers = {"id": Answer(b"192.168.1.1")}
    redacted(answers)
    assert answers == {"id": Answer(b"192.168.1.1")}
