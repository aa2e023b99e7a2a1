"""Base files: what is saved is what everybody loads, and damage is noticed."""

import json

import pytest
import torch

from exporters import lora
from exporters.base import base_digest, load_base, read_card, save_base
from exporters.errors import BaseFilesError


def test_loaded_base_has_the_digest_and_the_card_it_was_saved_with(network, tmp_path):
    digest = save_base(network, tmp_path, {"seeds": [1, 2], "command": "base train"})

    loaded = load_base(tmp_path)

    card = read_card(tmp_path)
    assert base_digest(loaded) == digest == card["digest"]
    assert card["seeds"] == [1, 2]
    assert card["family"] == "layout_t5"


def test_everybody_has_the_half_precision_weights(network, tmp_path):
    save_base(network, tmp_path, {})
    loaded = load_base(tmp_path)
    for name, value in network.state_dict().items():
        assert torch.equal(loaded.state_dict()[name], value.half().float()), name
    assert not any(one.requires_grad for one in loaded.parameters())
    assert not loaded.training


def test_digest_depends_on_weights(network, tmp_path):
    before = base_digest(network)
    with torch.no_grad():
        network.type_head.weight[0, 0] += 1
    assert base_digest(network) != before


def test_adapted_network_is_no_base(network, tmp_path):
    with pytest.raises(ValueError, match="without adapters"):
        save_base(lora.attach(network, rank=2), tmp_path, {})


def test_changed_weights_are_noticed(network, tmp_path):
    save_base(network, tmp_path, {})
    with torch.no_grad():
        network.word_head.weight[0, 0] += 1
    card = (tmp_path / "card.json").read_bytes()
    save_base(network, tmp_path, {})
    (tmp_path / "card.json").write_bytes(card)
    with pytest.raises(BaseFilesError, match="not the card's"):
        load_base(tmp_path)


def test_cut_off_weights_are_noticed(network, tmp_path):
    save_base(network, tmp_path, {})
    weights = tmp_path / "weights.safetensors"
    weights.write_bytes(weights.read_bytes()[:1000])
    with pytest.raises(BaseFilesError, match="cannot be read"):
        load_base(tmp_path)


@pytest.mark.parametrize(
    ("field", "value"), [("policy_io_version", "layout_t5/0"), ("family", "other")]
)
def test_base_of_another_version_is_refused(network, tmp_path, field, value):
    save_base(network, tmp_path, {})
    path = tmp_path / "card.json"
    path.write_text(json.dumps({**json.loads(path.read_text()), field: value}))
    with pytest.raises(BaseFilesError, match=field):
        load_base(tmp_path)


@pytest.mark.parametrize("text", ["", "[]", '{"config": {"width": 3}}'])
def test_card_that_is_none_is_refused(tmp_path, text):
    (tmp_path / "card.json").write_text(text)
    with pytest.raises(BaseFilesError, match="train one anew"):
        read_card(tmp_path)


def test_a_folder_that_holds_nothing_says_what_it_lacks(tmp_path):
    with pytest.raises(BaseFilesError, match=r"no checkpoint's config\.json"):
        read_card(tmp_path)
