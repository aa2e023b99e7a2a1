"""Journeys of train-ticket tasks: a route and a day, the way to its trains, and booking one."""

from __future__ import annotations

from apps_mock.apps.tickets import (
    BOOKED,
    DEFAULT_CLASS,
    booking_days,
    fixture_on,
    timetable,
)
from apps_mock.catalogue import Term
from apps_mock.entities import Draw
from apps_mock.plans import Entry, Fill, Plan, Press
from apps_mock.templates import Instance
from apps_mock.wanted import Change, PageGoal
from apps_mock.widgets import Event


class Journey:
    """A route and a day that somebody wants to travel, and the way to its trains."""

    def __init__(self, draw: Draw, *, dated: bool = False) -> None:
        days, index = booking_days(draw)
        self.data = fixture_on(draw, days)
        self.origin, self.destination = draw.random.sample(self.data.stations, 2)
        self.day = days[index if dated else 0]
        self.argument = f"{self.origin}|{self.destination}|{self.day}"
        self.words: dict[str, str | Term] = {
            "origin": self.origin,
            "destination": self.destination,
            "day": Term(self.day, "day"),
        }
        self.plan: Plan = {
            ("home", ""): Fill(
                (
                    Entry("from", self.origin),
                    Entry("to", self.destination),
                    Entry("date", self.day, Event("go", "dates"), default=days[0]),
                ),
                Event("search"),
            ),
            ("dates", ""): Press(Event("pick", "date", self.day)),
        }

    def page(self, travel_class: str = "") -> PageGoal:
        """The page with the route's trains."""
        drafts = (("class", travel_class),) if travel_class else ()
        return PageGoal("results", self.argument, drafts)


def class_entry(wanted: str, default: str) -> Entry:
    """A class that is chosen with its chip."""
    return Entry("class", wanted, Event("set", "class", wanted), default=default)


def booking(draw: Draw, journey: Journey, travel_class: str, voucher: str) -> Instance:
    """Book one of the journey's trains for the account's owner."""
    data = journey.data
    trips = timetable(data, journey.origin, journey.destination, journey.day)
    trip = draw.random.choice(trips)
    owner = data.passengers[0].name
    argument = f"{journey.argument}|{trip.departure}"
    plan = journey.plan
    plan["results", journey.argument] = Press(Event("go", "trip", argument))
    plan["pick_passenger", ""] = Press(Event("pick", "passenger", owner))
    plan["trip", argument] = Fill(
        (
            class_entry(travel_class, DEFAULT_CLASS),
            Entry("passenger", owner, Event("go", "pick_passenger"), default=owner),
            Entry("voucher", voucher),
        ),
        Event("book"),
    )
    values = {
        "origin": journey.origin,
        "destination": journey.destination,
        "day": journey.day,
        "departure": trip.departure,
        "travel_class": travel_class,
        "passenger": owner,
        "voucher": voucher,
        "price": trip.price,
        "status": BOOKED,
    }
    words = {
        **journey.words,
        "time": trip.departure,
        "class": Term(travel_class),
        "voucher": voucher,
    }
    return Instance(words, data, plan, (Change("orders", None, tuple(values.items())),))
