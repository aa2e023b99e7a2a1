"""The clock app: alarms with labels, a timer, a stopwatch."""

from __future__ import annotations

import re
from dataclasses import dataclass, replace

from apps_mock.app import App, AppState, Page
from apps_mock.entities import ALARM_LABELS, Draw
from apps_mock.look import Look
from apps_mock.records import changed, find, fresh_id, without
from apps_mock.widgets import Button, Event, Field, Row, Screen, Text, Widget

_PARTS = ("hours", "minutes", "seconds")
_TIME = re.compile(r"([01]\d|2[0-3]):[0-5]\d")


@dataclass(frozen=True, slots=True)
class Alarm:
    """An alarm; `time` is written as `07:45`."""

    id: str
    time: str
    label: str
    on: bool = True


@dataclass(frozen=True, slots=True)
class Watch:
    """A timer or stopwatch; `minutes` is what a timer counts down from, as it was typed.

    Attributes:
        hours, seconds: what a timer of hours, minutes and seconds has beside its minutes.
    """

    id: str
    minutes: str = ""
    running: bool = False
    hours: str = ""
    seconds: str = ""


@dataclass(frozen=True, slots=True)
class ClockData:
    """Alarms and watches."""

    alarms: tuple[Alarm, ...]
    watches: tuple[Watch, ...] = (Watch("timer"), Watch("stopwatch"))


def fixture(draw: Draw) -> ClockData:
    """A few alarms, nothing running."""
    random = draw.random
    return ClockData(
        tuple(
            Alarm(
                f"a{index}",
                draw.time(),
                draw.of(ALARM_LABELS, pseudo=True),
                random.random() < 0.5,
            )
            for index in range(random.randrange(3, 6))
        )
    )


def update(state: AppState[ClockData], event: Event) -> AppState[ClockData]:
    """The state after an event."""
    data, page = state.data, state.page
    match event.name:
        case "edit_alarm":
            alarm = find(data.alarms, event.value)
            drafts = (("time", alarm.time), ("label", alarm.label)) if alarm else ()
            return state.pushed(Page("edit", event.value, drafts))
        case "save":
            return _saved(state, page)
        case "delete":
            return state.with_data(replace(data, alarms=without(data.alarms, event.value))).popped()
        case "start" | "stop":
            return _switched(state, event)
        case _:
            return state


def _saved(state: AppState[ClockData], page: Page) -> AppState[ClockData]:
    time, label = page.draft("time").strip(), page.draft("label").strip()
    if not _TIME.fullmatch(time):
        return state
    alarms = state.data.alarms
    if page.name == "edit":
        alarms = changed(alarms, page.argument, time=time, label=label)
    else:
        alarms = (*alarms, Alarm(fresh_id(alarms, "a"), time, label))
    return state.with_data(replace(state.data, alarms=alarms)).popped()


def _switched(state: AppState[ClockData], event: Event) -> AppState[ClockData]:
    """A watch that starts or stops; a timer only starts with some time on it."""
    watch, running = event.value, event.name == "start"
    parts = dict.fromkeys(_PARTS, "")
    if watch == "timer" and running:
        parts = {part: state.page.draft(part).strip() for part in _PARTS}
        typed = [text for text in parts.values() if text]
        if not typed or not all(text.isdecimal() for text in typed):
            return state
    watches = changed(state.data.watches, watch, running=running, **parts)
    return state.with_data(replace(state.data, watches=watches))


def view(state: AppState[ClockData], look: Look) -> Screen:
    """What the page on top shows."""
    page = state.page
    match page.name:
        case "home":
            return _alarms_view(state.data, look)
        case "timer" | "long_timer":
            return _timer_view(state, look)
        case "stopwatch":
            return _stopwatch_view(state.data, look)
        case _:
            return _alarm_view(page, look)


def _alarms_view(data: ClockData, look: Look) -> Screen:
    rows: list[Widget] = [
        Row(
            alarm.time,
            alarm.label,
            on_tap=Event("edit_alarm", alarm.id),
            checked=alarm.on,
            on_toggle=Event("toggle", alarm.id, "on"),
        )
        for alarm in look.ordered(data.alarms, lambda alarm: alarm.time)
    ]
    rows.extend(Text(line) for line in look.noise("clock"))
    return Screen(
        look.word("alarms"),
        tuple(rows),
        (Button(look.word("add"), Event("go", "add"), primary=True),),
        (
            Button(look.word("timer"), Event("go", "timer")),
            Button(look.word("stopwatch"), Event("go", "stopwatch")),
        ),
        back=False,
    )


def _alarm_view(page: Page, look: Look) -> Screen:
    actions = [Button(look.word("save"), Event("save"), primary=True)]
    if page.name == "edit":
        actions.append(Button(look.word("delete"), Event("delete", page.argument)))
    return Screen(
        look.word("edit" if page.name == "edit" else "add"),
        (
            Field("time", look.word("time"), page.draft("time")),
            Field("label", look.word("label"), page.draft("label")),
        ),
        tuple(actions),
    )


def _timer_view(state: AppState[ClockData], look: Look) -> Screen:
    """The timer: minutes alone, or on its second page hours and seconds as well."""
    title, page = look.word("timer"), state.page
    timer = find(state.data.watches, "timer")
    if timer is not None and timer.running:
        return Screen(
            title,
            (Text(_time_left(timer, look)),),
            (Button(look.word("stop"), Event("stop", "timer"), primary=True),),
        )
    start = Button(look.word("start"), Event("start", "timer"), primary=True)
    if page.name == "timer":
        minutes = Field("minutes", look.word("minutes"), page.draft("minutes"))
        further = Row(look.say("Hours and seconds"), on_tap=Event("go", "long_timer"))
        return Screen(title, (minutes, further), (start,))
    labels = {"hours": "Hours", "minutes": "Minutes", "seconds": "Seconds"}
    fields = (Field(part, look.say(labels[part]), page.draft(part)) for part in _PARTS)
    return Screen(title, tuple(fields), (start,))


def _time_left(timer: Watch, look: Look) -> str:
    if not timer.hours and not timer.seconds:
        return look.say("{minutes} minutes left").format(minutes=timer.minutes)
    return look.say("{hours} h {minutes} min {seconds} s left").format(
        hours=timer.hours or "0", minutes=timer.minutes or "0", seconds=timer.seconds or "0"
    )


def _stopwatch_view(data: ClockData, look: Look) -> Screen:
    watch = find(data.watches, "stopwatch")
    running = watch is not None and watch.running
    key, label = ("stop", "Stop") if running else ("start", "Start")
    return Screen(
        look.word("stopwatch"),
        (Text(look.say("Running") if running else "00:00"),),
        (Button(look.say(label), Event(key, "stopwatch"), primary=True),),
    )


APP: App[ClockData] = App(
    name="clock",
    label="Clock",
    package="org.outrider.clones.clock",
    update=update,
    view=view,
)
