"""Tasks in the train-ticket app: from three steps (look at the orders) to twelve (book a train)."""

from __future__ import annotations

from dataclasses import replace

from apps_mock.apps.tickets import (
    ALL_CLASSES,
    CLASSES,
    DEFAULT_CLASS,
    Order,
    TicketsData,
    booking_days,
    fixture,
    fixture_on,
    timetable,
)
from apps_mock.catalogue import Term
from apps_mock.entities import Draw
from apps_mock.plans import Entry, Fill, Plan, Press
from apps_mock.records import changed
from apps_mock.suites.tickets_journeys import Journey, booking, class_entry
from apps_mock.templates import Instance, Template
from apps_mock.wanted import Change, PageGoal
from apps_mock.widgets import Event

_VOUCHER_ALPHABET = "ABCDEFGHJKLMNPRSTUVWXYZ23456789"


def _to_orders(order: Order | None = None) -> Plan:
    """The way to the orders, or into one of them."""
    plan: Plan = {("home", ""): Press(Event("go", "orders"))}
    if order is not None:
        plan["orders", ""] = Press(Event("go", "order", order.id))
    return plan


def _some_order(draw: Draw) -> tuple[TicketsData, Order, dict[str, str | Term]]:
    data = fixture(draw)
    order = draw.random.choice(data.orders)
    return data, order, {"origin": order.origin, "destination": order.destination}


def _orders(draw: Draw) -> Instance:
    return Instance(
        words={"name": draw.first_name()},
        data=fixture(draw),
        plan=_to_orders(),
        page=PageGoal("orders"),
    )


def _alert(draw: Draw) -> Instance:
    data = fixture(draw)
    alert = draw.random.choice(data.alerts)
    way = draw.random.choice(("on", "off"))
    data = replace(data, alerts=changed(data.alerts, alert.id, on=way != "on"))
    return Instance(
        words={"origin": alert.origin, "destination": alert.destination, "way": Term(way)},
        data=data,
        plan={
            ("home", ""): Press(Event("go", "alerts")),
            ("alerts", ""): Press(Event("toggle", alert.id, "on")),
        },
        changes=(Change("alerts", alert.id, (("on", way == "on"),)),),
    )


def _open_order(draw: Draw) -> Instance:
    data, order, words = _some_order(draw)
    return Instance(words, data, _to_orders(order), page=PageGoal("order", order.id))


def _open_passenger(draw: Draw) -> Instance:
    data = fixture(draw)
    person = draw.random.choice(data.passengers)
    return Instance(
        words={"name": person.name},
        data=data,
        plan={
            ("home", ""): Press(Event("go", "passengers")),
            ("passengers", ""): Press(Event("go", "passenger", person.id)),
        },
        page=PageGoal("passenger", person.id),
    )


def _receipt(draw: Draw) -> Instance:
    data, order, words = _some_order(draw)
    plan = _to_orders(order)
    plan["order", order.id] = Press(Event("go", "receipt", order.id))
    return Instance(words, data, plan, page=PageGoal("receipt", order.id))


def _cancel(draw: Draw) -> Instance:
    data, order, words = _some_order(draw)
    plan = _to_orders(order)
    plan["order", order.id] = Press(Event("go", "cancel", order.id))
    plan["cancel", order.id] = Press(Event("cancel", order.id))
    return Instance(words, data, plan, (Change("orders", order.id, (("status", "Cancelled"),)),))


def _change_date(draw: Draw) -> Instance:
    days, index = booking_days(draw)
    day = days[index]
    data = fixture_on(draw, days)
    order = draw.random.choice(data.orders)
    other = draw.random.choice([each for each in days if each != day])
    data = replace(data, orders=changed(data.orders, order.id, day=other))
    plan = _to_orders(order)
    plan["order", order.id] = Press(Event("go", "move", order.id))
    plan["move", order.id] = Press(Event("move", order.id, day))
    return Instance(
        {"origin": order.origin, "destination": order.destination, "day": Term(day, "day")},
        data,
        plan,
        (Change("orders", order.id, (("day", day),)),),
    )


def _add_passenger(draw: Draw) -> Instance:
    data, name = fixture(draw), draw.name()
    return Instance(
        words={"name": name},
        data=data,
        plan={
            ("home", ""): Press(Event("go", "passengers")),
            ("passengers", ""): Press(Event("go", "add_passenger")),
            ("add_passenger", ""): Fill((Entry("name", name),), Event("save_passenger")),
        },
        changes=(Change("passengers", None, (("name", name), ("card", "No railcard"))),),
    )


def _find(draw: Draw) -> Instance:
    journey = Journey(draw)
    return Instance(journey.words, journey.data, journey.plan, page=journey.page())


def _find_class(draw: Draw) -> Instance:
    journey = Journey(draw)
    wanted = draw.random.choice(CLASSES)
    journey.plan["results", journey.argument] = Fill((class_entry(wanted, ALL_CLASSES),))
    return Instance(
        {**journey.words, "class": Term(wanted)},
        journey.data,
        journey.plan,
        page=journey.page(wanted),
    )


def _find_date(draw: Draw) -> Instance:
    journey = Journey(draw, dated=True)
    return Instance(journey.words, journey.data, journey.plan, page=journey.page())


def _cheapest(draw: Draw) -> Instance:
    journey = Journey(draw)
    trips = timetable(journey.data, journey.origin, journey.destination, journey.day)
    best = min(trips, key=lambda trip: trip.price)
    argument = f"{journey.argument}|{best.departure}"
    journey.plan["results", journey.argument] = Press(Event("go", "trip", argument))
    return Instance(journey.words, journey.data, journey.plan, page=PageGoal("trip", argument))


def _book_voucher(draw: Draw) -> Instance:
    return booking(draw, Journey(draw), DEFAULT_CLASS, draw.code(_VOUCHER_ALPHABET, 6))


def _book_date_class(draw: Draw) -> Instance:
    wanted = draw.random.choice([name for name in CLASSES if name != DEFAULT_CLASS])
    return booking(draw, Journey(draw, dated=True), wanted, "")


TEMPLATES = (
    Template(
        name="tickets_orders",
        app="tickets",
        oracle_steps=3,
        phrasings=(
            "Show {name} the train trips that I have booked",
            "Let {name} see my booked trips",
            "Open my train orders so that {name} can see them",
        ),
        held_out=("Bring up the train trips I booked so that {name} can look",),
        set_up=_orders,
    ),
    Template(
        name="tickets_alert",
        app="tickets",
        oracle_steps=4,
        phrasings=(
            "Turn {way} the price alert for trains from {origin} to {destination}",
            "Switch the train price alert from {origin} to {destination} {way}",
            "In train tickets turn {way} the alert from {origin} to {destination}",
        ),
        held_out=("The alert about cheap trains from {origin} to {destination} should be {way}",),
        set_up=_alert,
    ),
    Template(
        name="tickets_open_order",
        app="tickets",
        oracle_steps=4,
        phrasings=(
            "Open my train trip from {origin} to {destination}",
            "Look at the trip from {origin} to {destination} that I booked",
            "In train tickets open the order from {origin} to {destination}",
        ),
        held_out=("Bring up the details of my booked trip from {origin} to {destination}",),
        set_up=_open_order,
    ),
    Template(
        name="tickets_open_passenger",
        app="tickets",
        oracle_steps=4,
        phrasings=(
            "Look at the details of the train traveller {name}",
            "Show me the traveller {name}",
            "In train tickets open the passenger {name}",
        ),
        held_out=("Bring up what the train app knows of {name}",),
        set_up=_open_passenger,
    ),
    Template(
        name="tickets_receipt",
        app="tickets",
        oracle_steps=5,
        phrasings=(
            "Show the receipt of my train trip from {origin} to {destination}",
            "I need the receipt of the trip from {origin} to {destination}",
            "Open the receipt of the train order from {origin} to {destination}",
        ),
        held_out=(
            "What I paid from {origin} to {destination} is for my taxes so show the receipt",
        ),
        set_up=_receipt,
    ),
    Template(
        name="tickets_cancel",
        app="tickets",
        oracle_steps=6,
        phrasings=(
            "Cancel my train trip from {origin} to {destination}",
            "I will not travel from {origin} to {destination} so cancel the trip",
            "Cancel the train order from {origin} to {destination}",
        ),
        held_out=("My journey from {origin} to {destination} falls through so call it off",),
        set_up=_cancel,
    ),
    Template(
        name="tickets_change_date",
        app="tickets",
        oracle_steps=6,
        phrasings=(
            "Move my train trip from {origin} to {destination} to {day}",
            "I want to travel from {origin} to {destination} on {day} so change my trip",
            "Change the date of the train order from {origin} to {destination} to {day}",
        ),
        held_out=("My journey from {origin} to {destination} has to be on {day} instead",),
        set_up=_change_date,
    ),
    Template(
        name="tickets_add_passenger",
        app="tickets",
        oracle_steps=7,
        phrasings=(
            "Add a train traveller named {name}",
            "I will book trains for {name} so add this traveller",
            "In train tickets add the passenger {name}",
        ),
        held_out=("Make {name} known to the train app as somebody who travels",),
        set_up=_add_passenger,
    ),
    Template(
        name="tickets_find",
        app="tickets",
        oracle_steps=7,
        phrasings=(
            "Find trains from {origin} to {destination}",
            "Search for a train from {origin} to {destination}",
            "Show the trains that go from {origin} to {destination}",
        ),
        held_out=("Which trains go from {origin} to {destination}",),
        set_up=_find,
    ),
    Template(
        name="tickets_find_class",
        app="tickets",
        oracle_steps=8,
        phrasings=(
            "Find {class} trains from {origin} to {destination}",
            "Search for trains from {origin} to {destination} and show only {class}",
            "Show the {class} trains from {origin} to {destination}",
        ),
        held_out=("Which trains from {origin} to {destination} have {class}",),
        set_up=_find_class,
    ),
    Template(
        name="tickets_cheapest",
        app="tickets",
        oracle_steps=8,
        phrasings=(
            "Open the cheapest train from {origin} to {destination}",
            "Find the cheapest train from {origin} to {destination} and open it",
            "Show the details of the cheapest train from {origin} to {destination}",
        ),
        held_out=("Bring up the train from {origin} to {destination} that costs the least",),
        set_up=_cheapest,
    ),
    Template(
        name="tickets_find_date",
        app="tickets",
        oracle_steps=9,
        phrasings=(
            "Find trains from {origin} to {destination} on {day}",
            "Search for a train on {day} from {origin} to {destination}",
            "Show the trains of {day} from {origin} to {destination}",
        ),
        held_out=("Which trains go from {origin} to {destination} on {day}",),
        set_up=_find_date,
    ),
    Template(
        name="tickets_book_voucher",
        app="tickets",
        oracle_steps=11,
        phrasings=(
            "Book the {time} train from {origin} to {destination} with the voucher {voucher}",
            "Use the voucher {voucher} to book the train at {time} from {origin} to {destination}",
            "Buy a ticket from {origin} to {destination} at {time} with the voucher {voucher}",
        ),
        held_out=(
            "Get me on the {time} train from {origin} to {destination} and redeem {voucher}",
        ),
        set_up=_book_voucher,
    ),
    Template(
        name="tickets_book_date_class",
        app="tickets",
        oracle_steps=12,
        phrasings=(
            "Book the {time} train from {origin} to {destination} on {day} in {class}",
            "Buy a {class} ticket from {origin} to {destination} on {day} at {time}",
            "On {day} book the {class} train at {time} from {origin} to {destination}",
        ),
        held_out=("Get me a seat in {class} on {day} from {origin} to {destination} at {time}",),
        set_up=_book_date_class,
    ),
)
