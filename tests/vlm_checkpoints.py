"""Tiny checkpoints of vision-language networks with random weights, made as Hugging Face has them.

Nothing is fetched: tokenizers are built from a few sentences, processors from their settings.
"""

from __future__ import annotations

import json
from pathlib import Path

import torch

PICTURE_SIDE = 28
_PATCH = 14

_SENTENCES = (
    'Action Plan: [DUAL_POINT]; Action Decision: "action_type": "DUAL_POINT", "touch_point": "[0.',
    '"lift_point": "[0. 0. "[-1.0, -1.0]", "STATUS_TASK_COMPLETE", "typed_text": ""',
    "[STATUS_TASK_COMPLETE]; Previous Actions: Goal: open the settings and turn the switch on",
)
_TOOL = (
    '<tool_call>\n{"name": "mobile_use", "arguments": '
    '{"action": "click", "coordinate": [1, 2]}}\n</tool_call>'
)


def tiny_t5(directory: Path, *, seed: int = 0, fused: bool = True, width: int = 48) -> Path:
    """A FLAN-T5 (gated GELU, own output layer) with an image encoder, and AutoUI's fusion."""
    from safetensors.torch import load_file, save_file
    from transformers import Blip2VisionConfig, Blip2VisionModel, T5Config
    from transformers import T5ForConditionalGeneration as Network

    from exporters.families.fused_t5 import ImageFusion

    torch.manual_seed(seed)
    tokens = _unigram(directory)
    sizes = {
        "vocab_size": tokens + 4,  # real ones are padded too
        "d_model": width,
        "d_kv": 12,
        "d_ff": 2 * width,
        "num_layers": 2,
        "num_decoder_layers": 2,
        "num_heads": 3,
        "feed_forward_proj": "gated-gelu",
        "tie_word_embeddings": False,
        "pad_token_id": 0,
        "eos_token_id": 1,
        "decoder_start_token_id": 0,
    }
    Network(T5Config(**sizes)).save_pretrained(directory)
    features = 32
    if fused:
        path = directory / "model.safetensors"
        fusion = ImageFusion(features, width).state_dict()
        save_file({**load_file(path), **fusion}, path, metadata={"format": "pt"})
    eyes = Blip2VisionConfig(
        hidden_size=features,
        intermediate_size=48,
        num_hidden_layers=1,
        num_attention_heads=2,
        image_size=PICTURE_SIDE,
        patch_size=_PATCH,
        initializer_range=0.3,  # its own is next to nothing: every picture would be alike
    )
    Blip2VisionModel(eyes).save_pretrained(directory / "image_encoder")
    (directory / "image_encoder" / "preprocessor_config.json").write_text(
        json.dumps(
            {
                "size": {"height": PICTURE_SIDE, "width": PICTURE_SIDE},
                "image_mean": [0.48, 0.46, 0.41],
                "image_std": [0.27, 0.26, 0.28],
            }
        )
    )
    return directory


def tiny_qwen(directory: Path, *, model_type: str = "qwen2_vl", seed: int = 0) -> Path:
    """A Qwen2-VL or Qwen2.5-VL with a byte-level tokenizer."""
    import transformers

    torch.manual_seed(seed)
    names = _byte_level(directory)
    text = {
        "vocab_size": max(names.values()) + 1,
        "hidden_size": 48,
        "intermediate_size": 96,
        "num_hidden_layers": 2,
        "initializer_range": 0.2,
        "bos_token_id": None,
        "eos_token_id": names["<|im_end|>"],
        "num_attention_heads": 4,
        "num_key_value_heads": 2,
        "max_position_embeddings": 4096,
        "rope_parameters": {
            "rope_type": "default",
            "rope_theta": 10000.0,
            "mrope_section": [2, 2, 2],
        },
    }
    places = {
        "image_token_id": names["<|image_pad|>"],
        "video_token_id": names["<|video_pad|>"],
        "vision_start_token_id": names["<|vision_start|>"],
        "vision_end_token_id": names["<|vision_end|>"],
        "tie_word_embeddings": False,
    }
    shared = {"depth": 1, "num_heads": 2, "patch_size": _PATCH, "spatial_merge_size": 2}
    if model_type == "qwen2_vl":
        vision = {**shared, "embed_dim": 16, "hidden_size": 48, "mlp_ratio": 2}
        older = transformers.Qwen2VLConfig(text_config=text, vision_config=vision, **places)
        transformers.Qwen2VLForConditionalGeneration(older).save_pretrained(directory)
    else:
        vision = {**shared, "hidden_size": 16, "out_hidden_size": 48, "intermediate_size": 32}
        newer = transformers.Qwen2_5_VLConfig(text_config=text, vision_config=vision, **places)
        transformers.Qwen2_5_VLForConditionalGeneration(newer).save_pretrained(directory)
    (directory / "preprocessor_config.json").write_text(
        json.dumps(
            {
                "image_processor_type": "Qwen2VLImageProcessor",
                "min_pixels": 56 * 56,
                "max_pixels": 56 * 112,
                "patch_size": _PATCH,
                "temporal_patch_size": 2,
                "merge_size": 2,
                "image_mean": [0.48, 0.46, 0.41],
                "image_std": [0.27, 0.26, 0.28],
            }
        )
    )
    return directory


def _unigram(directory: Path) -> int:
    """A T5 tokenizer: ▁ for spaces, some words and every character that is needed."""
    from tokenizers import Tokenizer, decoders, models, pre_tokenizers

    words = sorted({f"▁{word}" for sentence in _SENTENCES for word in sentence.split()})
    letters = sorted({chr(code) for code in range(33, 127)} | {"▁"})
    letters += [f"{number:02d}" for number in range(100)] + ["],", ']",']
    rows = [("<pad>", 0.0), ("</s>", 0.0), ("<unk>", -20.0)]
    rows += [(word, -2.0) for word in words] + [(letter, -4.0) for letter in letters]
    tokenizer = Tokenizer(models.Unigram(rows, unk_id=2))
    tokenizer.pre_tokenizer = pre_tokenizers.Metaspace(prepend_scheme="always")
    tokenizer.decoder = decoders.Metaspace(prepend_scheme="always")
    tokenizer.add_special_tokens(["<pad>", "</s>", "<unk>"])
    directory.mkdir(parents=True, exist_ok=True)
    tokenizer.save(str(directory / "tokenizer.json"))
    (directory / "tokenizer_config.json").write_text(
        json.dumps(
            {
                "tokenizer_class": "T5Tokenizer",
                "extra_ids": 0,
                "eos_token": "</s>",
                "pad_token": "<pad>",
                "unk_token": "<unk>",
            }
        )
    )
    return len(rows)


def _byte_level(directory: Path) -> dict[str, int]:
    """A Qwen tokenizer: byte-level pairs, and the chat's control tokens."""
    from tokenizers import Tokenizer, decoders, models, pre_tokenizers, trainers

    special = [
        "<|endoftext|>",
        "<|im_start|>",
        "<|im_end|>",
        "<|vision_start|>",
        "<|vision_end|>",
        "<|image_pad|>",
        "<|video_pad|>",
    ]
    tokenizer = Tokenizer(models.BPE())
    tokenizer.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    tokenizer.decoder = decoders.ByteLevel()
    trainer = trainers.BpeTrainer(
        vocab_size=400,
        special_tokens=special,
        initial_alphabet=sorted(pre_tokenizers.ByteLevel.alphabet()),
        show_progress=False,
    )
    tokenizer.train_from_iterator([*_SENTENCES, _TOOL] * 3, trainer)
    directory.mkdir(parents=True, exist_ok=True)
    tokenizer.save(str(directory / "tokenizer.json"))
    (directory / "tokenizer_config.json").write_text(
        json.dumps(
            {
                "tokenizer_class": "Qwen2Tokenizer",
                "eos_token": "<|im_end|>",
                "pad_token": "<|endoftext|>",
            }
        )
    )
    return tokenizer.get_vocab()
