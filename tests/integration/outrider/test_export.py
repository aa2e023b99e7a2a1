"""`outrider export`: files that a phone runs, proof on observations, and what it refuses."""

import copy
import json

import numpy as np
import pytest
import torch

from cloud_learner.checkpoints import Checkpoint, save_checkpoint
from cloud_learner.families import family_of
from device_runtime.policy import OnnxPolicy
from exporters import lora, parity
from exporters.base import load_base, save_base
from exporters.families.layout_t5 import LayoutT5, LayoutT5Config
from outrider import cli
from outrider.export_sources import learnt_adapter
from sync.adapter_file import pack, unpack
from sync.policy_io import POLICY_IO_VERSION


def run_json(capsys, *arguments):
    code = cli.run(["export", *map(str, arguments), "--json"])
    captured = capsys.readouterr()
    return code, [json.loads(line) for line in captured.out.splitlines()], captured.err


@pytest.fixture(scope="module")
def base(tmp_path_factory):
    """A small base with random weights."""
    torch.set_num_threads(1)
    torch.manual_seed(3)
    folder = tmp_path_factory.mktemp("export") / "base"
    save_base(LayoutT5(LayoutT5Config(d_model=48, d_ff=96, encoder_layers=1)), folder, {})
    return folder


@pytest.fixture(scope="module")
def adapter(base):
    """The file of an adapter with values everywhere, kept exactly."""
    return adapter_file(base, digest_of(base))


def digest_of(base):
    return json.loads((base / "card.json").read_text())["digest"]


def adapter_file(base, digest, version=POLICY_IO_VERSION):
    config = json.loads((base / "card.json").read_text())["config"]
    network = lora.attach(LayoutT5(LayoutT5Config(**config)), rank=4)
    random = np.random.default_rng(0)
    tensors = {
        name: random.normal(0, 0.05, one.shape).astype(np.float32)
        for name, one in lora.adapter_tensors(network).items()
    }
    data = pack(tensors, base_digest=digest, policy_io_version=version, quantisation="fp32")
    path = base.parent / f"{digest[:8]}-{version.replace('/', '-')}.bin"
    path.write_bytes(data)
    return path


def test_what_is_written_is_what_a_phone_runs(base, adapter, tmp_path, capsys):
    code, lines, _ = run_json(
        capsys, "--base", base, "--adapter", adapter, "--codec", "int4", "--out", tmp_path
    )
    assert code == 0
    policy = OnnxPolicy(tmp_path / "graphs", quantisation="int8")
    written = unpack((tmp_path / "adapter.bin").read_bytes())
    policy.load_adapter("r1", written.tensors)
    assert written.quantisation == "int4"
    assert written.base_digest == policy.base_digest == lines[-1]["base"]
    assert lines[-1]["adapter_bytes"] == (tmp_path / "adapter.bin").stat().st_size
    assert lines[-1]["fp32_bytes"] == sum(4 * one.size for one in written.tensors.values())


def test_the_check_reports_both_graphs_and_every_codec(base, adapter, capsys):
    code, lines, error = run_json(capsys, "--base", base, "--adapter", adapter, "--check", 12)
    assert (code, error) == (0, "")
    by_event = [(line["event"], line.get("quantisation") or line.get("codec")) for line in lines]
    assert by_event == [
        ("parity", "fp32"),
        ("parity", "int8"),
        ("codec", "int8"),
        ("codec", "int4"),
        ("summary", "int8"),
    ]
    fp32, int8, *codecs, summary = lines
    assert (fp32["n"], fp32["agreement"]) == (12, 1.0)
    assert fp32["log_prob_median"] <= fp32["log_prob_p99"] <= fp32["log_prob_max"] < 1e-3
    assert int8["log_prob_median"] > fp32["log_prob_median"]
    assert codecs[0]["share"] > codecs[1]["share"]
    assert all("changed_actions" in one and "changed_decisions" in one for one in codecs)
    assert (summary["checked"], summary["passed"]) == (12, True)


def test_a_check_below_its_bounds_fails_and_says_so(base, capsys, monkeypatch):
    monkeypatch.setattr(parity, "LOG_PROB_TOLERANCE", 0.0)
    code, lines, error = run_json(capsys, "--base", base, "--check", 4)
    assert code == 1
    assert lines[-1]["passed"] is False
    assert "log-probabilities" in error
    assert error.count("\n") == 1


@pytest.mark.parametrize(
    ("digest", "version", "told"),
    [("f" * 64, POLICY_IO_VERSION, "belongs to base"), (None, "layout_t5/0", "encoding")],
)
def test_an_adapter_of_another_base_or_encoding_is_refused(base, digest, version, told, capsys):
    path = adapter_file(base, digest or digest_of(base), version)
    code, lines, error = run_json(capsys, "--base", base, "--adapter", path)
    assert (code, lines) == (2, [])
    assert told in error


ODD = {
    "no layer that adapters change": lambda name, one: (f"other.{name}", one),
    "does not fit this base": lambda name, _one: (name, np.zeros((4, 4), np.float32)),
    "not finite": lambda name, one: (name, np.full_like(one, 1e12)),
}


@pytest.mark.parametrize("told", sorted(ODD))
def test_an_adapter_that_no_phone_could_load_is_refused_without_a_check(
    base, adapter, tmp_path, capsys, told
):
    read = unpack(adapter.read_bytes())
    tensors = dict(ODD[told](name, one) for name, one in read.tensors.items())
    path = tmp_path / "odd.bin"
    path.write_bytes(
        pack(
            tensors,
            base_digest=read.base_digest,
            policy_io_version=read.policy_io_version,
            quantisation="fp32",
        )
    )

    code, lines, error = run_json(
        capsys, "--base", base, "--adapter", path, "--codec", "fp32", "--out", tmp_path / "out"
    )

    assert (code, lines) == (1, [])
    assert told in error
    assert error.count("\n") == 1
    assert not (tmp_path / "out" / "adapter.bin").exists()


def test_a_file_that_is_no_adapter_is_refused(base, tmp_path, capsys):
    (tmp_path / "noise.bin").write_bytes(b"noise")
    code, _, error = run_json(capsys, "--base", base, "--adapter", tmp_path / "noise.bin")
    assert code == 2
    assert "holds no adapter" in error
    assert run_json(capsys, "--base", base, "--adapter", tmp_path / "none.bin")[0] == 2


def test_a_folder_where_nothing_was_learnt_is_refused(base, tmp_path, capsys):
    code, _, error = run_json(capsys, "--base", base, "--data", tmp_path)
    assert code == 2
    assert "holds no adapter" in error


def test_the_learners_own_values_are_taken_and_its_files_left_alone(base, adapter, tmp_path):
    network = load_base(base)
    learnt = lora.attach(copy.deepcopy(network), rank=4)
    tensors = dict(unpack(adapter.read_bytes()).tensors)
    lora.load_tensors(learnt, tensors)
    values = {name: one for name, one in learnt.named_parameters() if ".lora_" in name}
    cloud = tmp_path / "cloud"
    identity = family_of(network).identity(base_digest=digest_of(base), rank=4)
    save_checkpoint(
        cloud / "checkpoints",
        Checkpoint(identity, adapter={k: v.detach() for k, v in values.items()}),
    )
    (cloud / "checkpoints" / ".learner.pt.half").write_bytes(b"of a learner that runs")
    (cloud / "adapters").mkdir()
    (cloud / "adapters" / "warm-up.bin").write_bytes(
        pack(tensors, base_digest=digest_of(base), policy_io_version=POLICY_IO_VERSION)
    )

    found = learnt_adapter(tmp_path, network, base_digest=digest_of(base))

    assert set(found) == set(tensors)
    assert all(np.array_equal(found[name], tensors[name]) for name in tensors)
    assert (cloud / "checkpoints" / ".learner.pt.half").exists()
