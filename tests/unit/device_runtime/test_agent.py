from dataclasses import replace
from itertools import count

import pytest

from device_runtime.agent import (
    EpisodeMachine,
    EpisodeOrigin,
    harness_hash,
    judge_end,
    run_episode,
)
from device_runtime.gate import Gate
from device_runtime.guard_rules import Consequence, GuardRules, Wording
from device_runtime.ports import ActOutcome, Decided, ResetOutcome
from device_runtime.safety import Safety
from device_runtime.scripted import TEMPLATE, FunctionPolicy, ScriptedPhone
from device_runtime.stop import StopSwitch
from sync import policy_io
from sync.clock import ManualClock
from sync.history import EMPTY_HISTORY, fold, same_screen
from sync.vocabulary import (
    Assignment,
    AssignmentId,
    DeviceId,
    Element,
    EndReason,
    Observation,
    ReleaseId,
    SlotRef,
    answer,
    finish,
    tap,
    type_text,
    wait,
)

ORIGIN = EpisodeOrigin(DeviceId("phone-1"), seat=3, release_id=ReleaseId("r-7"), arm="canary")
NEXT = tap(0.5, 0.12, element=1)


def an_assignment(**changes):
    base = Assignment(AssignmentId("a-1"), template=TEMPLATE, step_budget=5)
    return replace(base, **changes)


def ids():
    numbers = count()
    return lambda: f"episode-{next(numbers)}"


def a_machine(assignment=None, *, clock=None, encodes=False, safety=None):
    machine = EpisodeMachine(
        assignment or an_assignment(),
        ORIGIN,
        clock=clock or ManualClock(),
        new_id=ids(),
        encodes=encodes,
        safety=safety,
    )
    machine.begin(ResetOutcome("open page 2", "suite/1"))
    return machine


def page_turner(pages):
    def choose(request):
        last = f"page {pages - 1}"
        return finish() if request.observation.elements[0].text == last else NEXT

    return FunctionPolicy(choose, name="turner")


def play(phone, policy, assignment=None, **options):
    return run_episode(
        phone,
        policy,
        assignment or an_assignment(),
        origin=ORIGIN,
        clock=ManualClock(),
        new_id=ids(),
        **options,
    )


def test_episode_that_is_finished_at_the_goal_succeeds():
    phone = ScriptedPhone(pages=3)

    episode = play(phone, page_turner(3))

    assert episode.end_reason is EndReason.FINISH
    assert [step.action for step in episode.steps] == [NEXT, NEXT, finish()]
    assert [step.index for step in episode.steps] == [0, 1, 2]
    assert episode.goal == "open page 2"
    assert (episode.device_id, episode.seat, episode.release_id, episode.arm) == (
        "phone-1",
        3,
        "r-7",
        "canary",
    )
    assert episode.harness_hash == harness_hash()
    assert episode.end_state_digest == "2"
    assert episode.final_observation is None
    assert judge_end(phone, episode).success


def test_budget_truncates_and_keeps_the_last_observation():
    phone = ScriptedPhone(pages=9)

    episode = play(phone, page_turner(9), an_assignment(step_budget=2))

    assert episode.end_reason is EndReason.BUDGET
    assert len(episode.steps) == 2
    assert episode.final_observation.elements[0].text == "page 2"
    assert not judge_end(phone, episode).success


def test_answer_ends_the_episode():
    episode = play(ScriptedPhone(), FunctionPolicy(lambda _: answer("42")))

    assert episode.end_reason is EndReason.ANSWER
    assert len(episode.steps) == 1


def test_lost_phone_makes_an_env_error_that_nobody_judges():
    phone = ScriptedPhone(pages=5, lost_at=1)

    episode = play(phone, page_turner(5))

    assert episode.end_reason is EndReason.ENV_ERROR
    assert "unplugged" in episode.end_detail
    assert [step.valid for step in episode.steps] == [True, False]
    assert episode.end_state_digest is None
    assert judge_end(phone, episode) is None


def test_action_that_cannot_be_carried_out_is_recorded_as_invalid():
    episode = play(ScriptedPhone(), FunctionPolicy(lambda _: wait()), an_assignment(step_budget=2))

    assert [step.valid for step in episode.steps] == [False, False]


def test_repeats_are_counted_only_in_a_row_on_the_same_screen():
    episode = play(
        ScriptedPhone(pages=2), FunctionPolicy(lambda _: NEXT), an_assignment(step_budget=4)
    )

    assert [step.repeat_count for step in episode.steps] == [0, 0, 1, 2]


def test_history_can_be_folded_again_from_the_record():
    seen = []

    def choose(request):
        seen.append(request.history)
        return NEXT

    episode = play(ScriptedPhone(pages=3), FunctionPolicy(choose), an_assignment(step_budget=4))

    observations = [step.observation for step in episode.steps] + [episode.final_observation]
    history = EMPTY_HISTORY
    for step, after, asked in zip(episode.steps, observations[1:], seen, strict=True):
        assert asked == history
        history = fold(
            history,
            step.observation,
            step.action,
            valid=step.valid,
            screen_changed=not same_screen(step.observation, after),
        )


def test_encoded_requests_carry_the_digest_that_is_recorded():
    machine = a_machine(encodes=True)

    request = machine.see(ScriptedPhone().observe())
    machine.choose(Decided(finish(), log_prob=-0.5, policy_version="r-7", quantisation="int8"))

    step = machine.close().steps[0]
    assert step.input_digest == request.encoded.digest != ""
    assert step.policy_io_version == policy_io.POLICY_IO_VERSION
    assert (step.log_prob, step.policy_version, step.quantisation) == (-0.5, "r-7", "int8")


def test_taught_action_is_kept_beside_the_chosen_one():
    machine = a_machine()
    machine.see(ScriptedPhone().observe())

    machine.choose(Decided(finish(), taught_action=NEXT))

    assert machine.close().steps[0].taught_action == NEXT


def test_timings_come_from_the_clock_that_was_passed_in():
    clock = ManualClock(start_ms=1000)
    machine = a_machine(clock=clock)
    machine.see(ScriptedPhone().observe())
    clock.advance(0.25)
    machine.choose(Decided(NEXT))
    clock.advance(0.5)
    machine.acted(ActOutcome())

    step = machine.steps[0]
    assert (step.observed_at_ms, step.decide_ms, step.act_ms) == (1000, 250.0, 500.0)


def test_guard_ends_the_episode_without_carrying_out_the_action():
    safety = Safety(guard_rules=GuardRules(forbidden_packages=frozenset({"org.example"})))
    phone = ScriptedPhone()

    episode = play(phone, page_turner(3), safety=safety)

    assert episode.end_reason is EndReason.GUARD
    assert "org.example" in episode.end_detail
    assert [step.valid for step in episode.steps] == [False]
    assert phone.observe().elements[0].text == "page 0"
    assert judge_end(phone, episode) is None


def test_a_stop_during_a_question_is_a_stop_and_no_refusal(tmp_path):
    clock = ManualClock()
    switch = StopSwitch(tmp_path, clock=clock)

    def stopped_meanwhile(question, action):
        switch.stop("enough")
        return False

    rules = GuardRules(consequences=(Consequence("next", Wording({"en": ("next",)})),))
    safety = Safety(rules, ask_owner=stopped_meanwhile, gate=Gate(rules, switch, clock=clock))

    episode = play(ScriptedPhone(), page_turner(9), safety=safety)

    assert episode.end_detail == "stopped: stopped by its owner: enough"


@pytest.mark.parametrize(
    ("says_yes", "ending"), [(True, EndReason.BUDGET), (False, EndReason.GUARD)]
)
def test_consequential_action_waits_for_the_owners_yes(says_yes, ending):
    asked = []

    def ask_owner(question, action):
        asked.append((question, action))
        return says_yes

    rules = GuardRules(consequences=(Consequence("next", Wording({"en": ("next",)})),))
    episode = play(
        ScriptedPhone(),
        page_turner(9),
        an_assignment(step_budget=1),
        safety=Safety(guard_rules=rules, ask_owner=ask_owner),
    )

    assert episode.end_reason is ending
    assert asked == [("May I touch “next”?", NEXT)]


def test_secret_is_a_slot_in_the_record_and_text_at_the_driver():
    field = Element(
        "android.widget.EditText", (0, 0, 100, 50), text="hunter22", editable=True, password=True
    )
    machine = a_machine()
    request = machine.see(Observation(1080, 2400, (field,)))

    carried_out = machine.choose(Decided(type_text(SlotRef("password_1"))))
    machine.acted(ActOutcome())

    assert request.observation.elements[0].text == "⟨password_1⟩"
    assert carried_out == type_text("hunter22")
    assert machine.steps[0].action == type_text(SlotRef("password_1"))
    assert "hunter22" not in repr(machine.steps)


def test_slot_that_the_episode_does_not_have_is_refused():
    machine = a_machine()
    machine.see(ScriptedPhone().observe())

    assert machine.choose(Decided(type_text(SlotRef("password_9")))) is None
    assert machine.close().end_reason is EndReason.GUARD


def test_sampling_depends_on_the_assignment_alone():
    draws = [a_machine(an_assignment(seed=seed)).random.random() for seed in (1, 1, 2)]

    assert draws[0] == draws[1] != draws[2]


def test_choosing_twice_on_one_screen_is_misuse():
    machine = a_machine()
    machine.see(ScriptedPhone().observe())
    machine.choose(Decided(finish()))

    with pytest.raises(RuntimeError, match="see an observation first"):
        machine.choose(Decided(finish()))


def test_unfinished_episode_has_no_record():
    with pytest.raises(RuntimeError, match="not ended"):
        a_machine().close()


def test_steps_are_shown_as_they_happen():
    shown = []

    episode = play(ScriptedPhone(), page_turner(3), on_step=shown.append)

    assert tuple(shown) == episode.steps
