"""Pictures become blobs off the path of the step, once, and only painted ones."""

from __future__ import annotations

import io
from dataclasses import replace
from itertools import count

import pytest
from PIL import Image, ImageDraw

from device_runtime.agent import EpisodeMachine, EpisodeOrigin
from device_runtime.conditions import Conditions
from device_runtime.errors import PhoneFaultError, PhoneLostError
from device_runtime.picture_keeper import PictureKeeper
from device_runtime.ports import ResetOutcome
from device_runtime.screen_encoder import ScreenForm, encode_screen
from device_runtime.screen_keeper import ScreenKeeper, screens_of
from device_runtime.screen_permit import READ_EVERY_S, ScreenPermit, ScreensWhen
from device_runtime.scripted import TEMPLATE, FunctionPolicy, ScriptedPhone
from device_runtime.seats import SeatPhone, Seats
from sync.blob_folder import BlobFolder
from sync.clock import ManualClock
from sync.text_policy_io import picture_digest
from sync.vocabulary import (
    Assignment,
    AssignmentId,
    DeviceId,
    Element,
    Observation,
    finish,
    wait,
)
from tests.pictures import png_header
from tests.wire import episode


def png(colour="white", size=(108, 240)):
    """A screen with a button of a colour."""
    image = Image.new("RGB", size, "white")
    ImageDraw.Draw(image).rectangle((10, 20, 90, 60), fill=colour)
    data = io.BytesIO()
    image.save(data, "PNG")
    return data.getvalue()


@pytest.fixture
def keeper(tmp_path):
    keeper = ScreenKeeper(tmp_path / "blobs", ScreenForm(width_px=54))
    yield keeper
    keeper.close()


def shown(*screens):
    """An episode whose steps saw these."""
    seen = episode(1, steps=len(screens))
    steps = tuple(
        replace(step, observation=replace(step.observation, screenshot=screen))
        for step, screen in zip(seen.steps, screens, strict=True)
    )
    return replace(seen, steps=steps)


def test_a_picture_becomes_a_smaller_webp_under_the_digest_of_its_screen(keeper, tmp_path):
    screen = keeper.keep(png("red"))
    (kept,) = keeper.collect(shown(screen))
    assert kept.screen == screen == picture_digest(png("red"))
    data = BlobFolder(tmp_path / "blobs").read(kept.blob)
    with Image.open(io.BytesIO(data)) as image:
        assert (image.format, image.size) == ("WEBP", (54, 120))
        red, green, blue = image.convert("RGB").crop((20, 15, 30, 25)).resize((1, 1)).tobytes()
    assert red > 200
    assert max(green, blue) < 60
    assert kept.size_bytes == len(data)


def test_the_same_screen_is_encoded_once_however_often_it_is_seen(keeper):
    screens = [keeper.keep(png("red")) for _ in range(5)]
    kept = keeper.collect(shown(*screens))
    keeper.keep(png("red"))
    assert len(kept) == 1
    assert (keeper.counters.kept, keeper.counters.repeated) == (1, 5)


def test_a_picture_whose_file_the_quota_took_is_encoded_again(keeper, tmp_path):
    screen = keeper.keep(png("red"))
    (kept,) = keeper.collect(shown(screen))
    BlobFolder(tmp_path / "blobs").discard(kept.blob)
    assert keeper.collect(shown(screen)) == ()
    keeper.keep(png("red"))
    assert keeper.collect(shown(screen)) == (kept,)


def test_what_is_no_picture_and_what_cannot_be_written_is_counted(keeper, tmp_path):
    broken = keeper.keep(b"no picture")
    assert keeper.collect(shown(broken)) == ()
    (tmp_path / "blobs").write_text("in the way")
    unwritten = keeper.keep(png("blue"))
    assert keeper.collect(shown(unwritten)) == ()
    assert keeper.counters.broken == 2


@pytest.mark.parametrize(
    "picture",
    [png(size=(8, 20_000)), png_header(30_000, 30_000)],
    ids=["longer than a WebP can be", "larger than a screen can be"],
)
def test_a_picture_of_an_impossible_size_is_counted_and_the_next_is_kept(keeper, picture):
    screen = keeper.keep(picture)
    assert keeper.collect(shown(screen)) == ()
    assert keeper.counters.broken == 1
    assert keeper.collect(shown(keeper.keep(png("red"))))


def test_pictures_that_come_too_fast_are_left_out_and_counted(keeper, monkeypatch):
    monkeypatch.setattr("device_runtime.screen_keeper.WAITING_BYTES", len(png("red")) - 1)
    screen = keeper.keep(png("red"))
    assert keeper.collect(shown(screen)) == ()
    assert keeper.counters.skipped == 1


def test_closing_twice_ends_the_thread(keeper):
    keeper.keep(png("red"))
    keeper.close()
    keeper.close()


def test_lossless_keeps_every_pixel_and_no_width_shrinks_nothing():
    data = encode_screen(png("red"), ScreenForm(width_px=0, lossless=True, quality=100))
    with Image.open(io.BytesIO(data)) as got, Image.open(io.BytesIO(png("red"))) as sent:
        assert got.convert("RGB").tobytes() == sent.tobytes()


def test_what_is_no_picture_cannot_be_encoded():
    with pytest.raises(PhoneFaultError, match="cannot be read"):
        encode_screen(b"\x89PNG\r\n\x1a\nbroken", ScreenForm())


def test_screens_are_named_once_in_order():
    assert screens_of(shown("b", "a", "b", None)) == ("b", "a")


@pytest.mark.parametrize(
    ("when", "charging", "wifi", "holds"),
    [
        ("always", None, None, True),
        ("charging", True, False, True),
        ("charging", None, True, False),
        ("wifi", True, True, True),
        ("wifi", True, None, False),
        ("charging_or_wifi", False, True, True),
        ("charging_or_wifi", None, None, False),
        ("charging_and_wifi", True, True, True),
        ("charging_and_wifi", True, False, False),
    ],
)
def test_power_and_network_must_be_as_the_owner_wants_them(when, charging, wifi, holds):
    permit = ScreenPermit(
        ScreensWhen(when),
        is_on=lambda: True,
        read_conditions=lambda: Conditions(charging=charging, wifi=wifi),
        clock=ManualClock(),
    )
    permit.refresh()
    assert permit.may_send() is holds
    assert permit.may_take()


@pytest.mark.requirement("OR-BLB-2")
def test_a_setting_that_was_switched_off_stops_taking_and_sending_at_once():
    on = [True]
    permit = ScreenPermit(
        ScreensWhen.ALWAYS,
        is_on=lambda: on[0],
        read_conditions=Conditions,
        clock=ManualClock(),
    )
    assert permit.may_send()
    on[0] = False
    assert not permit.may_send()
    assert not permit.may_take()


def test_a_phone_that_cannot_be_asked_sends_nothing_until_it_can():
    clock = ManualClock()
    answers = iter([Conditions(wifi=True), PhoneLostError("away"), Conditions(wifi=True)])

    def read():
        answer = next(answers)
        if isinstance(answer, Exception):
            raise answer
        return answer

    permit = ScreenPermit(ScreensWhen.WIFI, is_on=lambda: True, read_conditions=read, clock=clock)
    said = []
    for _ in range(3):
        permit.refresh()
        permit.refresh()
        said.append(permit.may_send())
        clock.advance(READ_EVERY_S)
    assert said == [True, False, True]


class Screened(ScriptedPhone):
    """A scripted phone with pixels."""

    picture = png("green")

    def screenshot(self):
        return self.picture


class Unreadable(Screened):
    picture = png("green")[:60]


def two_steps(request):
    return wait() if not request.earlier else finish()


def played(tmp_path, *, is_on=True, seats=1, policy=None, make=Screened):
    """Episodes on scripted phones, and the keeper that watched them."""
    keeper = ScreenKeeper(tmp_path / "blobs", ScreenForm(), is_on=lambda: is_on)
    policy = policy or FunctionPolicy(two_steps)
    numbers = count()
    table = Seats(
        [SeatPhone(phone, phone) for phone in (make() for _ in range(seats))],
        lambda _assignment, _phone: policy,
        device_id=DeviceId("phone-1"),
        clock=ManualClock(),
        new_id=lambda: f"e-{next(numbers)}",
        screens=keeper,
    )
    for number in range(seats):
        table.start(Assignment(AssignmentId(f"a-{number}"), template=TEMPLATE, step_budget=4))
    ended = []
    while table.busy:
        ended += table.turn()
    table.close()
    return ended, keeper


def test_an_episode_names_the_blobs_of_the_screens_that_its_steps_saw(tmp_path):
    (one,), keeper = played(tmp_path)
    named = {step.observation.screenshot for step in one.episode.steps}
    assert {picture.screen for picture in one.screens} == named
    assert None not in named
    assert all(BlobFolder(tmp_path / "blobs").exists(picture.blob) for picture in one.screens)
    assert keeper.counters.late == 0


def test_a_picture_that_cannot_be_read_costs_no_episode(tmp_path):
    (one,), _keeper = played(tmp_path, make=Unreadable)
    assert one.screens == ()
    assert one.episode.end_reason == "finish"


def test_where_pictures_are_switched_off_none_is_taken(tmp_path):
    (one,), keeper = played(tmp_path, is_on=False)
    assert one.screens == ()
    assert {step.observation.screenshot for step in one.episode.steps} == {None}
    assert keeper.counters.kept == 0
    assert not (tmp_path / "blobs").exists()


def test_watched_seats_of_one_policy_still_share_batches(tmp_path):
    asked = []

    class Counting(FunctionPolicy):
        def decide(self, requests):
            asked.append(len(requests))
            return super().decide(requests)

    ended, _keeper = played(tmp_path, seats=3, policy=Counting(two_steps))
    assert len(ended) == 3
    assert asked == [3, 3]


def test_what_is_kept_is_the_painted_picture_and_never_the_phones_own(tmp_path):
    secret = replace(
        Observation(108, 240),
        elements=(
            Element("android.widget.EditText", (10, 20, 90, 60), text="hunter2!", password=True),
        ),
    )
    keeper = ScreenKeeper(tmp_path / "blobs", ScreenForm(width_px=0, lossless=True, quality=100))
    machine = EpisodeMachine(
        Assignment(AssignmentId("a"), template=TEMPLATE, step_budget=4),
        EpisodeOrigin(DeviceId("phone-1")),
        clock=ManualClock(),
        new_id=lambda: "e",
    )
    machine.begin(ResetOutcome("a goal"))
    request = machine.see(secret, png("red"))
    PictureKeeper(FunctionPolicy(lambda _request: finish()), keeper).decide([request])
    (kept,) = keeper.collect(shown(request.observation.screenshot))
    with Image.open(io.BytesIO(BlobFolder(tmp_path / "blobs").read(kept.blob))) as image:
        assert image.convert("RGB").getpixel((50, 40)) == (96, 96, 96)
    keeper.close()
