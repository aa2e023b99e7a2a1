"""Prompts, digests, vocabularies and pictures of policies that write."""

from __future__ import annotations

import json

import numpy as np
import pytest

from sync.errors import RejectedError
from sync.picture import PictureForm, pixels_of
from sync.picture_folder import PictureFolder
from sync.text_policy_io import (
    AUTOUI,
    MOST_EARLIER,
    MOST_PROMPT_TOKENS,
    TOOL_CALLS,
    input_digest,
    latest_tokens,
    picture_digest,
    read_tokenizer,
    vocabulary_of,
)
from sync.vocabulary import finish, tap, wait

FORM = PictureForm(4, 6, (0.5, 0.5, 0.5), (0.5, 0.25, 1.0))


def test_autoui_is_asked_with_earlier_actions_and_the_goal():
    assert AUTOUI.prompt("Call Ada", ()) == "Previous Actions: Goal: Call Ada"
    asked = AUTOUI.prompt("Call Ada", (tap(0.5, 0.25), wait(), finish()))
    assert asked.startswith('Previous Actions: Action Decision: "action_type": "DUAL_POINT"')
    assert asked.endswith(' "typed_text": "" Goal: Call Ada')
    assert asked.count("Action Decision") == 2, "waiting has no words"


def test_prompts_speak_of_the_latest_actions_alone():
    many = [tap(0.0, 0.0)] * 3 + [tap(1.0, 1.0)] * MOST_EARLIER
    for language in (AUTOUI, TOOL_CALLS):
        assert language.prompt("g", many) == language.prompt("g", many[3:])
    assert "Step 8: " in TOOL_CALLS.prompt("g", many)
    assert "none" in TOOL_CALLS.prompt("g", ())


def test_the_digest_knows_language_prompt_and_picture():
    digests = {
        input_digest(language, prompt, picture)
        for language in (AUTOUI, TOOL_CALLS)
        for prompt in ("a", "b")
        for picture in ("", "c")
    }
    assert len(digests) == 8


def test_a_long_prompt_keeps_its_end():
    assert latest_tokens(range(600)) == list(range(600 - MOST_PROMPT_TOKENS, 600))


def test_pieces_of_a_unigram_are_texts_with_spaces():
    tokenizer = {
        "model": {"vocab": [["<pad>", 0.0], ["</s>", 0.0], ["▁Hi", -1.0], ["▁", -1.0]]},
        "decoder": {"type": "Metaspace", "prepend_scheme": "always"},
        "added_tokens": [{"id": 0}, {"id": 1}],
    }
    known = vocabulary_of(tokenizer, end=1, size=6)
    assert known.pieces == (None, None, b" Hi", b" ", None, None)
    assert (known.lead, known.text((2, 2, 1))) == (" ", "Hi Hi")


def test_pieces_of_a_byte_level_tokenizer_are_bytes():
    tokenizer = {
        "model": {"vocab": {"Ġa": 0, "Ã¤": 1, "Ċ": 2, "<|im_end|>": 3}},
        "decoder": {"type": "ByteLevel"},
        "added_tokens": [{"id": 3}],
    }
    known = vocabulary_of(tokenizer, end=3, size=4)
    assert known.pieces == (b" a", "ä".encode(), b"\n", None)
    assert known.text((0, 1)) == " aä"


def test_other_tokenizers_are_refused():
    with pytest.raises(RejectedError) as caught:
        vocabulary_of(
            {"model": {"vocab": {"a": 0}}, "decoder": {"type": "WordPiece"}}, end=0, size=1
        )
    assert caught.value.reason == "tokenizer"
    for text in ("", "[]", json.dumps({"model": {}}), json.dumps({"model": {"vocab": {}}})):
        with pytest.raises(RejectedError, match="tokenizer"):
            read_tokenizer(text)


def test_pictures_shrink_as_pillow_shrinks_them():
    from PIL import Image

    rgb = np.random.default_rng(0).integers(0, 256, (40, 30, 3), dtype=np.uint8)
    plain = PictureForm(7, 9, (0.0, 0.0, 0.0), (1.0, 1.0, 1.0))
    theirs = np.asarray(Image.fromarray(rgb).resize((9, 7), Image.Resampling.BICUBIC))
    ours = pixels_of(rgb, plain).transpose(1, 2, 0) * 255.0
    assert np.abs(ours - theirs).max() <= 1.01


def test_pixels_are_normalised_by_channel():
    white = pixels_of(np.full((8, 8, 3), 255, dtype=np.uint8), FORM)
    assert white.shape == (3, 4, 6)
    assert white[:, 0, 0].tolist() == [1.0, 2.0, 0.5]


def test_a_pictures_form_comes_back_from_json():
    assert PictureForm.read(json.loads(json.dumps(FORM.as_dict()))) == FORM
    for broken in ({}, {**FORM.as_dict(), "std": [1, 0, 1]}, {**FORM.as_dict(), "height": 0}, None):
        with pytest.raises(RejectedError) as caught:
            PictureForm.read(broken)
        assert caught.value.reason == "picture_form"


def test_a_folder_gives_back_whole_pictures_alone(tmp_path):
    folder = PictureFolder(tmp_path / "pictures")
    digest = folder.keep(b"png")
    assert digest == folder.keep(b"png") == picture_digest(b"png")
    assert folder.read(digest) == b"png"
    (tmp_path / "pictures" / f"{digest}.png").write_bytes(b"pn")
    assert folder.read(digest) is None
    assert folder.read("0" * 64) is None
    with pytest.raises(ValueError, match="digest"):
        folder.read("../secret")
