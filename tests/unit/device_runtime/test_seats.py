from dataclasses import replace
from itertools import count

import pytest

from device_runtime.errors import DeviceError, UnknownTaskError
from device_runtime.ports import Decided
from device_runtime.scripted import TEMPLATE, FunctionPolicy, ScriptedPhone
from device_runtime.seats import SeatPhone, Seats
from sync.clock import ManualClock
from sync.vocabulary import (
    Assignment,
    AssignmentId,
    DeviceId,
    EndReason,
    ReleaseId,
    finish,
    tap,
    wait,
)


def an_assignment(number, **changes):
    base = Assignment(AssignmentId(f"a-{number}"), template=TEMPLATE, seed=number, step_budget=6)
    return replace(base, **changes)


def random_walk(request):
    drawn = request.random.random()
    if drawn < 0.2:
        return finish()
    return tap(0.5, 0.12, element=1) if drawn < 0.7 else wait()


def make_seats(size, policy, *, phones=None):
    numbers = count()
    made = phones or [ScriptedPhone() for _ in range(size)]
    return Seats(
        [SeatPhone(phone, phone) for phone in made],
        lambda assignment, phone: policy,
        device_id=DeviceId("farm-1"),
        clock=ManualClock(),
        new_id=lambda: f"e-{next(numbers)}",
    )


def play_all(seats, assignments):
    waiting, played = list(assignments), []
    while waiting or seats.busy:
        while waiting and seats.free:
            seats.start(waiting.pop(0))
        played += seats.turn()
    return played


def essence(played):
    episode = played.episode
    return (
        [(step.action, step.valid, step.repeat_count) for step in episode.steps],
        episode.end_reason,
        played.verdict.score if played.verdict else None,
    )


@pytest.mark.parametrize("size", [1, 3, 8])
def test_number_of_seats_does_not_change_what_is_played(size):
    assignments = [an_assignment(number) for number in range(20)]

    alone = play_all(make_seats(1, FunctionPolicy(random_walk)), assignments)
    together = play_all(make_seats(size, FunctionPolicy(random_walk)), assignments)

    by_id = {item.episode.assignment.id: essence(item) for item in together}
    assert by_id == {item.episode.assignment.id: essence(item) for item in alone}
    assert len({str(value) for value in by_id.values()}) > 5


def test_seats_with_the_same_policy_are_asked_in_one_batch():
    sizes = []

    class Batching:
        wants_encoding = False

        def decide(self, requests):
            sizes.append(len(requests))
            return [Decided(finish()) for _ in requests]

    play_all(make_seats(4, Batching()), [an_assignment(number) for number in range(6)])

    assert sizes == [4, 2]


def test_lost_phone_ends_its_own_episode_only():
    phones = [ScriptedPhone(lost_at=0), ScriptedPhone()]
    turner = FunctionPolicy(lambda request: tap(0.5, 0.12, element=1))
    seats = make_seats(2, turner, phones=phones)

    played = play_all(seats, [an_assignment(0), an_assignment(1)])

    ends = {item.episode.seat: item.episode.end_reason for item in played}
    assert ends == {0: EndReason.ENV_ERROR, 1: EndReason.BUDGET}
    assert [item.verdicts for item in played if item.episode.seat == 0] == [()]


@pytest.mark.parametrize("method", ["reset", "observe", "act", "judge"])
def test_phone_that_breaks_ends_its_own_episode_as_an_env_error(method, monkeypatch):
    def broken(*_):
        raise KeyError("a defect of this clone")

    phones = [ScriptedPhone(pages=2), ScriptedPhone(pages=2)]
    monkeypatch.setattr(phones[0], method, broken)
    turner = FunctionPolicy(
        lambda request: (
            finish()
            if request.observation.elements[0].text == "page 1"
            else tap(0.5, 0.12, element=1)
        )
    )
    seats = make_seats(2, turner, phones=phones)

    played = play_all(seats, [an_assignment(0), an_assignment(1)])

    by_seat = {item.episode.seat: item for item in played}
    assert by_seat[0].episode.end_reason is EndReason.ENV_ERROR
    assert "KeyError" in by_seat[0].episode.end_detail
    assert by_seat[0].verdict is None
    assert by_seat[1].verdict.success


def test_unknown_template_is_refused_and_leaves_the_seat_free():
    seats = make_seats(1, FunctionPolicy(random_walk))

    with pytest.raises(UnknownTaskError):
        seats.start(an_assignment(0, template="nobody knows this"))

    assert seats.free == 1


def test_release_stays_in_use_until_its_last_episode_ends():
    seats = make_seats(2, FunctionPolicy(lambda request: finish()))
    seats.start(an_assignment(0), release_id=ReleaseId("r-1"))
    before = seats.releases_in_use
    [played] = seats.turn()

    assert before == {"r-1"}
    assert played.episode.release_id == "r-1"
    assert seats.releases_in_use == frozenset()


def test_requests_name_the_release_that_the_episode_began_with():
    asked = []
    policy = FunctionPolicy(lambda request: asked.append(request.release_id) or finish())
    seats = make_seats(2, policy)
    seats.start(an_assignment(0), release_id=ReleaseId("r-1"))
    seats.start(an_assignment(1), release_id=ReleaseId("r-2"))
    seats.turn()

    assert asked == ["r-1", "r-2"]


def test_policy_that_answers_too_few_requests_is_an_error():
    class Short:
        wants_encoding = False

        def decide(self, requests):
            return []

    seats = make_seats(1, Short())
    seats.start(an_assignment(0))

    with pytest.raises(DeviceError, match="0 of 1"):
        seats.turn()


def test_starting_without_a_free_seat_is_misuse():
    seats = make_seats(1, FunctionPolicy(random_walk))
    seats.start(an_assignment(0))

    with pytest.raises(RuntimeError, match="no seat is free"):
        seats.start(an_assignment(1))


def test_closing_lets_go_of_every_phone():
    phones = [ScriptedPhone(), ScriptedPhone()]
    seats = make_seats(2, FunctionPolicy(random_walk), phones=phones)
    seats.start(an_assignment(0))

    seats.close()

    assert [phone.closed for phone in phones] == [True, True]
    assert seats.free == 2


def test_steps_are_counted():
    seats = make_seats(2, FunctionPolicy(lambda request: wait()))

    play_all(seats, [an_assignment(number, step_budget=3) for number in range(4)])

    assert seats.env_steps == 12
