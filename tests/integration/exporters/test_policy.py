"""The phone's policy on real graphs: adapters side by side, exact log-probabilities, refusals."""

import dataclasses
import json
import shutil
from random import Random

import numpy as np
import pytest

from device_runtime.errors import InstallError, PolicyFilesError
from device_runtime.policy import OnnxPolicy
from sync.adapter_file import pack, unpack
from sync.decoding import log_prob_of
from sync.policy_io import POLICY_IO_VERSION


@pytest.fixture
def policy(base_dir):
    return OnnxPolicy(base_dir)


def fresh(requests, **changes):
    """The same requests with generators at their start."""
    return [
        dataclasses.replace(request, random=Random(row), **changes)
        for row, request in enumerate(requests)
    ]


def test_log_prob_is_the_policys_own_and_that_of_its_decisions(policy, logged, encoded, tensors):
    policy.load_adapter("r1", tensors)
    decided = policy.decide(fresh(logged[:64], release_id="r1"))

    graphs = policy.graphs_for("r1")
    again = log_prob_of(
        encoded[:64],
        [[one.choice for one in each.decisions] for each in decided],
        graphs.encoder,
        graphs.decoder,
        table=policy.table,
    )
    assert again == pytest.approx(np.array([each.log_prob for each in decided]), abs=1e-4)
    for each in decided:
        assert each.log_prob == pytest.approx(sum(one.log_prob for one in each.decisions))


def test_what_is_drawn_does_not_depend_on_the_batch(policy, logged):
    together = policy.decide(fresh(logged[:48]))
    alone = [policy.decide([request])[0] for request in fresh(logged[:48])]
    assert [one.action for one in together] == [one.action for one in alone]
    assert [one.log_prob for one in together] == pytest.approx(
        [one.log_prob for one in alone], abs=1e-4
    )


def test_requests_of_several_releases_share_one_call(policy, logged, tensors, noise):
    policy.load_adapter("r1", tensors)
    policy.load_adapter("r2", noise(tensors, 2))
    names = ["r1", "factory", "r2"]
    mixed = [
        dataclasses.replace(request, release_id=names[row % 3])
        for row, request in enumerate(fresh(logged[:30]))
    ]

    decided = policy.decide(mixed)

    assert [one.policy_version for one in decided] == [names[row % 3] for row in range(30)]
    for name in names:
        single = policy.decide(fresh(logged[:30], release_id=name))
        for row in range(30):
            if names[row % 3] == name:
                assert single[row].action == decided[row].action
                assert single[row].log_prob == pytest.approx(decided[row].log_prob, abs=1e-4)


def test_current_release_acts_where_none_is_named(policy, logged, tensors):
    policy.load_adapter("r1", tensors)
    assert policy.decide(fresh(logged[:1]))[0].policy_version == "factory"
    policy.use("r1")
    assert policy.decide(fresh(logged[:1]))[0].policy_version == "r1"
    policy.unload("r1")
    assert policy.current == "factory"
    assert policy.loaded == ("factory",)


def test_loading_under_a_known_name_replaces_the_adapter(policy, logged, tensors, noise):
    policy.load_adapter("r1", tensors)
    first = policy.decide(fresh(logged[:16], release_id="r1"))
    policy.load_adapter("r1", noise(tensors, 3))
    policy.load_adapter("r1", tensors)
    assert policy.decide(fresh(logged[:16], release_id="r1")) == first


def test_empty_adapter_is_the_factory_policy(policy, logged):
    policy.load_adapter("r1", {})
    first = policy.decide(fresh(logged[:16], release_id="factory"))
    second = policy.decide(fresh(logged[:16], release_id="r1"))
    assert [one.decisions for one in first] == [one.decisions for one in second]


def test_rank_may_differ_from_layer_to_layer(policy, logged, tensors):
    smaller = dict(tensors)
    smaller["type_head.lora_a"] = tensors["type_head.lora_a"][:, :2]
    smaller["type_head.lora_b"] = tensors["type_head.lora_b"][:2]
    policy.load_adapter("r1", smaller)
    assert policy.decide(fresh(logged[:4], release_id="r1"))[0].policy_version == "r1"


def test_adapter_file_acts_as_what_is_unpacked_from_it(policy, logged, tensors):
    file = unpack(
        pack(tensors, base_digest=policy.base_digest, policy_io_version=POLICY_IO_VERSION)
    )
    policy.load_adapter("r1", file.tensors)
    assert len(policy.decide(fresh(logged[:8], release_id="r1"))) == 8


def test_greedy_choices_have_log_prob_zero(policy, logged):
    decided = policy.decide(fresh(logged[:8], temperature=0.0))
    assert [one.log_prob for one in decided] == [0.0] * 8


def foreign_name(tensors):
    tensors["encoder.block.9.q.lora_a"] = np.zeros((96, 2), np.float32)
    tensors["encoder.block.9.q.lora_b"] = np.zeros((2, 96), np.float32)


def odd_name(tensors):
    tensors["type_head.weight"] = np.zeros((2, 2), np.float32)


def wrong_width(tensors):
    tensors["type_head.lora_a"] = tensors["type_head.lora_a"][:-1]


def ranks_that_differ(tensors):
    tensors["type_head.lora_a"] = tensors["type_head.lora_a"][:, :-1]


def half_a_layer(tensors):
    del tensors["type_head.lora_b"]


def not_a_number(tensors):
    tensors["type_head.lora_b"] = np.full_like(tensors["type_head.lora_b"], np.nan)


def too_large(tensors):
    for name in tensors:
        tensors[name] = np.full_like(tensors[name], 1e30)


@pytest.mark.parametrize(
    ("damage", "reason"),
    [
        (foreign_name, "base_mismatch"),
        (odd_name, "base_mismatch"),
        (wrong_width, "base_mismatch"),
        (ranks_that_differ, "base_mismatch"),
        (half_a_layer, "base_mismatch"),
        (not_a_number, "not_finite"),
        (too_large, "not_finite"),
    ],
)
def test_unusable_adapter_is_refused_and_the_loaded_one_stays(
    policy, logged, tensors, damage, reason
):
    policy.load_adapter("r1", tensors)
    before = policy.decide(fresh(logged[:8], release_id="r1"))
    broken = dict(tensors)
    damage(broken)

    with pytest.raises(InstallError) as refused:
        policy.load_adapter("r1", broken)

    assert refused.value.reason == reason
    assert policy.decide(fresh(logged[:8], release_id="r1")) == before


def test_unknown_release_is_refused(policy, logged):
    with pytest.raises(InstallError) as refused:
        policy.decide(fresh(logged[:1], release_id="r9"))
    assert refused.value.reason == "unknown_release"
    with pytest.raises(InstallError):
        policy.use("r9")


@pytest.mark.parametrize("call", ["load", "unload"])
def test_factory_release_cannot_be_changed(policy, call):
    with pytest.raises(ValueError, match="factory"):
        policy.load_adapter("factory", {}) if call == "load" else policy.unload("factory")


def test_request_without_encoding_is_misuse(policy, logged):
    with pytest.raises(ValueError, match="encoded"):
        policy.decide([dataclasses.replace(logged[0], encoded=None)])


def test_no_requests_are_no_decisions(policy):
    assert policy.decide([]) == []


@pytest.mark.parametrize("file", ["encoder.onnx", "decoder.onnx", "text_table.npy", "base.json"])
def test_incomplete_base_is_refused(base_dir, tmp_path, file):
    shutil.copytree(base_dir, tmp_path / "base")
    (tmp_path / "base" / file).write_bytes(b"")
    with pytest.raises(PolicyFilesError, match="export the base again"):
        OnnxPolicy(tmp_path / "base")


def test_base_of_another_encoding_is_refused(base_dir, tmp_path):
    shutil.copytree(base_dir, tmp_path / "base")
    path = tmp_path / "base" / "base.json"
    description = json.loads(path.read_text()) | {"policy_io_version": "layout_t5/0"}
    path.write_text(json.dumps(description))
    with pytest.raises(PolicyFilesError, match="layout_t5/0"):
        OnnxPolicy(tmp_path / "base")
