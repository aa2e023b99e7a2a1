"""What the train-ticket app shows."""

from __future__ import annotations

from collections.abc import Callable

from apps_mock.app import App, AppState, Page
from apps_mock.apps.tickets import (
    ALL_CLASSES,
    BOOKED,
    CLASSES,
    DEFAULT_CLASS,
    TicketsData,
    Trip,
    order_of,
    timetable,
    trip_of,
    update,
)
from apps_mock.look import Look
from apps_mock.records import find
from apps_mock.widgets import Button, Chip, Chips, Event, Field, Row, Screen, Text, Widget


def view(state: AppState[TicketsData], look: Look) -> Screen:
    """What the page on top shows."""
    return _VIEWS[state.page.name](state.data, state.page, look)


def _home(data: TicketsData, page: Page, look: Look) -> Screen:
    body: tuple[Widget, ...] = (
        Field("from", look.word("from"), page.draft("from")),
        Field("to", look.word("to"), page.draft("to")),
        Row(
            look.word("date"),
            look.day(page.draft("date", data.days[0])),
            on_tap=Event("go", "dates"),
        ),
    )
    return Screen(
        look.say("Train Tickets"),
        body,
        (Button(look.word("search"), Event("search"), primary=True),),
        (
            Button(look.word("orders"), Event("go", "orders")),
            Button(look.word("alerts"), Event("go", "alerts")),
            Button(look.word("passengers"), Event("go", "passengers")),
        ),
        back=False,
    )


def _dates(data: TicketsData, _page: Page, look: Look) -> Screen:
    rows = tuple(Row(look.day(day), on_tap=Event("pick", "date", day)) for day in data.days)
    return Screen(look.word("date"), rows)


def _results(data: TicketsData, page: Page, look: Look) -> Screen:
    origin, destination, day = page.argument.split("|")
    trips = timetable(data, origin, destination, day)
    wanted = page.draft("class", ALL_CLASSES)
    cheapest = min((trip.price for trip in trips), default=0)
    chips = Chips(
        tuple(
            Chip(look.say(name), name == wanted, Event("set", "class", name))
            for name in (ALL_CLASSES, *CLASSES)
        )
    )
    rows: list[Widget] = [Text(look.day(day)), chips]
    rows.extend(
        Row(
            trip.departure,
            f"{_duration(trip, look)}, {trip.price} EUR",
            on_tap=Event("go", "trip", f"{page.argument}|{trip.departure}"),
            badge=look.say("Cheapest") if trip.price == cheapest else "",
        )
        for trip in trips
        if wanted == ALL_CLASSES or wanted in trip.classes
    )
    if not trips:
        rows.append(Text(look.say("No trains found")))
    rows.extend(Text(line) for line in look.noise("results"))
    return Screen(look.word("route").format(origin, destination), tuple(rows))


def _duration(trip: Trip, look: Look) -> str:
    return look.say("{hours} h {minutes} min").format(
        hours=trip.minutes // 60, minutes=trip.minutes % 60
    )


def _trip(data: TicketsData, page: Page, look: Look) -> Screen:
    origin, destination, day, departure = page.argument.split("|")
    trip = trip_of(data, page.argument)
    price = trip.price if trip else 0
    wanted = page.draft("class", DEFAULT_CLASS)
    person = page.draft("passenger", data.passengers[0].name)
    return Screen(
        look.word("route").format(origin, destination),
        (
            Text(f"{look.day(day)}, {departure}, {price} EUR"),
            Chips(
                tuple(
                    Chip(look.say(name), name == wanted, Event("set", "class", name))
                    for name in CLASSES
                )
            ),
            Row(look.word("passenger"), person, on_tap=Event("go", "pick_passenger")),
            Field("voucher", look.word("voucher"), page.draft("voucher")),
        ),
        (Button(look.word("book"), Event("book"), primary=True),),
    )


def _pick_passenger(data: TicketsData, _page: Page, look: Look) -> Screen:
    people = look.ordered(data.passengers, lambda person: person.name)
    rows = tuple(
        Row(person.name, on_tap=Event("pick", "passenger", person.name)) for person in people
    )
    return Screen(look.word("passenger"), rows)


def _orders(data: TicketsData, _page: Page, look: Look) -> Screen:
    rows: list[Widget] = [
        Row(
            look.word("route").format(order.origin, order.destination),
            f"{look.day(order.day)}, {order.departure}, {look.say(order.status)}",
            on_tap=Event("go", "order", order.id),
        )
        for order in look.ordered(data.orders, lambda order: order.id)
    ]
    rows.extend(Text(line) for line in look.noise("orders"))
    return Screen(look.word("orders"), tuple(rows))


def _order(data: TicketsData, page: Page, look: Look) -> Screen:
    order = order_of(data, page.argument)
    if order is None:
        return Screen(look.word("orders"), (Text(look.say("This order is gone")),))
    body = (
        Text(look.word("route").format(order.origin, order.destination)),
        Text(f"{look.day(order.day)}, {order.departure}"),
        Text(f"{look.say(order.travel_class)}, {order.passenger}"),
        Text(look.say(order.status)),
    )
    actions = [Button(look.word("receipt"), Event("go", "receipt", order.id))]
    if order.status == BOOKED:
        actions += [
            Button(look.word("change_date"), Event("go", "move", order.id)),
            Button(look.word("cancel_order"), Event("go", "cancel", order.id)),
        ]
    return Screen(look.word("order"), body, tuple(actions))


def _cancel(_data: TicketsData, page: Page, look: Look) -> Screen:
    return Screen(
        look.word("cancel_order"),
        (Text(look.say("Do you want to cancel this order")),),
        (
            Button(look.word("keep"), Event("back")),
            Button(look.word("yes"), Event("cancel", page.argument), primary=True),
        ),
        dialog=True,
    )


def _move(data: TicketsData, page: Page, look: Look) -> Screen:
    rows = tuple(Row(look.day(day), on_tap=Event("move", page.argument, day)) for day in data.days)
    return Screen(look.word("change_date"), rows)


def _receipt(data: TicketsData, page: Page, look: Look) -> Screen:
    order = order_of(data, page.argument)
    if order is None:
        return Screen(look.word("receipt"), (Text(look.say("This order is gone")),))
    lines = (
        look.word("route").format(order.origin, order.destination),
        f"{look.day(order.day)}, {order.departure}",
        look.say("Paid {price} EUR").format(price=order.price),
        look.say("Thank you for travelling with us"),
    )
    return Screen(look.word("receipt"), tuple(Text(line) for line in lines))


def _alerts(data: TicketsData, _page: Page, look: Look) -> Screen:
    rows: list[Widget] = [
        Row(
            look.word("route").format(alert.origin, alert.destination),
            checked=alert.on,
            on_toggle=Event("toggle", alert.id, "on"),
        )
        for alert in look.ordered(data.alerts, lambda alert: alert.id)
    ]
    rows.extend(Text(line) for line in look.noise("alerts"))
    return Screen(look.word("alerts"), tuple(rows))


def _passengers(data: TicketsData, _page: Page, look: Look) -> Screen:
    rows = tuple(
        Row(person.name, on_tap=Event("go", "passenger", person.id))
        for person in look.ordered(data.passengers, lambda person: person.name)
    )
    noise = tuple(Text(line) for line in look.noise("passengers"))
    action = Button(look.word("add"), Event("go", "add_passenger"), primary=True)
    return Screen(look.word("passengers"), (*rows, *noise), (action,))


def _passenger(data: TicketsData, page: Page, look: Look) -> Screen:
    person = find(data.passengers, page.argument)
    gone = look.say("This passenger is gone")
    lines = (person.name, look.say(person.card)) if person else (gone,)
    return Screen(look.word("passenger"), tuple(Text(line) for line in lines))


def _add_passenger(_data: TicketsData, page: Page, look: Look) -> Screen:
    return Screen(
        look.word("add"),
        (Field("name", look.word("name"), page.draft("name")),),
        (Button(look.word("save"), Event("save_passenger"), primary=True),),
    )


_VIEWS: dict[str, Callable[[TicketsData, Page, Look], Screen]] = {
    "home": _home,
    "dates": _dates,
    "results": _results,
    "trip": _trip,
    "pick_passenger": _pick_passenger,
    "orders": _orders,
    "order": _order,
    "cancel": _cancel,
    "move": _move,
    "receipt": _receipt,
    "alerts": _alerts,
    "passengers": _passengers,
    "passenger": _passenger,
    "add_passenger": _add_passenger,
}

APP: App[TicketsData] = App(
    name="tickets",
    label="Train Tickets",
    package="org.outrider.clones.tickets",
    update=update,
    view=view,
)
