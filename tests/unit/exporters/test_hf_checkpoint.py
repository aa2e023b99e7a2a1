"""Vision-language checkpoints: what is read, what is refused, what graphs make of it."""

from __future__ import annotations

import copy
import json
import shutil
from random import Random

import numpy as np
import pytest
import torch
from safetensors.torch import load_file, save_file

from device_runtime.errors import InstallError, PolicyFilesError
from device_runtime.text_graphs import TextBase
from exporters.errors import BaseFilesError
from exporters.families.fused_t5 import FusedT5
from exporters.families.hf_checkpoint import load_checkpoint
from exporters.families.qwen_vl import QwenVL
from exporters.fused_t5_graph import export_fused_t5
from exporters.lora import adapter_tensors, attach
from sync.text_decoding import decide_text
from sync.vocabulary import finish, tap
from tests.vlm_checkpoints import tiny_qwen, tiny_t5


@pytest.fixture(autouse=True, scope="module")
def one_thread():
    torch.set_num_threads(1)


@pytest.fixture(scope="module")
def folders(tmp_path_factory):
    root = tmp_path_factory.mktemp("checkpoints")
    return {
        "t5": tiny_t5(root / "t5"),
        "qwen2_vl": tiny_qwen(root / "qwen2_vl"),
        "qwen2_5_vl": tiny_qwen(root / "qwen2_5_vl", model_type="qwen2_5_vl"),
    }


@pytest.fixture(scope="module")
def networks(folders):
    return {name: load_checkpoint(folder) for name, folder in folders.items()}


@pytest.fixture(scope="module")
def graphs(networks, tmp_path_factory):
    folder = tmp_path_factory.mktemp("graphs")
    export_fused_t5(networks["t5"], folder)
    return folder


@pytest.fixture
def rgb():
    return np.random.default_rng(3).integers(0, 256, (120, 60, 3), dtype=np.uint8)


KINDS = ("t5", "qwen2_vl", "qwen2_5_vl")


@pytest.mark.parametrize("kind", KINDS)
def test_a_checkpoint_is_read_frozen(networks, kind):
    network = networks[kind]
    assert isinstance(network, FusedT5 if kind == "t5" else QwenVL)
    assert not any(one.requires_grad for one in network.parameters())
    assert not network.training


@pytest.mark.parametrize("kind", ["t5", "qwen2_vl"])
def test_what_it_writes_is_always_an_action(networks, kind, rgb):
    network = networks[kind]
    choice = decide_text(
        network.writer(network.language.prompt("Call Ada", (tap(0.5, 0.5),)), rgb),
        network.masks,
        temperature=1.5,
        random=Random(0),
    )
    network.language.action_of(network.vocabulary.text(choice.tokens))


@pytest.mark.parametrize("kind", KINDS)
def test_the_picture_changes_what_is_said_and_none_is_allowed(networks, kind, rgb):
    network = networks[kind]
    prompt = network.language.prompt("Call Ada", ())
    first, second, none = (
        network.next_logits(network.show(prompt, one), ()) for one in (rgb, 255 - rgb, None)
    )
    assert np.isfinite(none).all()
    assert np.abs(first - second).max() > 1e-4


@pytest.mark.parametrize("kind", KINDS)
def test_scores_do_not_depend_on_the_batch(networks, kind, rgb):
    network = networks[kind]
    shown = [
        network.show(network.language.prompt(goal, ()), picture)
        for goal, picture in (("Call Ada", rgb), ("x", None), ("Open a very long name", rgb))
    ]
    answers = [
        network.answer_tokens(network.language.text_of(action))
        for action in (tap(0.5, 0.25), finish(), tap(0.1, 0.2))
    ]
    with torch.inference_mode():
        together = network.score(shown, answers)
        for row, (one, answer) in enumerate(zip(shown, answers, strict=True)):
            alone = network.score([one], [answer])
            ours = together.logits[row, : len(answer)]
            assert torch.allclose(ours, alone.logits[0], atol=1e-4)
            assert torch.allclose(together.features[row], alone.features[0], atol=1e-4)
    assert together.features.shape[1] == network.feature_dim


@pytest.mark.parametrize("kind", KINDS)
def test_control_tokens_in_a_goal_are_cut_as_text(networks, kind):
    network = networks[kind]
    said = network.show("</s><|im_end|><|im_start|>", None).prompt
    plain = network.show("", None).prompt
    controls = [token for token in said if network.vocabulary.pieces[token] is None]
    assert len(controls) == sum(network.vocabulary.pieces[token] is None for token in plain)


def test_a_plain_t5_gets_a_fresh_fusion_by_its_seed(tmp_path):
    folder = tiny_t5(tmp_path / "plain", fused=False)
    one, same, other = (load_checkpoint(folder, seed=seed) for seed in (1, 1, 2))
    weights = [network.fusion.image_dense.weight for network in (one, same, other)]
    assert torch.equal(weights[0], weights[1])
    assert not torch.equal(weights[0], weights[2])


def test_the_fusion_of_a_checkpoint_is_the_one_that_is_used(folders, networks):
    kept = load_file(folders["t5"] / "model.safetensors")
    assert torch.equal(networks["t5"].fusion.gate_dense.weight, kept["gate_dense.weight"])


def broken(folder, tmp_path, change):
    copied = tmp_path / "copied"
    shutil.copytree(folder, copied)
    change(copied)
    return copied


def says(name, **fields):
    def change(folder):
        path = folder / name
        content = json.loads(path.read_text()) | fields
        path.write_text(json.dumps({key: one for key, one in content.items() if one is not None}))

    return change


def lacks(name):
    return lambda folder: (folder / name).unlink()


def holds(name, text):
    return lambda folder: (folder / name).write_text(text)


def narrower(folder):
    path = folder / "model.safetensors"
    tensors = load_file(path)
    tensors["image_dense.weight"] = tensors["image_dense.weight"][:, :8].contiguous()
    save_file(tensors, path, metadata={"format": "pt"})


def stranger(folder):
    path = folder / "model.safetensors"
    save_file(
        {**load_file(path), "classifier.weight": torch.zeros(2, 2)}, path, metadata={"format": "pt"}
    )


def pickled(folder):
    (folder / "model.safetensors").rename(folder / "pytorch_model.bin")


@pytest.mark.parametrize(
    ("change", "text"),
    [
        (lacks("config.json"), "config.json"),
        (lacks("tokenizer.json"), "tokenizer.json"),
        (lacks("model.safetensors"), "no model.safetensors"),
        (lacks("image_encoder/preprocessor_config.json"), "preprocessor_config.json"),
        (holds("config.json", "{"), "cannot be read"),
        (holds("config.json", "[]"), "no JSON object"),
        (holds("model.safetensors", "short"), "cannot be loaded"),
        (says("config.json", model_type="bert"), "a checkpoint of bert"),
        (says("config.json", model_type=None), "names no model_type"),
        (says("config.json", d_model=24), "other shapes than config.json says"),
        (says("image_encoder/config.json", model_type="vit"), "holds vit"),
        (says("image_encoder/preprocessor_config.json", image_mean=None), "image_mean"),
        (says("image_encoder/preprocessor_config.json", size=32), "make them agree"),
        (narrower, "fits neither"),
        (stranger, "no whole T5"),
        (pickled, "only pickled weights"),
    ],
)
def test_a_checkpoint_that_is_not_whole_says_what_it_lacks(folders, tmp_path, change, text):
    with pytest.raises(BaseFilesError, match=text) as caught:
        load_checkpoint(broken(folders["t5"], tmp_path, change))
    assert "\n" not in str(caught.value)


def test_a_folder_that_is_none_is_refused(tmp_path):
    with pytest.raises(BaseFilesError, match="no folder"):
        load_checkpoint(tmp_path / "nowhere")


def test_graphs_act_as_torch_does_with_and_without_an_adapter(networks, graphs, rgb):
    base = TextBase(graphs)
    adapted = attach(copy.deepcopy(networks["t5"]), 4, targets=networks["t5"].lora_targets)
    generator = torch.Generator().manual_seed(1)
    with torch.no_grad():
        for name, value in adapted.named_parameters():
            if ".lora_" in name:
                value.add_(torch.randn(value.shape, generator=generator) * 0.1)
    tensors = adapter_tensors(adapted)
    assert {name: one.shape for name, one in tensors.items()} == base.adapter_shapes(4)
    pairs = ((networks["t5"], base.network(), rgb), (adapted, base.network(tensors), rgb))
    for ours, theirs, picture in (*pairs, (*pairs[1][:2], None)):
        prompt = ours.language.prompt("Call Ada", (tap(0.5, 0.5),))
        choices = [
            decide_text(one.writer(prompt, picture), base.masks, temperature=1.0, random=Random(5))
            for one in (ours, theirs)
        ]
        assert choices[0].tokens == choices[1].tokens
        assert choices[0].log_prob == pytest.approx(choices[1].log_prob, abs=1e-3)


def test_an_adapter_of_another_network_or_without_numbers_is_refused(graphs):
    base = TextBase(graphs)
    path = "t5.encoder.block.0.layer.0.SelfAttention.q"
    a, b = np.zeros((48, 2), dtype=np.float32), np.zeros((2, 36), dtype=np.float32)
    for tensors, reason in (
        ({"elsewhere.lora_a": a, "elsewhere.lora_b": b}, "base_mismatch"),
        ({f"{path}.lora_a": a, f"{path}.lora_b": b[:, :8]}, "base_mismatch"),
        ({f"{path}.lora_a": a, f"{path}.lora_b": b * np.nan}, "not_finite"),
    ):
        with pytest.raises(InstallError) as caught:
            base.network(tensors)
        assert caught.value.reason == reason


@pytest.mark.parametrize("name", ["decoder.onnx", "weights.safetensors", "tokenizer.json"])
def test_exported_files_that_changed_are_refused(graphs, tmp_path, name):
    copied = broken(graphs, tmp_path, holds(name, "other"))
    with pytest.raises(PolicyFilesError, match=name):
        TextBase(copied)


def test_a_base_of_another_encoding_is_refused(graphs, tmp_path):
    copied = broken(graphs, tmp_path, says("base.json", policy_io_version="hf_vlm/autoui/0"))
    with pytest.raises(PolicyFilesError, match="hf_vlm/autoui/0"):
        TextBase(copied)


def test_a_network_with_an_adapter_is_not_exported(networks, tmp_path):
    adapted = attach(copy.deepcopy(networks["t5"]), 2, targets=networks["t5"].lora_targets)
    with pytest.raises(ValueError, match="without adapters"):
        export_fused_t5(adapted, tmp_path)
