"""A channel that offers a release to part of its phones: real metadata, real installers."""

from __future__ import annotations

import pytest

from device_runtime.installer import Installer
from sync.clock import ManualClock
from sync.cohorts import CohortPhone, StagedOffer
from sync.errors import RejectedError
from sync.releases import roll_back_of
from sync.vocabulary import ReleaseId


@pytest.fixture
def staged(fleet):
    """A fleet whose channel stable has r1 and offers r2 to phone "in"."""
    fleet.publish(1, channel="stable")
    fleet.publish(2, channel=None)
    fleet.repository.offer("stable", offer())
    return fleet


def offer(release_id="r2", version=2, **more):
    return StagedOffer(
        ReleaseId(release_id), version=version, seed="s", share_bps=0, allow=("in",), **more
    )


def installer(fleet, name):
    """The installer of a phone that knows its own name."""
    phone = fleet.phone(name)
    return Installer(phone.folder, phone.client, phone=CohortPhone(name), clock=ManualClock())


def test_a_phone_in_the_cohort_installs_the_offer_and_another_what_the_channel_points_at(staged):
    inside, outside = installer(staged, "in"), installer(staged, "out")

    assert inside.refresh("stable").installed.release_id == "r2"
    assert outside.refresh("stable").installed.release_id == "r1"
    assert inside.refresh("stable") is None
    assert outside.refresh("stable") is None


def test_an_installer_that_knows_no_cohorts_stays_on_the_channels_release(staged):
    phone = staged.phone("in")

    assert phone.installer.refresh("stable").installed.release_id == "r1"


def test_taking_back_reaches_whoever_has_the_offer_without_an_exception_from_the_rule(staged):
    inside = installer(staged, "in")
    inside.refresh("stable")
    old = staged.repository.release("r1")
    back = roll_back_of(old, new_id=ReleaseId("r2-back"), version=3, now_ms=1)
    staged.repository.publish(back, staged.repository.adapter("r1"), "stable")

    outcome = inside.refresh("stable")

    assert outcome.installed.release_id == "r2-back"
    assert outcome.installed.release.adapter_digest == old.adapter_digest
    assert staged.repository.channel("stable").staged is None


def test_an_offer_that_ends_never_leads_a_phone_down(staged):
    """Who has r2 keeps it where the offer is withdrawn and nothing higher was signed."""
    inside = installer(staged, "in")
    inside.refresh("stable")
    staged.repository.offer("stable", None)

    outcome = inside.refresh("stable")

    assert outcome.reason == "older_version"
    assert inside.current().release_id == "r2"


@pytest.mark.parametrize(
    ("release_id", "version"), [("r1", 1), ("r2", 3), ("r9", 9)]
)  # what the channel has already, a version that is not the release's, and no release at all
def test_only_a_signed_release_above_the_channels_can_be_offered(staged, release_id, version):
    before = staged.repository.channel("stable")

    with pytest.raises(RejectedError):
        staged.repository.offer("stable", offer(release_id, version))

    assert staged.repository.channel("stable") == before


def test_a_channel_that_points_nowhere_offers_nothing(staged):
    with pytest.raises(RejectedError, match="not above what beta points at"):
        staged.repository.offer("beta", offer())


def test_an_offer_that_nobody_signed_is_not_believed(staged):
    """Somebody between cloud and phone widens the share: the bytes are not the signed ones."""
    outside = installer(staged, "out")

    def widened(path):
        return [data.replace(b'"share_bps":0', b'"share_bps":9') for data in staged.honest(path)]

    staged.serve = widened

    assert outside.refresh("stable").reason == "tampered"
