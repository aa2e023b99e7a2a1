"""Graphs beside a base: used where they are that base's, by a phone that has no torch."""

import json
import subprocess
import sys

import numpy as np
import onnx
import pytest

from exporters.base import load_base, save_base, save_graphs
from exporters.onnx_graph import export_base
from exporters.shipped import DEFAULT_BASE_DIR, base_with, base_without, graphs_beside


def test_a_base_without_graphs_offers_none(network, tmp_path):
    save_base(network, tmp_path, {})
    assert graphs_beside(tmp_path) is None
    assert save_graphs(tmp_path) == graphs_beside(tmp_path)


@pytest.mark.parametrize("changes", [{"digest": "00"}, {"graph_version": 0}])
def test_graphs_of_another_base_are_not_offered(network, tmp_path, changes):
    save_base(network, tmp_path, {})
    description = save_graphs(tmp_path) / "base.json"
    fields = json.loads(description.read_text())
    description.write_text(json.dumps(fields | changes))
    assert graphs_beside(tmp_path) is None


def test_shipped_graphs_are_what_the_shipped_weights_export_to(tmp_path):
    shipped = graphs_beside(DEFAULT_BASE_DIR)
    assert shipped is not None
    digest = json.loads((DEFAULT_BASE_DIR / "card.json").read_text())["digest"]

    export_base(load_base(DEFAULT_BASE_DIR), tmp_path, digest=digest)

    for name in ("encoder.onnx", "decoder.onnx"):
        assert onnx.load(shipped / name).graph == onnx.load(tmp_path / name).graph, name
    ours, theirs = np.load(shipped / "text_table.npy"), np.load(tmp_path / "text_table.npy")
    assert ours.dtype == theirs.dtype == np.float16
    assert np.array_equal(ours, theirs)


def test_the_shipped_base_acts_where_there_is_no_torch(root):
    script = (
        "import sys\n"
        "sys.modules.update(dict.fromkeys(('torch', 'onnx', 'transformers', 'safetensors')))\n"
        "from outrider.cli import run\n"
        "sys.exit(run(['bench', 'policy', '--actions', '2', '--json']))\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", script], cwd=root, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    digest = json.loads((DEFAULT_BASE_DIR / "card.json").read_text())["digest"]
    assert json.loads(done.stdout.splitlines()[-1])["base"] == digest


def test_a_campaign_starts_with_a_base_that_was_not_shown_its_app():
    for app in ("tickets", "shop"):
        card = json.loads((base_without(app) / "card.json").read_text())
        assert app not in card["recipe"]["apps"]


def test_an_app_that_every_base_knows_is_taught_to_the_default():
    assert base_without("settings") == DEFAULT_BASE_DIR


def test_a_shipped_base_is_found_by_its_digest():
    scene = base_without("tickets")
    digest = json.loads((scene / "card.json").read_text())["digest"]
    assert base_with(digest) == scene
    assert base_with("0" * 64) is None
