"""What `release apply` leaves behind for the cloud, and what `release list` says of channels."""

import json

import pytest

from device_runtime.trajectory_log import TrajectoryLog
from outrider import cli
from sync.clock import ManualClock
from sync.outbox import depth
from sync.vocabulary import new_uuid7

pytestmark = pytest.mark.integration


def run_json(capsys, *arguments):
    code = cli.run([*map(str, arguments), "--json"])
    return code, [json.loads(line) for line in capsys.readouterr().out.splitlines()]


def test_a_bundle_applied_by_hand_is_told_to_the_cloud_by_the_phones_outbox(capsys, fleet):
    phone = fleet.phone()
    path = phone.folder / "phone.db"
    log = TrajectoryLog.open(path, clock=ManualClock(), new_id=new_uuid7)
    before = depth(log.connection)
    code, lines = run_json(capsys, "release", "apply", fleet.publish(1), "--phone", phone.folder)
    assert code == 0
    transitions = [line for line in lines if line["event"] == "transition"]
    assert depth(log.connection) - before == len(transitions) == 5
    log.close()


def test_a_release_shows_the_channels_that_point_at_it(capsys, fleet):
    for version in (1, 2):
        fleet.publish(version)
    fleet.repository.set_channel("stable", "r1")
    _, lines = run_json(capsys, "release", "list", "--data", fleet.directory)
    channels = {line["release_id"]: line["channels"] for line in lines[:-1]}
    assert channels == {"r1": ["stable"], "r2": ["canary"]}
