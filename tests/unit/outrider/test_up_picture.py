"""The picture of `outrider up`: what stands in it, and that it fits the terminal."""

from __future__ import annotations

import io
import json
from pathlib import Path

import pytest

from outrider.children import ChildEvent
from outrider.output import Output
from outrider.up_picture import Picture, drawn, final
from outrider.up_view import view

SIZES = [(80, 23), (120, 39)]


def figure(n=14, success=0.5, low=0.2, high=0.8):
    return {"n": n, "success": success, "ci95": [low, high], "env_errors": 0}


def gate(number, *, promoted=True):
    return ChildEvent(
        "cloud",
        {
            "event": "gate",
            "release_id": f"r{number:04d}",
            "promoted": promoted,
            "validation": figure(success=number / 100),
            "reason": "as it says",
        },
    )


def step(index, action="tap 'Add'"):
    fields = {"event": "step", "template": "tickets_orders", "policy": "r0009"}
    return ChildEvent("phone", {**fields, "index": index, "action": action})


def installed(device, number):
    fields = {"event": "installed", "device_id": device, "version": number}
    return ChildEvent("farm", {**fields, "release_id": f"r{number:04d}"})


def summary(**changed):
    return {
        "phase": "finished",
        "test": {
            "app": "tickets",
            "before": figure(success=0.25),
            "after": figure(success=0.75),
            "lexical": figure(success=0.125),
        },
        "old_apps": {"before": figure(), "after": figure()},
        "releases": {"published": 30, "reached": {"farm-1": 30, "phone-1": 29}},
        "episodes": {"logged": 9, "acknowledged": 8, "stored": 7, "lost": 0},
        "curve": [
            {"release_id": f"r{n:04d}", "state": "promoted", "env_steps": n, **figure()}
            for n in range(1, 31)
        ],
        "env_errors": 0,
        "env_steps": 1234,
        "learner_cpu_s": 12.0,
        "active_s": 61.0,
        "notes": [],
        "valid": True,
        **changed,
    }


@pytest.fixture
def picture(tmp_path):
    """A loop in which much has happened."""
    made = Picture(folder=tmp_path, env_steps=2000)
    roles = enumerate(("broker", "cloud", "farm", "learner", "phone"))
    for number, role in roles:
        fields = {"event": "started", "pid": 10_000 + number, "port": number}
        made.take(ChildEvent(role, fields))
    progress = {"event": "progress", "phase": "learn", "active_s": 75.0, "episodes": 12}
    made.take(ChildEvent("cloud", {**progress, "env_steps": 1000, "env_errors": 0}))
    for number in range(1, 31):
        made.take(gate(number, promoted=number != 7))
    made.take(installed("farm-1", 1))
    made.take(installed("farm-1", 2))
    made.take(installed("phone-1", 2))
    for index in range(20):
        made.take(step(index))
    return made


def text(lines):
    return "\n".join(line.plain for line in lines)


@pytest.mark.parametrize(("width", "height"), SIZES)
@pytest.mark.parametrize("fancy", [True, False])
def test_live_picture_fits_and_says_how_far_it_is(picture, width, height, fancy):
    lines = drawn(picture, width=width, height=height, fancy=fancy)
    shown = text(lines)
    assert len(lines) <= height
    assert "01:15  learn  the fleet learns by itself" in shown
    assert "stored 12" in shown
    assert "1,000 of 2,000" in shown
    assert "farm-1 r0002 (2 installed)" in shown
    assert "r0001 promoted" in shown
    assert "r0030 promoted" in shown
    assert max(len(line.plain) for line in lines if "│" not in line.plain) <= width
    assert fancy or shown.isascii()


@pytest.mark.parametrize(("width", "height"), SIZES)
def test_final_picture_fits_with_curve_figures_and_steps(picture, width, height):
    picture.take_summary(summary())
    lines = final(picture, width=width, height=height, fancy=True)
    shown = text(lines)
    assert len(lines) <= height
    assert "r0001 promoted" in shown
    assert "r0030 promoted" in shown
    assert "before learning  n 14     25 %  [20,  80]" in shown
    assert "after learning   n 14     75 %" in shown
    assert "lexical policy" in shown
    assert "old apps after" in shown
    assert "20  tap 'Add'" in shown
    assert "figures valid" in shown


def test_phase_show_brings_the_steps_of_the_newest_episode_only(picture):
    picture.take(ChildEvent("cloud", {"event": "phase", "phase": "show"}))
    picture.take(step(0, "open 'Trains'"))
    shown = text(drawn(picture, width=80, height=23, fancy=True))
    assert "phone over ADB: tickets_orders with r0009" in shown
    assert "1  open 'Trains'" in shown
    assert "tap 'Add'" not in shown


@pytest.mark.parametrize(
    ("changed", "reason"),
    [
        ({"phase": "learn"}, "stopped in phase learn"),
        ({"notes": ["gave up"]}, "gave up"),
        ({"episodes": {"logged": 2, "acknowledged": 2, "stored": 0, "lost": 2}}, "2 acknowledged"),
    ],
)
def test_figures_that_are_not_valid_say_why(picture, changed, reason):
    picture.take_summary(summary(valid=False, **changed))
    assert f"not valid: {reason}" in text(final(picture, width=80, height=23, fancy=True))


def test_without_a_terminal_there_are_plain_lines(tmp_path):
    stdout = io.StringIO()
    out = Output(json_lines=False, stdout=stdout)
    with view(out, folder=tmp_path, env_steps=10) as shown:
        shown.show(ChildEvent("cloud", {"event": "phase", "phase": "learn", "active_s": 1.0}))
        shown.show(gate(1, promoted=False))
        shown.finish(summary())
    lines = stdout.getvalue().splitlines()
    assert lines[0] == "phase  learn: the fleet learns by itself"
    assert lines[1] == "gate  r0001  reverted  as it says"
    assert any(line.startswith("after learning") for line in lines)
    assert "\x1b" not in stdout.getvalue()
    assert stdout.getvalue().isascii()


def test_for_a_program_every_line_is_json_and_the_summary_is_last(tmp_path):
    stdout = io.StringIO()
    with view(Output(json_lines=True, stdout=stdout), folder=tmp_path, env_steps=10) as shown:
        shown.show(gate(1))
        shown.show(ChildEvent("cloud", {"event": "progress"}))
        shown.finish(summary())
    events = [json.loads(line) for line in stdout.getvalue().splitlines()]
    assert [event["event"] for event in events] == ["gate", "summary"]
    assert events[0]["role"] == "cloud"


@pytest.mark.parametrize("width", [40, 80])
def test_a_long_folder_keeps_its_end_and_the_line_its_width(picture, width):
    picture.folder = Path("/a/very/long/way" * 10) / "run-007"
    title = drawn(picture, width=width, height=23, fancy=False)[0].plain
    assert len(title) == width
    assert title.endswith("/run-007")
    assert "..." in title
