"""What a policy that writes its actions as text is shown, and what its texts mean.

The counterpart of `sync.policy_io` for vision-language networks: prompt, picture and grammar, used
by phone, learner and exporter alike. Earlier actions are a pure fold over earlier steps.

    prompt(goal, earlier actions) + picture → tokens, drawn under the grammar → text → Action

A step's decisions are tokens (head "token"). Their masks are not stored: they follow from the
grammar, the vocabulary and the tokens before, which `policy_io_version` and the base name.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, Final

from sync.autoui_text import autoui_action, autoui_grammar, autoui_text
from sync.byte_grammar import ByteGrammar, Fragment, TokenMasks, literal, sequence
from sync.errors import RejectedError
from sync.tool_call_text import tool_call_action, tool_call_grammar, tool_call_text
from sync.vocabulary import Action, Episode

FAMILY: Final = "hf_vlm"
"""Name of the family of networks that are asked like this."""

TOKEN_HEAD: Final = "token"  # noqa: S105 - a word of a text, no secret
"""Name of the head in the decisions of a step."""

MOST_EARLIER: Final = 8
"""Latest actions that a prompt speaks of."""

MOST_PROMPT_TOKENS: Final = 511
"""Tokens of a prompt that AutoUI reads, its end left out; the latest ones are kept."""

MOST_FREE_TOKENS: Final = 96
"""Tokens after which a text only goes where its end comes nearer."""


@dataclass(frozen=True, slots=True)
class TextLanguage:
    """One way to ask for an action and to answer.

    Attributes:
        version: the `policy_io_version` of steps; changes with the prompt, grammar or meaning.
        prompt: the text for a goal and earlier actions, oldest first.
        text_of, action_of: between an action and its text; both raise RejectedError.
        grammar: the texts that `action_of` reads.
    """

    version: str
    prompt: Callable[[str, Sequence[Action]], str]
    text_of: Callable[[Action], str]
    action_of: Callable[[str], Action]
    grammar: Callable[[], Fragment]


def _said(language: Callable[[Action], str], earlier: Sequence[Action]) -> list[str]:
    """The latest actions in words, without those that there are none for."""
    said = []
    for action in earlier[-MOST_EARLIER:]:
        try:
            said.append(language(action))
        except RejectedError:
            continue
    return said


def _autoui_prompt(goal: str, earlier: Sequence[Action]) -> str:
    said = [text.partition("; ")[2] for text in _said(autoui_text, earlier)]
    return "Previous Actions: " + " ".join([*said, f"Goal: {goal}"])


def _tool_call_prompt(goal: str, earlier: Sequence[Action]) -> str:
    said = [text.split("\n")[1] for text in _said(tool_call_text, earlier)]
    steps = "".join(f"Step {index}: {text}\n" for index, text in enumerate(said, start=1))
    shown = steps or "none\n"
    return (
        "You act on a phone. Answer with one call of the tool mobile_use.\n"
        f"Goal: {goal}\nSteps so far:\n{shown}"
    )


AUTOUI: Final = TextLanguage(
    version="hf_vlm/autoui/1",
    prompt=_autoui_prompt,
    text_of=autoui_text,
    action_of=autoui_action,
    grammar=autoui_grammar,
)
"""AutoUI's text: for T5 with image features."""

TOOL_CALLS: Final = TextLanguage(
    version="hf_vlm/tool_calls/1",
    prompt=_tool_call_prompt,
    text_of=tool_call_text,
    action_of=tool_call_action,
    grammar=tool_call_grammar,
)
"""Calls of the tool `mobile_use`: for Qwen-VL networks."""

LANGUAGES: Final = {language.version: language for language in (AUTOUI, TOOL_CALLS)}
"""Every language by its version."""


def prompts_of(episode: Episode, language: TextLanguage) -> Iterator[str]:
    """The prompt of each step of an episode, as it was when the step was decided."""
    actions = [step.action for step in episode.steps]
    for place in range(len(actions)):
        yield language.prompt(episode.goal, actions[:place])


def latest_tokens(tokens: Sequence[int]) -> list[int]:
    """The last tokens of a prompt, as many as are read: its goal stands at its end."""
    return list(tokens[-MOST_PROMPT_TOKENS:])


def picture_digest(png: bytes) -> str:
    """SHA-256 (hex) of a picture as it was seen: `Observation.screenshot`."""
    return hashlib.sha256(png).hexdigest()


def input_digest(language: TextLanguage, prompt: str, picture: str) -> str:
    """SHA-256 (hex) of what the network was shown.

    Args:
        picture: digest of the picture; empty where there was none.
    """
    parts = f"{language.version}\x1f{prompt}\x1f{picture}"
    return hashlib.sha256(parts.encode("utf-8", "surrogatepass")).hexdigest()


@dataclass(frozen=True, slots=True)
class Vocabulary:
    """The tokens of a tokenizer as bytes of text.

    Attributes:
        pieces: what each token stands for; None for special ones, which no action contains.
        lead: what the tokenizer puts before every text.
        end: the token that ends a text.
    """

    pieces: tuple[bytes | None, ...]
    lead: str
    end: int

    def masks(self, language: TextLanguage) -> TokenMasks:
        """Which tokens may follow while an action is written."""
        whole = sequence(literal(self.lead), language.grammar())
        grammar = ByteGrammar(whole)
        return TokenMasks(grammar, self.pieces, end=self.end, most_free=MOST_FREE_TOKENS)

    def plain(self, tokens: Sequence[int]) -> list[int]:
        """`tokens` without special ones: what a screen or a goal says must not end a text."""
        return [token for token in tokens if self.pieces[token] is not None]

    def text(self, tokens: Sequence[int]) -> str:
        """The text of drawn tokens, without the end and the lead."""
        data = b"".join(self.pieces[token] or b"" for token in tokens)
        return data.decode("utf-8", "replace").removeprefix(self.lead)


def vocabulary_of(tokenizer: dict[str, Any], *, end: int, size: int) -> Vocabulary:
    """The vocabulary of a `tokenizer.json` that has been read.

    Args:
        end: the token that ends a text.
        size: how many tokens the network knows; those that the tokenizer lacks stand for nothing.

    Raises: RejectedError: its pieces are of a kind that is not known here ("tokenizer").
    """
    listed = tokenizer["model"]["vocab"]
    # Unigram lists [piece, score] by token, others map pieces to tokens
    by_piece: dict[str, int] = (
        {row[0]: token for token, row in enumerate(listed)} if isinstance(listed, list) else listed
    )
    kinds = {one["type"]: one for one in _parts(tokenizer.get("decoder"))}
    special = {one["id"] for one in tokenizer.get("added_tokens", ())}
    special |= {by_piece[name] for name in _UNKNOWN if name in by_piece}
    if "ByteLevel" in kinds:
        table = _byte_of_character()
        read = {token: _bytes_of(piece, table) for piece, token in by_piece.items()}
        lead = ""
    elif "Metaspace" in kinds:
        read = {token: piece.replace(_SPACE, " ").encode() for piece, token in by_piece.items()}
        lead = "" if kinds["Metaspace"].get("prepend_scheme") == "never" else " "
    else:
        raise RejectedError(
            "the tokenizer is neither byte-level nor one with ▁ for spaces: use such a checkpoint",
            reason="tokenizer",
        )
    pieces = tuple(None if token in special else read.get(token) for token in range(size))
    return Vocabulary(pieces, lead, end)


_SPACE: Final = "▁"
_UNKNOWN: Final = ("<unk>", "<pad>", "</s>", "<s>")


def _parts(decoder: dict[str, Any] | None) -> list[dict[str, Any]]:
    """A tokenizer's decoder as a list of plain ones."""
    if decoder is None:
        return []
    return list(decoder["decoders"]) if decoder["type"] == "Sequence" else [decoder]


def _bytes_of(piece: str, table: dict[str, int]) -> bytes | None:
    known = [table.get(character) for character in piece]
    return None if None in known else bytes(byte for byte in known if byte is not None)


def _byte_of_character() -> dict[str, int]:
    """The characters that byte-level tokenizers write bytes with.

    Bytes that print stand for themselves; the others follow from U+0100 on, in order.
    Source: Radford et al. 2019, GPT-2.
    """
    printed = [*range(0x21, 0x7F), *range(0xA1, 0xAD), *range(0xAE, 0x100)]
    others = [byte for byte in range(256) if byte not in printed]
    table = {chr(byte): byte for byte in printed}
    table.update({chr(0x100 + place): byte for place, byte in enumerate(others)})
    return table


def read_tokenizer(text: str) -> dict[str, Any]:
    """The content of a `tokenizer.json`.

    Raises: RejectedError: it is none ("tokenizer").
    """
    try:
        content: dict[str, Any] = json.loads(text)
        known = bool(content["model"]["vocab"])
    except (ValueError, KeyError, TypeError) as error:
        raise _unreadable() from error
    if not known:
        raise _unreadable()
    return content


def _unreadable() -> RejectedError:
    return RejectedError(
        "tokenizer.json cannot be read: save the tokenizer again", reason="tokenizer"
    )
