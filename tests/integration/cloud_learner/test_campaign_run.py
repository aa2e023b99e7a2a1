"""A whole campaign over the wire: service, devices and learner, with real logs and releases."""

from __future__ import annotations

from collections import Counter

import pytest

from cloud_learner.audit import audit
from cloud_learner.campaign import Phase
from sync.messages import Role
from sync.vocabulary import Split


def plays(assignment, release_id):
    """The lexical actor never succeeds, the first release in a third, later ones in two thirds."""
    if assignment.actor == "oracle":
        return True
    if assignment.actor == "lexical":
        return False
    return assignment.seed % 3 < (1 if release_id in {"factory", "r0001"} else 2)


@pytest.fixture(scope="module")
def played(request, tmp_path_factory, loopback, make_scene, run_campaign):
    """A finished campaign with its devices."""
    folder = tmp_path_factory.mktemp("fleet")
    scene = make_scene(folder, loopback.transport("cloud", service=True))
    scene.port = scene.service.start()
    make_device = request.getfixturevalue("make_device")
    farm = make_device(folder, "farm-1", Role.FARM, loopback.transport("farm-1"), plays)
    phone_link = loopback.transport("phone-1")
    phone = make_device(folder, "phone-1", Role.PHONE, phone_link, plays, seats=1, channel="stable")
    learner = request.getfixturevalue("make_learner")(folder)
    run_campaign(scene, learner)
    for device in (farm, phone):
        device.stop()
    return scene, farm, phone, learner


def test_campaign_runs_to_its_end_and_its_figures_hold(played):
    scene, farm, phone, _learner = played
    assert scene.service.phase is Phase.FINISHED

    summary = scene.service.summary()

    assert summary["valid"], summary
    assert summary["test"]["before"]["n"] == summary["test"]["after"]["n"] == 12
    assert summary["test"]["lexical"]["success"] == 0.0
    assert summary["test"]["after"]["success"] > summary["test"]["before"]["success"]
    assert summary["episodes"]["lost"] == 0
    assert summary["episodes"]["logged"] == len(farm.played) + len(phone.played)
    assert summary["episodes"]["stored"] == summary["episodes"]["acknowledged"]
    assert summary["env_steps"] >= 120
    assert summary["releases"]["promoted"] >= 2
    assert summary["learner_cpu_s"] == 1.5


def test_each_assignment_is_played_once_and_the_phone_shows_a_test_task(played):
    _scene, farm, phone, _learner = played

    counts = Counter(assignment.id for assignment in [*farm.played, *phone.played])

    assert set(counts.values()) == {1}
    assert [a.id for a in phone.played if a.split is Split.TEST] == ["show.00000"]
    assert all(a.split is Split.TRAIN for a in phone.played[:-1])


def test_learner_never_sees_the_test_split(played):
    scene, farm, _phone, learner = played
    test_ids = {a.id for a in farm.played if a.split is not Split.TRAIN}
    stored = scene.service._reports.stored_episodes()

    seen = {one.episode.assignment.id for one in stored if one.episode.id in set(learner.seen)}

    assert seen
    assert not seen & test_ids


def test_later_releases_reach_stable_devices(played):
    scene, _farm, phone, _learner = played
    summary = scene.service.summary()

    assert phone.release_id == scene.service._director.state.promoted
    assert summary["releases"]["reached"]["phone-1"] >= 2


def test_audit_of_store_and_logs_is_clean(played):
    scene, _farm, _phone, _learner = played
    installed = scene.service._reports.installed_digests()

    found = audit(scene.service._reports, scene.data_dir / "phones", installed=installed)

    assert found.differences == ()
    assert found.is_clean
    assert found.counts["lost"] == 0
    summary = scene.service.summary()
    for batch, shown in (("before-new", "before"), ("after-new", "after"), ("lexical", "lexical")):
        assert found.figures[batch]["store"] == summary["test"][shown]
        assert found.figures[batch]["phones"] == summary["test"][shown]
    assert found.counts["env_steps"] == summary["env_steps"]
