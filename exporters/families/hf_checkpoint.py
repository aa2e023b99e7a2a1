"""A local Hugging Face checkpoint folder as a network of the family hf_vlm.

    DIR/config.json              model_type: t5 (AutoUI's layout), qwen2_vl or qwen2_5_vl
    DIR/model.safetensors        or shards with model.safetensors.index.json
    DIR/tokenizer.json
    DIR/preprocessor_config.json qwen: of its image processor
    DIR/image_encoder/           t5: config.json (blip_2_vision_model), model.safetensors and
                                 preprocessor_config.json (size, image_mean, image_std)

Everything is read by transformers' own classes from this folder alone: nothing is fetched, no code
of a checkpoint is run, and weights come from safetensors only, which hold nothing but numbers.
"""

from __future__ import annotations

import json
import logging
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

import torch
from safetensors.torch import load_file

from exporters.checkpoint_folder import CONFIG_FILE, EYES_DIR
from exporters.errors import BaseFilesError
from exporters.families.fused_t5 import FusedT5, ImageFusion
from exporters.families.qwen_vl import QwenVL
from sync.errors import RejectedError
from sync.picture import PictureForm
from sync.text_policy_io import Vocabulary, read_tokenizer, vocabulary_of

if TYPE_CHECKING:
    from exporters.families.vision_language import VisionLanguage

_WEIGHTS, _INDEX = "model.safetensors", "model.safetensors.index.json"
_TOKENIZER, _PICTURES = "tokenizer.json", "preprocessor_config.json"
_EYES = "blip_2_vision_model"
_FUSION = ("image_dense.", "mha_layer.", "gate_dense.")
_QUIET_GATE = -2.0
"""Bias of a fresh fusion's gate: at first an eighth of what is read comes from the picture."""


def load_checkpoint(directory: Path, *, seed: int = 0) -> VisionLanguage:
    """The network in `directory`, frozen and in float32.

    Args:
        seed: of a fresh fusion, where a T5 has none.

    Raises:
        BaseFilesError: a file is missing or damaged, or the checkpoint is of another family.
    """
    kind = _model_type(directory)
    load = _LOADERS.get(kind)
    if load is None:
        raise BaseFilesError(
            f"{directory} is a checkpoint of {kind}; this family reads {', '.join(_LOADERS)}"
        )
    _require(directory, _TOKENIZER)
    with _translated(directory):
        network: VisionLanguage = load(directory, seed)
    network.requires_grad_(requires_grad=False)
    return network


def _fused_t5(directory: Path, seed: int) -> FusedT5:
    from transformers import AutoModelForSeq2SeqLM, Blip2VisionModel  # noqa: PLC0415 - seconds

    eyes_dir = directory / EYES_DIR
    kind = _model_type(eyes_dir)
    if kind != _EYES:
        raise BaseFilesError(f"{eyes_dir} holds {kind}: put a {_EYES} there")
    _require(eyes_dir, _PICTURES)
    form = _picture_form(eyes_dir / _PICTURES)
    eyes = Blip2VisionModel.from_pretrained(eyes_dir, **_LOCAL)
    if eyes.config.image_size != form.height or form.height != form.width:
        raise BaseFilesError(
            f"{eyes_dir} reads pictures of {eyes.config.image_size} pixels a side, "
            f"its {_PICTURES} says {form.height} x {form.width}: make them agree"
        )
    t5, report = AutoModelForSeq2SeqLM.from_pretrained(
        directory, output_loading_info=True, **_LOCAL
    )
    strange = [name for name in report["unexpected_keys"] if not name.startswith(_FUSION)]
    if strange or report["missing_keys"]:
        names = [*strange, *report["missing_keys"]]
        raise BaseFilesError(f"{directory} is no whole T5 ({names[0]}): save the checkpoint again")
    fusion = _fusion(directory, eyes.config.hidden_size, t5.config.d_model, seed=seed)
    tokenizer, end = _tokenizer(directory)
    vocabulary = _vocabulary(tokenizer, end=end, size=t5.config.vocab_size)
    return FusedT5(t5, fusion, eyes, picture_form=form, tokenizer=tokenizer, vocabulary=vocabulary)


def _fusion(directory: Path, features: int, width: int, *, seed: int) -> ImageFusion:
    """The fusion in the folder's weights, or a fresh one."""
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(seed)
        fusion = ImageFusion(features, width)
    torch.nn.init.constant_(fusion.gate_dense.bias, _QUIET_GATE)
    found = {
        name: value
        for path in _weight_files(directory)
        for name, value in load_file(path).items()
        if name.startswith(_FUSION)
    }
    if not found:
        return fusion
    expected = {name: tuple(value.shape) for name, value in fusion.state_dict().items()}
    shapes = {name: tuple(value.shape) for name, value in found.items()}
    if shapes != expected:
        name = min(shapes.items() ^ expected.items())[0]
        raise BaseFilesError(
            f"{directory} has a fusion that fits neither its T5 nor its image encoder ({name}): "
            f"put the image encoder that it was trained with into {EYES_DIR}"
        )
    fusion.load_state_dict({name: value.float() for name, value in found.items()})
    return fusion


def _qwen_vl(directory: Path, seed: int) -> QwenVL:
    del seed  # nothing in it is fresh
    from transformers import (  # noqa: PLC0415 - seconds
        AutoImageProcessor,
        AutoModelForImageTextToText,
    )

    _require(directory, _PICTURES)
    loaded: Any = AutoModelForImageTextToText.from_pretrained(  # it types the network alone
        directory, output_loading_info=True, **_LOCAL
    )
    network, report = loaded
    names = [*report["unexpected_keys"], *report["missing_keys"]]
    if names:
        raise BaseFilesError(f"{directory} is not whole ({names[0]}): save the checkpoint again")
    processors: Any = AutoImageProcessor  # transformers ships no types here
    pictures = processors.from_pretrained(
        directory, local_files_only=True, trust_remote_code=False, use_fast=False
    )
    tokenizer, end = _tokenizer(directory)
    turn = tokenizer.token_to_id("<|im_start|>")
    if turn is None:
        raise BaseFilesError(f"{directory} has a tokenizer without <|im_start|>: use a chat's one")
    size = network.config.text_config.vocab_size
    return QwenVL(
        network,
        pictures=pictures,
        tokenizer=tokenizer,
        vocabulary=_vocabulary(tokenizer, end=end, size=size),
        turn=turn,
    )


_LOADERS = {"t5": _fused_t5, "qwen2_vl": _qwen_vl, "qwen2_5_vl": _qwen_vl}
_LOCAL: dict[str, Any] = {
    "local_files_only": True,
    "trust_remote_code": False,
    "use_safetensors": True,
    "dtype": torch.float32,
}


def _model_type(directory: Path) -> str:
    """What the folder's config says it is; its weights are there."""
    if not directory.is_dir():
        raise BaseFilesError(f"{directory} is no folder: name a checkpoint's folder")
    _require(directory, CONFIG_FILE)
    kind = _json(directory / CONFIG_FILE).get("model_type")
    if not isinstance(kind, str):
        raise BaseFilesError(
            f"{directory / CONFIG_FILE} names no model_type: save the config again"
        )
    if not any((directory / name).is_file() for name in (_WEIGHTS, _INDEX)):
        pickled = any(directory.glob("pytorch_model*.bin"))
        what = "only pickled weights" if pickled else f"no {_WEIGHTS}"
        raise BaseFilesError(f"{directory} has {what}: save it with safetensors")
    return kind


def _weight_files(directory: Path) -> list[Path]:
    index = directory / _INDEX
    if not index.is_file():
        return [directory / _WEIGHTS]
    names = sorted(set(_json(index).get("weight_map", {}).values()))
    return [directory / Path(name).name for name in names]


def _require(directory: Path, name: str) -> None:
    if not (directory / name).is_file():
        raise BaseFilesError(f"{directory} lacks {name}: copy the whole checkpoint")


def _json(path: Path) -> dict[str, Any]:
    try:
        content = json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError) as error:
        raise BaseFilesError(f"{path} cannot be read: copy the checkpoint again") from error
    if not isinstance(content, dict):
        raise BaseFilesError(f"{path} is no JSON object: copy the checkpoint again")
    return content


def _picture_form(path: Path) -> PictureForm:
    fields = _json(path)
    size = fields.get("size")
    if isinstance(size, int):
        size = {"height": size, "width": size}
    try:
        return PictureForm.read(
            {**(size or {}), "mean": fields.get("image_mean"), "std": fields.get("image_std")}
        )
    except (RejectedError, TypeError) as error:
        raise BaseFilesError(
            f"{path} lacks size, image_mean or image_std: copy the image encoder's own"
        ) from error


def _tokenizer(directory: Path) -> tuple[Any, int]:
    """The tokenizer of the library `tokenizers`, and the token that ends a text."""
    from transformers import AutoTokenizer  # noqa: PLC0415 - seconds

    loaded = AutoTokenizer.from_pretrained(
        directory, local_files_only=True, trust_remote_code=False
    )
    if loaded.eos_token_id is None:
        raise BaseFilesError(
            f"{directory} has a tokenizer without eos_token: say it in tokenizer_config.json"
        )
    backend = loaded.backend_tokenizer
    # what stands on a screen is text, also where it looks like a control token
    backend.encode_special_tokens = True
    return backend, int(loaded.eos_token_id)


def _vocabulary(tokenizer: Any, *, end: int, size: int) -> Vocabulary:
    return vocabulary_of(read_tokenizer(tokenizer.to_str()), end=end, size=size)


@contextmanager
def _translated(directory: Path) -> Iterator[None]:
    """Errors of the libraries as ours; what they say beside them is kept quiet."""
    from transformers.utils import logging as reporting  # noqa: PLC0415 - seconds

    bars: Any = reporting  # transformers ships no types here
    log = logging.getLogger("transformers")
    level = log.level
    log.setLevel(logging.ERROR)
    shows_bars = bars.is_progress_bar_enabled()
    bars.disable_progress_bar()
    try:
        yield
    except BaseFilesError:
        raise
    except Exception as error:  # the libraries' errors share no base but Exception
        first = str(error).strip().partition("\n")[0][:200]
        if "ignore_mismatched_sizes" in first:  # an option that nobody has here
            first = "its weights have other shapes than config.json says"
        raise BaseFilesError(
            f"{directory} cannot be loaded ({first}): copy the checkpoint again"
        ) from error
    finally:
        log.setLevel(level)
        if shows_bars:
            bars.enable_progress_bar()
