"""The train-ticket app: connections, bookings, orders, receipts, price alerts, passengers.

This module holds its data and what happens; `tickets_view` shows it. The railway is invented: a
timetable is a pure function of route and day over the fixture's departure times.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from datetime import date, timedelta

from apps_mock.app import AppState, Page
from apps_mock.entities import MONTHS, Draw
from apps_mock.mixing import mixed
from apps_mock.records import changed, find, fresh_id
from apps_mock.widgets import Event

CLASSES = ("First class", "Second class", "Business class")
DEFAULT_CLASS = "Second class"
ALL_CLASSES = "All"
BOOKED, CANCELLED = "Booked", "Cancelled"
DAY_COUNT = 8


@dataclass(frozen=True, slots=True)
class Order:
    """A ticket that was bought."""

    id: str
    origin: str
    destination: str
    day: str
    departure: str
    travel_class: str
    passenger: str
    voucher: str
    price: int
    status: str = BOOKED


@dataclass(frozen=True, slots=True)
class Alert:
    """A wish to hear of cheap trains on a route."""

    id: str
    origin: str
    destination: str
    on: bool


@dataclass(frozen=True, slots=True)
class Passenger:
    """Somebody for whom tickets can be bought."""

    id: str
    name: str
    card: str = "No railcard"


@dataclass(frozen=True, slots=True)
class Trip:
    """One train of a timetable; `price` in euros, `minutes` on the way."""

    departure: str
    minutes: int
    price: int
    classes: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class TicketsData:
    """The account and the railway.

    Attributes:
        stations: cities that trains serve.
        days: days that can be booked, as `2025-03-14`; the first is today.
        departures: departure times on every route.
    """

    orders: tuple[Order, ...]
    alerts: tuple[Alert, ...]
    passengers: tuple[Passenger, ...]
    stations: tuple[str, ...]
    days: tuple[str, ...]
    departures: tuple[str, ...]


def fixture(draw: Draw) -> TicketsData:
    """An account with a few orders, alerts and passengers."""
    days, _ = booking_days(draw)
    return fixture_on(draw, days)


def booking_days(draw: Draw) -> tuple[tuple[str, ...], int]:
    """The days of a railway, as `2025-03-14`, and the index (not 0) of one of the split."""
    names, index = draw.days(DAY_COUNT)
    day, month = names[0].split()
    start = date(2025, MONTHS.index(month) + 1, int(day))
    days = (start + timedelta(days=offset) for offset in range(DAY_COUNT))
    return tuple(day.isoformat() for day in days), index


def fixture_on(draw: Draw, days: tuple[str, ...]) -> TicketsData:
    """An account whose railway can be booked on `days`."""
    random = draw.random
    stations = tuple(draw.city() for _ in range(8))
    passengers = tuple(
        Passenger(f"p{index}", draw.name(), random.choice(("No railcard", "Half fare card")))
        for index in range(random.randrange(3, 5))
    )
    departures = tuple(draw.time() for _ in range(5))
    orders = tuple(
        Order(
            id=f"o{index}",
            origin=origin,
            destination=destination,
            day=random.choice(days),
            departure=random.choice(departures),
            travel_class=random.choice(CLASSES),
            passenger=passengers[0].name,
            voucher="",
            price=random.randrange(20, 90),
        )
        for index, (origin, destination) in enumerate(_routes(draw, stations))
    )
    alerts = tuple(
        Alert(f"r{index}", origin, destination, random.random() < 0.5)
        for index, (origin, destination) in enumerate(_routes(draw, stations))
    )
    return TicketsData(orders, alerts, passengers, stations, days, departures)


def _routes(draw: Draw, stations: tuple[str, ...]) -> list[tuple[str, str]]:
    """Three or four routes with different ends."""
    ends = draw.random.sample(stations, draw.random.randrange(3, 5))
    return [
        (draw.random.choice([station for station in stations if station != end]), end)
        for end in ends
    ]


def timetable(data: TicketsData, origin: str, destination: str, day: str) -> tuple[Trip, ...]:
    """The trains of a route on a day by departure, no two at the same price."""
    if origin == destination or not {origin, destination} <= set(data.stations):
        return ()
    route = f"{origin}|{destination}|{day}"
    marks = {time: mixed(f"{route}|{time}") for time in data.departures}
    ranks = {time: rank for rank, time in enumerate(sorted(marks, key=marks.__getitem__))}
    minutes = 60 + mixed(route) % 180
    return tuple(
        Trip(
            departure=time,
            minutes=minutes + marks[time] % 40,
            price=19 + 6 * ranks[time] + marks[time] % 5,
            classes=tuple(
                name
                for index, name in enumerate(CLASSES)
                if name == DEFAULT_CLASS or marks[time] >> index & 1
            ),
        )
        for time in sorted(data.departures)
    )


def trip_of(data: TicketsData, argument: str) -> Trip | None:
    """The train that a trip page is about; its argument is `origin|destination|day|departure`."""
    parts = argument.split("|")
    if len(parts) != 4:
        return None
    trips = timetable(data, parts[0], parts[1], parts[2])
    return next((trip for trip in trips if trip.departure == parts[3]), None)


def update(state: AppState[TicketsData], event: Event) -> AppState[TicketsData]:
    """The state after an event."""
    data, page = state.data, state.page
    match event.name:
        case "search":
            return _searched(state)
        case "pick":
            below = state.popped()
            return below.with_page(below.page.with_draft(event.value, event.extra))
        case "book":
            return _booked(state)
        case "cancel":
            orders = changed(data.orders, event.value, status=CANCELLED)
            return state.with_data(replace(data, orders=orders)).popped()
        case "move":
            orders = changed(data.orders, event.value, day=event.extra)
            return state.with_data(replace(data, orders=orders)).popped()
        case "save_passenger":
            name = page.draft("name").strip()
            if not name:
                return state
            added = Passenger(fresh_id(data.passengers, "p"), name)
            people = (*data.passengers, added)
            return state.with_data(replace(data, passengers=people)).popped()
        case _:
            return state


def _searched(state: AppState[TicketsData]) -> AppState[TicketsData]:
    page, data = state.page, state.data
    origin = _station(data, page.draft("from"))
    destination = _station(data, page.draft("to"))
    if not origin or not destination:
        return state
    day = page.draft("date", data.days[0])
    return state.pushed(Page("results", f"{origin}|{destination}|{day}"))


def _station(data: TicketsData, typed: str) -> str:
    """The station as the railway writes it, or what was typed where it knows none."""
    text = typed.strip().replace("|", " ")
    known = {station.casefold(): station for station in data.stations}
    return known.get(text.casefold(), text)


def _booked(state: AppState[TicketsData]) -> AppState[TicketsData]:
    data, page = state.data, state.page
    trip = trip_of(data, page.argument)
    if trip is None:
        return state
    origin, destination, day, departure = page.argument.split("|")
    order = Order(
        id=fresh_id(data.orders, "o"),
        origin=origin,
        destination=destination,
        day=day,
        departure=departure,
        travel_class=page.draft("class", DEFAULT_CLASS),
        passenger=page.draft("passenger", data.passengers[0].name),
        voucher=page.draft("voucher").strip(),
        price=trip.price,
    )
    booked = replace(data, orders=(*data.orders, order))
    return AppState(booked, (Page("home"), Page("orders"), Page("order", order.id)))


def order_of(data: TicketsData, order_id: str) -> Order | None:
    """An order by id."""
    return find(data.orders, order_id)
