"""Releases of different bases as one policy: each acts on the base that it is made for."""

import numpy as np
import pytest
import torch

from apps_mock.actors import Actors
from apps_mock.evaluation import instances, templates_of
from apps_mock.farm import play
from device_runtime.errors import InstallError, PolicyFilesError
from device_runtime.policies import Policies
from device_runtime.policy import OnnxPolicy
from exporters.base import base_digest
from exporters.families.layout_t5 import LayoutT5, LayoutT5Config
from exporters.onnx_graph import export_base
from sync.vocabulary import ReleaseId, Split


@pytest.fixture(scope="module")
def bases(tmp_path_factory):
    """Folder of the factory's base, the folder of other bases, and the digest of the one there."""
    folder = tmp_path_factory.mktemp("bases")
    torch.manual_seed(1)
    networks = [
        LayoutT5(LayoutT5Config(d_model=16, d_ff=width, heads=2, encoder_layers=1)).eval()
        for width in (16, 24)
    ]
    digests = [base_digest(network) for network in networks]
    export_base(networks[0], folder / "factory", digest=digests[0])
    export_base(networks[1], folder / "others" / digests[1], digest=digests[1])
    return folder / "factory", folder / "others", digests[1]


@pytest.fixture
def policies(bases):
    return Policies(bases[0], bases_dir=bases[1])


def tensors_for(policy, seed=0):
    random = np.random.default_rng(seed)
    return {
        name: random.normal(0, 0.2, shape).astype(np.float32)
        for name, shape in policy.adapter_shapes(2).items()
    }


def played(policy, release_id):
    """What a release does in two episodes, with its log-probabilities."""
    wanted = instances(
        templates_of("clock")[:2],
        count=2,
        seed_base=0,
        split=Split.TRAIN,
        actor="release",
        temperature=1.0,
    )
    episodes = play(wanted, Actors(policy).policy_for, seats=2, release_id=ReleaseId(release_id))
    return sorted(
        (one.episode.assignment.id, [(step.action, step.log_prob) for step in one.episode.steps])
        for one in episodes
    )


def test_each_release_acts_on_its_own_base(bases, policies):
    alone = OnnxPolicy(bases[1] / bases[2])
    tensors = tensors_for(alone)
    alone.load_adapter("new", tensors)
    factory = OnnxPolicy(bases[0])
    factory.load_adapter("old", tensors_for(factory))
    policies.load_adapter("new", tensors, base_digest=bases[2])
    policies.load_adapter("old", tensors_for(factory), base_digest=factory.base_digest)
    assert played(policies, "new") == played(alone, "new")
    assert played(policies, "old") == played(factory, "old")
    assert played(policies, "factory") == played(factory, "factory")
    assert played(policies, "new") != played(policies, "old")


def test_base_without_an_adapter_acts_as_it_is(bases, policies):
    policies.load_adapter("new", {}, base_digest=bases[2])
    alone = OnnxPolicy(bases[1] / bases[2])
    alone.load_adapter("new", {})
    assert played(policies, "new") == played(alone, "new")
    assert policies.base_policy("new").table.dim == alone.table.dim


def test_base_is_closed_with_its_last_release(bases, policies):
    for name in ("r1", "r2"):
        policies.load_adapter(name, {}, base_digest=bases[2])
    policies.unload("r1")
    policies.base_policy("r2").graphs_for("r2")
    policies.unload("r2")
    assert policies._others == {}
    with pytest.raises(InstallError, match="not loaded"):
        policies.base_policy("r2").graphs_for("r2")


def test_name_that_moves_to_another_base_leaves_the_first(bases, policies):
    policies.load_adapter("probe", {}, base_digest=bases[2])
    policies.load_adapter("probe", {}, base_digest=policies.base_digest)
    assert policies._others == {}
    policies.base_policy("probe").graphs_for("probe")


def test_adapter_of_another_base_is_refused_and_changes_nothing(bases, policies):
    wrong = tensors_for(OnnxPolicy(bases[0]))
    with pytest.raises(InstallError):
        policies.load_adapter("r1", wrong, base_digest=bases[2])
    assert policies._others == {}


def test_base_that_is_not_here_is_refused(policies):
    with pytest.raises(PolicyFilesError):
        policies.load_adapter("r1", {}, base_digest="e" * 64)
    assert played(policies, "factory")
