"""Cohorts: stable, monotone, drawn anew for each release, and a hold-out that never changes."""

from __future__ import annotations

from dataclasses import replace
from itertools import pairwise

import pytest

from sync.cohorts import CohortPhone, StagedOffer, is_held_out, phone_of_birth, place
from sync.errors import RejectedError
from sync.messages import Birth
from sync.releases import ChannelPointer, pointer_from_json, pointer_to_json
from sync.vocabulary import DeviceId, ReleaseId

PHONES = [CohortPhone(f"phone-{at}", {"role": "phone"}) for at in range(2000)]
OFFER = StagedOffer(
    ReleaseId("r2"), version=2, seed="one", share_bps=1000, hold_out_bps=500, where={}
)


def cohort(offer):
    return {phone.device_id for phone in PHONES if offer.includes(phone)}


def test_places_are_part_of_the_protocol():
    assert [place("one", f"phone-{at}") for at in range(4)] == [8905, 2670, 6179, 9172]


def test_a_wider_stage_holds_every_narrower_one():
    shares = (100, 1000, 5000, 10_000)
    cohorts = [cohort(replace(OFFER, share_bps=share)) for share in shares]

    for narrow, wide in pairwise(cohorts):
        assert narrow < wide


def test_a_share_is_about_as_large_as_it_says():
    assert 0.07 < len(cohort(OFFER)) / len(PHONES) < 0.13


def test_another_seed_draws_other_phones():
    other = cohort(replace(OFFER, seed="two"))

    assert len(other & cohort(OFFER)) < len(other) / 3


def test_the_hold_out_is_the_same_for_every_release_and_gets_none_of_them():
    held = {phone.device_id for phone in PHONES if is_held_out(phone.device_id, 500)}
    everybody = replace(OFFER, share_bps=10_000, allow=tuple(held))

    assert held
    assert not held & cohort(everybody)
    assert not held & cohort(replace(everybody, seed="two"))
    assert len(cohort(everybody)) == len(PHONES) - len(held)


def test_deny_goes_before_allow_and_allow_before_chance():
    first = next(
        phone.device_id
        for phone in PHONES
        if not is_held_out(phone.device_id, 500) and place("one", phone.device_id) > 5000
    )

    assert first not in cohort(OFFER)
    assert first in cohort(replace(OFFER, share_bps=0, allow=(first,)))
    assert first not in cohort(replace(OFFER, share_bps=10_000, allow=(first,), deny=(first,)))


def test_a_rule_on_attributes_leaves_out_phones_without_them():
    offer = replace(OFFER, share_bps=10_000, where={"android": ("13", "14")})

    assert not cohort(offer)
    fits = next(phone for phone in PHONES if not is_held_out(phone.device_id, 500))
    assert offer.includes(CohortPhone(fits.device_id, {"android": "14"}))
    assert not offer.includes(CohortPhone(fits.device_id, {"android": "12"}))


def test_a_phone_is_what_its_birth_says_and_facts_go_before_attributes():
    birth = Birth(
        device_id=DeviceId("p"), base_digest="b", attributes={"model": "m", "role": "made up"}
    )

    phone = phone_of_birth(birth)

    assert phone.attributes["model"] == "m"
    assert phone.attributes["role"] == "phone"
    assert phone.attributes["base_digest"] == "b"


def test_a_pointer_carries_its_offer_and_one_without_is_as_it_was():
    plain = ChannelPointer(channel="stable", release_id=ReleaseId("r1"), version=1)

    assert pointer_from_json(pointer_to_json(plain.offering(OFFER))) == plain.offering(OFFER)
    assert b"staged" not in pointer_to_json(plain)


def test_a_phone_that_is_not_offered_the_release_gets_what_the_channel_points_at():
    pointer = ChannelPointer(channel="stable", release_id=ReleaseId("r1"), version=1)
    inside = CohortPhone(next(iter(cohort(OFFER))))
    outside = CohortPhone(next(p.device_id for p in PHONES if p.device_id not in cohort(OFFER)))

    assert pointer.offering(OFFER).for_phone(inside) == ("r2", 2)
    assert pointer.offering(OFFER).for_phone(outside) == ("r1", 1)
    assert pointer.offering(OFFER).for_phone(None) == ("r1", 1)


@pytest.mark.parametrize("share", [-1, 10_001])
def test_a_share_that_cannot_be_is_refused(share):
    data = pointer_to_json(
        ChannelPointer(channel="stable", release_id=ReleaseId("r1"), version=1).offering(OFFER)
    ).replace(b'"share_bps":1000', f'"share_bps":{share}'.encode())

    with pytest.raises(RejectedError, match="cannot be read"):
        pointer_from_json(data)
