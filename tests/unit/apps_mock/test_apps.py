"""What the apps do, beyond the paths that tasks take."""

from __future__ import annotations

import pytest

from apps_mock.apps.tickets import CLASSES, timetable, trip_of
from apps_mock.catalogue import day_text
from apps_mock.look import look_number
from apps_mock.widgets import Event
from sync.vocabulary import Split


def data_of(phone, app):
    return phone.state.app_state(app).data


def texts(phone):
    return {element.text for element in phone.observe().elements}


def test_settings_choice_goes_back_with_the_option_chosen(phone_with, send):
    phone = phone_with("settings_switch")
    send(
        phone, Event("launch", "settings"), Event("go", "Sound"), Event("go", "choice", "Ringtone")
    )

    send(phone, Event("choose", "Ringtone", "Ember"))

    assert phone.state.front.page.name == "Sound"
    assert "Ember" in texts(phone)


def test_settings_refuse_an_empty_device_name(phone_with, send):
    phone = phone_with("settings_switch")
    send(
        phone,
        Event("launch", "settings"),
        Event("go", "System"),
        Event("go", "rename", "Device name"),
    )
    before = data_of(phone, "settings")

    send(phone, Event("save_name"))

    assert data_of(phone, "settings") is before
    assert phone.state.front.page.name == "rename"


def test_contact_search_narrows_the_list_without_regard_to_case(phone_with, send, fill):
    phone = phone_with("contacts_open")
    send(phone, Event("launch", "contacts"))
    names = [contact.name for contact in data_of(phone, "contacts").contacts]

    fill(phone, "search", names[0].upper())

    assert names[0] in texts(phone)
    assert not set(names[1:]) & texts(phone)
    phone.type_text("zzz")
    assert "No contacts found" in texts(phone)


def test_contacts_refuse_to_save_without_a_name(phone_with, send, fill):
    phone = phone_with("contacts_open")
    send(phone, Event("launch", "contacts"), Event("go", "add"))
    fill(phone, "phone", "12345678")
    before = data_of(phone, "contacts")

    send(phone, Event("save"))

    assert data_of(phone, "contacts") is before


def test_deleting_a_contact_asks_first(phone_with, send):
    phone = phone_with("contacts_open")
    contact = data_of(phone, "contacts").contacts[0]
    send(phone, Event("launch", "contacts"), Event("go", "contact", contact.id))
    send(phone, Event("go", "delete", contact.id))

    phone.press(4)
    assert contact in data_of(phone, "contacts").contacts

    send(phone, Event("go", "delete", contact.id), Event("delete", contact.id))
    assert contact not in data_of(phone, "contacts").contacts
    assert phone.state.front.page.name == "home"


def test_a_contact_keeps_the_label_that_was_chosen(phone_with, send, fill):
    phone = phone_with("contacts_open")
    send(phone, Event("launch", "contacts"), Event("go", "add"))
    fill(phone, "name", "Ada Vogel")
    fill(phone, "phone", "12345678")
    send(phone, Event("set", "label", "Work"), Event("save"))
    contact = data_of(phone, "contacts").contacts[-1]
    assert contact.label == "Work"

    send(phone, Event("edit_contact", contact.id), Event("save"))

    assert data_of(phone, "contacts").contacts[-1] == contact
    assert "Work" in texts(phone)


@pytest.mark.parametrize("time", ["7:45", "24:00", "soon", ""])
def test_alarms_need_a_time_of_day(phone_with, send, fill, time):
    phone = phone_with("clock_add")
    send(phone, Event("launch", "clock"), Event("go", "add"))
    fill(phone, "time", time)
    before = data_of(phone, "clock")

    send(phone, Event("save"))

    assert data_of(phone, "clock") is before


def test_timer_starts_with_minutes_and_stops(phone_with, send, fill):
    phone = phone_with("clock_timer")
    send(phone, Event("launch", "clock"), Event("go", "timer"))
    send(phone, Event("start", "timer"))
    assert not data_of(phone, "clock").watches[0].running

    fill(phone, "minutes", "12")
    send(phone, Event("start", "timer"))
    assert "12 minutes left" in texts(phone)
    send(phone, Event("stop", "timer"))
    assert not data_of(phone, "clock").watches[0].running


def test_a_timer_takes_hours_and_seconds_too(phone_with, send, fill):
    phone = phone_with("clock_timer")
    send(phone, Event("launch", "clock"), Event("go", "timer"), Event("go", "long_timer"))
    fill(phone, "seconds", "soon")
    send(phone, Event("start", "timer"))
    assert not data_of(phone, "clock").watches[0].running

    phone.press(67, times=4)
    fill(phone, "seconds", "30")
    fill(phone, "hours", "2")
    send(phone, Event("start", "timer"))

    assert "2 h 0 min 30 s left" in texts(phone)


def test_stopwatch_runs_and_stops(phone_with, send):
    phone = phone_with("clock_timer")
    send(phone, Event("launch", "clock"), Event("go", "stopwatch"), Event("start", "stopwatch"))

    assert "Running" in texts(phone)
    send(phone, Event("stop", "stopwatch"))
    assert "00:00" in texts(phone)


def test_timetable_is_the_same_every_time_with_one_cheapest_train(phone_with):
    data = data_of(phone_with("tickets_find"), "tickets")
    origin, destination = data.stations[:2]

    trips = timetable(data, origin, destination, data.days[0])

    assert trips == timetable(data, origin, destination, data.days[0])
    assert len({trip.price for trip in trips}) == len(trips) == len(data.departures)
    assert [trip.departure for trip in trips] == sorted(data.departures)
    assert all("Second class" in trip.classes for trip in trips)


def test_there_are_no_trains_to_where_one_is_or_to_nowhere(phone_with):
    data = data_of(phone_with("tickets_find"), "tickets")

    assert timetable(data, data.stations[0], data.stations[0], data.days[0]) == ()
    assert timetable(data, data.stations[0], "Atlantis", data.days[0]) == ()
    assert trip_of(data, "not a trip") is None


def test_search_needs_both_ends_and_knows_stations_in_any_case(phone_with, send, fill):
    phone = phone_with("tickets_find")
    data = data_of(phone, "tickets")
    send(phone, Event("launch", "tickets"))
    fill(phone, "from", data.stations[0].lower())

    send(phone, Event("search"))
    assert phone.state.front.page.name == "home"

    fill(phone, "to", data.stations[1].upper())
    send(phone, Event("search"))
    expected = f"{data.stations[0]}|{data.stations[1]}|{data.days[0]}"
    assert phone.state.front.page.argument == expected


def test_a_route_without_trains_says_so(phone_with, send, fill):
    phone = phone_with("tickets_find")
    send(phone, Event("launch", "tickets"))
    fill(phone, "from", "Atlantis|x")
    fill(phone, "to", "Avalon")

    send(phone, Event("search"))

    assert "No trains found" in texts(phone)


@pytest.mark.parametrize("wanted", CLASSES)
def test_the_class_filter_shows_trains_that_have_the_class(phone_with, send, fill, wanted):
    phone = phone_with("tickets_find", seed=4)
    data = data_of(phone, "tickets")
    send(phone, Event("launch", "tickets"))
    fill(phone, "from", data.stations[0])
    fill(phone, "to", data.stations[1])
    send(phone, Event("search"), Event("set", "class", wanted))

    route = phone.state.front.page.argument
    offered = {each.event for each in (*phone.laid_out.targets, *phone.laid_out.hidden)}
    trips = timetable(data, data.stations[0], data.stations[1], data.days[0])
    for trip in trips:
        opens = Event("go", "trip", f"{route}|{trip.departure}")
        assert (opens in offered) == (wanted in trip.classes)


def test_booking_keeps_what_was_chosen_and_shows_the_order(phone_with, solve):
    phone = phone_with("tickets_book_date_class", split=Split.VALIDATION)
    orders = len(data_of(phone, "tickets").orders)

    solve(phone)

    data = data_of(phone, "tickets")
    assert len(data.orders) == orders + 1
    assert data.orders[-1].travel_class != "Second class"
    assert phone.state.front.page.name == "order"
    assert "Booked" in texts(phone)


def test_another_passenger_can_be_chosen(phone_with, send, fill):
    phone = phone_with("tickets_find")
    data = data_of(phone, "tickets")
    send(phone, Event("launch", "tickets"))
    fill(phone, "from", data.stations[0])
    fill(phone, "to", data.stations[1])
    send(phone, Event("search"))
    trip = timetable(data, data.stations[0], data.stations[1], data.days[0])[0]
    send(phone, Event("go", "trip", f"{phone.state.front.page.argument}|{trip.departure}"))
    other = data.passengers[1].name

    send(phone, Event("go", "pick_passenger"), Event("pick", "passenger", other), Event("book"))

    assert data_of(phone, "tickets").orders[-1].passenger == other


def test_a_cancelled_order_cannot_be_cancelled_again(phone_with, solve):
    phone = phone_with("tickets_cancel")

    solve(phone)

    assert "Cancelled" in texts(phone)
    sent = [target.event.name for target in phone.laid_out.targets if target.event]
    values = [target.event.value for target in phone.laid_out.targets if target.event]
    assert "go" in sent
    assert not {"cancel", "move"} & set(values)


def test_days_of_trains_are_written_as_the_look_writes_them(phone_with, send):
    phone = phone_with("tickets_find", look=look_number("ja", 1))
    day = data_of(phone, "tickets").days[3]

    send(phone, Event("launch", "tickets"), Event("go", "dates"))

    assert day_text(day, "ja") in texts(phone)
    assert day not in texts(phone)
