"""A candidate between staged and trial: told, refused for good, put off, and taken up again."""

import json

import numpy as np
import pytest

from device_runtime.candidate import CandidateFolder
from device_runtime.errors import ShadowPostponedError
from device_runtime.installer import Installer
from device_runtime.shadow import ShadowFigures, ShadowOutcome
from device_runtime.slots import Slots
from sync.clock import ManualClock
from sync.errors import TransientError
from sync.releases import Reason

pytestmark = pytest.mark.integration

SCORED = ["announced", "downloading", "verified", "staged", "shadow"]
FIGURES = ShadowFigures(screens=16, agreement=0.75)


class Scorer:
    """Says what it was told to say, and remembers what it was asked."""

    def __init__(self, *outcomes):
        self.outcomes = list(outcomes)
        self.asked = []

    def __call__(self, candidate, active):
        self.asked.append((candidate, active))
        outcome = self.outcomes.pop(0) if self.outcomes else ShadowOutcome(FIGURES)
        if isinstance(outcome, Exception):
            raise outcome
        return outcome


REFUSED = ShadowOutcome(FIGURES, Reason.ONE_ACTION, "it does one and the same")


@pytest.fixture
def scoring(fleet):
    """`scoring(*outcomes)`: a phone whose candidates are scored so, and its scorer."""

    def make(*outcomes, phone=None):
        phone = phone or fleet.phone()
        scorer = Scorer(*outcomes)
        phone.installer = Installer(
            phone.folder,
            phone.client,
            shadow=scorer,
            report=phone.transitions.append,
            clock=ManualClock(),
        )
        return phone, scorer

    return make


def test_a_candidate_is_scored_between_staged_and_trial_and_the_cloud_hears_how(fleet, scoring):
    phone, scorer = scoring()
    fleet.publish(1)

    outcome = phone.installer.refresh("canary")

    assert outcome.applied
    assert phone.states == [*SCORED, "trial"]
    assert phone.runs == "r1"
    told = phone.transitions[-1].event().fields
    assert (told["shadow_screens"], told["shadow_agreement"]) == ("16", "0.75")
    assert "shadow_screens" not in phone.transitions[-2].fields()
    assert CandidateFolder(phone.folder).release() is None
    (asked,) = scorer.asked
    assert asked[1] is None  # the factory's policy acted


def test_it_is_scored_beside_what_acts(fleet, scoring):
    phone, scorer = scoring()
    fleet.publish(1)
    phone.installer.refresh("canary")
    phone.installer.commit()
    fleet.publish(2)
    phone.installer.refresh("canary")

    candidate, active = scorer.asked[-1]
    acted = Slots(phone.folder).checked("a").read()
    np.testing.assert_array_equal(active.tensors["layer.A"], acted.tensors["layer.A"])
    assert candidate.digest != active.digest


def test_what_is_broken_never_acts_and_is_not_fetched_again(fleet, scoring):
    phone, scorer = scoring(REFUSED)
    fleet.publish(1)

    outcome = phone.installer.refresh("canary")

    assert (outcome.applied, outcome.reason) == (False, "one_action")
    assert phone.states == [*SCORED, "idle"]
    assert phone.transitions[-1].fields()["reason"] == "one_action"
    assert phone.transitions[-1].fields()["shadow_agreement"] == "0.75"
    assert phone.runs == "factory"
    assert phone.installer.refresh("canary") is None
    assert len(scorer.asked) == 1

    fleet.publish(2)
    assert phone.installer.refresh("canary").applied
    assert phone.runs == "r2"


def test_a_refused_candidate_leaves_a_trial_as_it_was(fleet, scoring):
    phone, _ = scoring(ShadowOutcome(FIGURES), REFUSED)
    fleet.publish(1)
    phone.installer.refresh("canary")
    before = Slots(phone.folder).state()
    fleet.publish(2)

    assert not phone.installer.refresh("canary").applied

    after = Slots(phone.folder).state()
    assert (after.active, after.trial_left, after.floor) == (before.active, 3, 1)
    assert phone.runs == "r1"


def test_a_refused_candidate_can_still_be_tried_by_hand(fleet, scoring):
    phone, _ = scoring(REFUSED)
    bundle = fleet.publish(1)
    phone.installer.refresh("canary")

    by_hand = Installer(phone.folder, phone.client, clock=ManualClock())

    assert by_hand.apply_bundle(bundle).applied
    assert phone.runs == "r1"


def test_scoring_that_is_put_off_goes_on_without_another_download(fleet, scoring):
    phone, scorer = scoring(ShadowPostponedError("19 % are left"), ShadowPostponedError("18 %"))
    fleet.publish(1)
    for _ in range(2):
        with pytest.raises(TransientError, match="later"):
            phone.installer.refresh("canary")
    assert phone.runs == "factory"
    downloads = [path for path in fleet.requests if path.endswith("adapter.bin")]

    assert phone.installer.refresh("canary").applied

    assert phone.states == [*SCORED, "trial"]  # told once
    assert [path for path in fleet.requests if path.endswith("adapter.bin")] == downloads
    assert len(scorer.asked) == 3


def test_a_restart_in_the_middle_goes_on_with_the_same_candidate(fleet, scoring):
    phone, _ = scoring(KeyError("the process died"))
    fleet.publish(1)
    with pytest.raises(KeyError):
        phone.installer.refresh("canary")

    phone, scorer = scoring(phone=phone)

    assert phone.installer.begin_load().release is None
    assert phone.installer.refresh("canary").applied
    assert phone.states == [*SCORED, "trial"]
    assert len(scorer.asked) == 1


def test_a_newer_release_takes_the_place_of_a_candidate(fleet, scoring):
    phone, _ = scoring(ShadowPostponedError("19 %"))
    fleet.publish(1)
    with pytest.raises(TransientError):
        phone.installer.refresh("canary")
    fleet.publish(2)

    assert phone.installer.refresh("canary").applied
    assert phone.runs == "r2"


def test_a_candidate_that_was_damaged_on_disk_is_fetched_again(fleet, scoring):
    phone, _ = scoring(ShadowPostponedError("19 %"))
    fleet.publish(1)
    with pytest.raises(TransientError):
        phone.installer.refresh("canary")
    stored = phone.folder / "slots" / "candidate" / "adapter.bin"
    stored.write_bytes(stored.read_bytes()[:-1])

    assert phone.installer.refresh("canary").applied
    assert phone.runs == "r1"


def test_a_bundle_is_scored_like_a_download(fleet, scoring):
    phone, scorer = scoring(REFUSED)
    outcome = phone.installer.apply_bundle(fleet.publish(1))
    assert (outcome.applied, outcome.reason) == (False, "one_action")
    assert len(scorer.asked) == 1


def test_the_event_of_a_refusal_is_plain_text_by_name(fleet, scoring):
    phone, _ = scoring(REFUSED)
    fleet.publish(1)
    phone.installer.refresh("canary")
    fields = phone.transitions[-1].event().fields
    assert all(isinstance(value, str) for value in fields.values())
    json.dumps(fields)
