"""`outrider export` and `outrider eval` on a Hugging Face checkpoint and on its graphs."""

from __future__ import annotations

import json

import pytest
import torch

from exporters.checkpoint_folder import contents_digest
from outrider import cli
from sync.adapter_file import pack
from tests.vlm_checkpoints import tiny_qwen, tiny_t5

pytestmark = pytest.mark.integration


def run_json(capsys, *arguments):
    code = cli.run([*map(str, arguments), "--json"])
    captured = capsys.readouterr()
    return code, [json.loads(line) for line in captured.out.splitlines()], captured.err


@pytest.fixture(scope="module")
def checkpoint(tmp_path_factory):
    torch.set_num_threads(1)
    return tiny_t5(tmp_path_factory.mktemp("checkpoint") / "t5")


def test_graphs_are_exported_checked_and_played(checkpoint, tmp_path, capsys):
    code, lines, error = run_json(
        capsys, "export", "--base", checkpoint, "--check", 2, "--out", tmp_path
    )
    assert (code, error) == (0, "")
    assert [(one["event"], one.get("quantisation")) for one in lines[:-1]] == [
        ("parity", "fp32"),
        ("parity", "int8"),
    ]
    fp32, int8, summary = lines
    assert (fp32["n"], fp32["agreement"], summary["passed"]) == (2, 1.0, True)
    assert fp32["log_prob_max"] < 1e-3
    assert int8["log_prob_median"] > fp32["log_prob_median"]

    graphs = f"hf_vlm:{tmp_path / 'graphs'}"
    wanted = ("--suite", "contacts", "--n", 1, "--quantisation", "int8")
    code, lines, error = run_json(capsys, "eval", "--policy", graphs, *wanted)
    assert (code, error) == (0, "")
    assert lines[-1]["digest"] == summary["base"]
    assert lines[-1]["env_errors"] == 0


@pytest.mark.slow
def test_a_checkpoint_plays_and_says_which_it_is(checkpoint, capsys):
    code, lines, error = run_json(
        capsys, "eval", "--policy", f"hf_vlm:{checkpoint}", "--suite", "contacts", "--n", 1
    )
    assert (code, error) == (0, "")
    assert lines[-1]["digest"] == contents_digest(checkpoint)
    assert lines[-1]["env_errors"] == 0


def test_what_cannot_be_exported_or_played_is_said_in_one_line(checkpoint, tmp_path, capsys):
    qwen = tiny_qwen(tmp_path / "qwen")
    stranger = tmp_path / "stranger.bin"
    stranger.write_bytes(pack({}, base_digest="f" * 64, policy_io_version="hf_vlm/autoui/1"))
    capsys.readouterr()
    for code, told, command in (
        (1, "no phone can run it", ("export", "--base", qwen)),
        (2, "belongs to base", ("export", "--base", checkpoint, "--adapter", stranger)),
        (2, "by --adapter", ("export", "--base", checkpoint, "--data", tmp_path)),
        (2, "exported graphs", ("eval", "--policy", f"hf_vlm:{qwen}", "--quantisation", "int8")),
        (2, "no folder", ("eval", "--policy", f"hf_vlm:{tmp_path / 'nowhere'}")),
    ):
        found, lines, error = run_json(capsys, *command)
        assert (found, lines) == (code, []), error
        assert told in error
        assert error.count("\n") == 1
