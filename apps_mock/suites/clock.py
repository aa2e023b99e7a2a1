"""Tasks in the clock app."""

from __future__ import annotations

from dataclasses import replace

from apps_mock.apps.clock import Alarm, ClockData, fixture
from apps_mock.catalogue import Term
from apps_mock.entities import ALARM_LABELS, MINUTES, Draw
from apps_mock.plans import Entry, Fill, Press
from apps_mock.records import changed
from apps_mock.templates import Instance, Template
from apps_mock.wanted import Change, PageGoal
from apps_mock.widgets import Event

_SIXTY = MINUTES[:58]
"""Numbers below sixty, for the parts of a timer."""


def _some_alarm(draw: Draw) -> tuple[ClockData, Alarm]:
    data = fixture(draw)
    return data, draw.random.choice(data.alarms)


def _toggle(draw: Draw) -> Instance:
    data, alarm = _some_alarm(draw)
    way = draw.random.choice(("on", "off"))
    turn_on = way == "on"
    return Instance(
        words={"time": alarm.time, "way": Term(way)},
        data=replace(data, alarms=changed(data.alarms, alarm.id, on=not turn_on)),
        plan={("home", ""): Press(Event("toggle", alarm.id, "on"))},
        changes=(Change("alarms", alarm.id, (("on", turn_on),)),),
    )


def _delete(draw: Draw) -> Instance:
    data, alarm = _some_alarm(draw)
    return Instance(
        words={"time": alarm.time},
        data=data,
        plan={
            ("home", ""): Press(Event("edit_alarm", alarm.id)),
            ("edit", alarm.id): Press(Event("delete", alarm.id)),
        },
        changes=(Change("alarms", alarm.id, removed=True),),
    )


def _add(draw: Draw) -> Instance:
    data, time = fixture(draw), draw.time()
    return Instance(
        words={"time": time},
        data=data,
        plan={
            ("home", ""): Press(Event("go", "add")),
            ("add", ""): Fill((Entry("time", time),), Event("save")),
        },
        changes=(Change("alarms", None, (("time", time), ("label", ""), ("on", True))),),
    )


def _label(draw: Draw) -> Instance:
    data, alarm = _some_alarm(draw)
    label = draw.of(ALARM_LABELS, pseudo=True)
    return Instance(
        words={"time": alarm.time, "label": label},
        data=data,
        plan={
            ("home", ""): Press(Event("edit_alarm", alarm.id)),
            ("edit", alarm.id): Fill(
                (Entry("time", alarm.time), Entry("label", label)), Event("save")
            ),
        },
        changes=(Change("alarms", alarm.id, (("label", label),)),),
    )


def _add_labelled(draw: Draw) -> Instance:
    data, time, label = fixture(draw), draw.time(), draw.of(ALARM_LABELS, pseudo=True)
    return Instance(
        words={"time": time, "label": label},
        data=data,
        plan={
            ("home", ""): Press(Event("go", "add")),
            ("add", ""): Fill((Entry("time", time), Entry("label", label)), Event("save")),
        },
        changes=(Change("alarms", None, (("time", time), ("label", label), ("on", True))),),
    )


def _timer(draw: Draw) -> Instance:
    data, minutes = fixture(draw), draw.of(MINUTES)
    return Instance(
        words={"minutes": minutes},
        data=data,
        plan={
            ("home", ""): Press(Event("go", "timer")),
            ("timer", ""): Fill((Entry("minutes", minutes),), Event("start", "timer")),
        },
        changes=(Change("watches", "timer", (("minutes", minutes), ("running", True))),),
    )


def _timer_entry(draw: Draw) -> Instance:
    """A timer that is set and not started."""
    parts = {part: draw.of(_SIXTY) for part in ("hours", "minutes", "seconds")}
    entries = tuple(Entry(part, text) for part, text in parts.items())
    return Instance(
        words=dict(parts),
        data=fixture(draw),
        plan={
            ("home", ""): Press(Event("go", "timer")),
            ("timer", ""): Press(Event("go", "long_timer")),
            ("long_timer", ""): Fill(entries),
        },
        page=PageGoal("long_timer", "", tuple(parts.items())),
    )


def _stopwatch(draw: Draw, *, starts: bool, runs: bool) -> Instance:
    data = fixture(draw)
    data = replace(data, watches=changed(data.watches, "stopwatch", running=starts))
    return Instance(
        words={},
        data=data,
        plan={
            ("home", ""): Press(Event("go", "stopwatch")),
            ("stopwatch", ""): Press(Event("start" if runs else "stop", "stopwatch")),
        },
        changes=(Change("watches", "stopwatch", (("running", runs),)),),
    )


def _run_stopwatch(draw: Draw) -> Instance:
    return _stopwatch(draw, starts=False, runs=True)


def _paused_stopwatch(draw: Draw) -> Instance:
    return _stopwatch(draw, starts=False, runs=False)


TEMPLATES: tuple[Template, ...] = (
    Template(
        name="clock_toggle",
        app="clock",
        oracle_steps=3,
        phrasings=(
            "Turn {way} the {time} alarm",
            "Switch the alarm at {time} {way}",
            "In the clock turn {way} the alarm for {time}",
        ),
        held_out=("The alarm of {time} should be {way}",),
        set_up=_toggle,
    ),
    Template(
        name="clock_delete",
        app="clock",
        oracle_steps=4,
        phrasings=(
            "Delete the {time} alarm",
            "Remove the alarm at {time} from the clock",
            "In the clock delete the alarm for {time}",
        ),
        held_out=("I can sleep on after {time} so take that alarm away",),
        set_up=_delete,
    ),
    Template(
        name="clock_add",
        app="clock",
        oracle_steps=6,
        phrasings=(
            "Add an alarm for {time}",
            "Set a new alarm at {time} in the clock",
            "In the clock create an alarm for {time}",
        ),
        held_out=("Let the phone ring at {time}",),
        set_up=_add,
    ),
    Template(
        name="clock_label",
        app="clock",
        oracle_steps=6,
        phrasings=(
            "Change the label of the {time} alarm to {label}",
            "Label the alarm at {time} as {label}",
            "In the clock give the alarm for {time} the label {label}",
        ),
        held_out=("What rings at {time} should be called {label}",),
        set_up=_label,
    ),
    Template(
        name="clock_add_labelled",
        app="clock",
        oracle_steps=8,
        phrasings=(
            "Add an alarm for {time} with the label {label}",
            "Set a new alarm at {time} labelled {label} in the clock",
            "In the clock create an alarm for {time} and label it {label}",
        ),
        held_out=("Let the phone ring at {time} for {label}",),
        set_up=_add_labelled,
    ),
    Template(
        name="clock_timer",
        app="clock",
        oracle_steps=6,
        phrasings=(
            "Start a timer for {minutes} minutes",
            "Set the timer in the clock to {minutes} minutes and start it",
            "In the clock start a timer of {minutes} minutes",
        ),
        held_out=("Count down {minutes} minutes",),
        set_up=_timer,
    ),
    Template(
        name="ClockTimerEntry",
        app="clock",
        oracle_steps=10,
        phrasings=(
            "Enter {hours} hours {minutes} minutes {seconds} seconds as a timer and do not start",
            "Set a timer of {hours} hours {minutes} minutes {seconds} seconds without starting it",
        ),
        held_out=("Without starting it type {hours} h {minutes} min {seconds} s into the timer",),
        set_up=_timer_entry,
        suite="androidworld",
    ),
    Template(
        name="ClockStopWatchRunning",
        app="clock",
        oracle_steps=4,
        phrasings=("Start the stopwatch", "Let the stopwatch in the clock run"),
        held_out=("Measure the time from now on with the stopwatch",),
        set_up=_run_stopwatch,
        tags=("no_parameters",),
        suite="androidworld",
    ),
    Template(
        name="ClockStopWatchPausedVerify",
        app="clock",
        oracle_steps=1,
        phrasings=("The stopwatch should stand still", "Stop the stopwatch if it runs"),
        held_out=("Make sure that the stopwatch is paused",),
        set_up=_paused_stopwatch,
        tags=("no_parameters", "starts_satisfied"),
        suite="androidworld",
    ),
)
