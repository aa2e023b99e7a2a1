"""Do the phone's graphs write as the network does? `exporters.parity` for what writes texts.

The phone's side writes two texts for each prompt and picture, the likeliest one and a sampled one,
as it does when it acts; then both sides say at every token of both how likely it was and what they
would have written there. The network does so in one teacher-forced pass: its own likeliest text is
the phone's if and only if it would have written every token of that.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from random import Random
from typing import TYPE_CHECKING, Protocol

import numpy as np

from device_runtime.text_graphs import TextBase
from exporters.errors import ParityError
from exporters.families.vision_language import rgb_of
from exporters.parity import LEAST_INT8_AGREEMENT, ParityReport, require_parity
from sync.decoding import log_softmax
from sync.text_decoding import decide_text, masks_along
from sync.text_policy_io import prompts_of

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

    import numpy.typing as npt

    from device_runtime.policy import Quantisation
    from exporters.families.vision_language import VisionLanguage
    from sync.byte_grammar import TokenMasks
    from sync.picture_folder import EpisodePictures
    from sync.text_decoding import NextLogits
    from sync.text_policy_io import TextLanguage
    from sync.vocabulary import Episode

Tokens = tuple[int, ...]


@dataclass(frozen=True, slots=True)
class TextInput:
    """What a network is shown: a prompt, and uint8 [H, W, 3] of the screen or None."""

    prompt: str
    rgb: npt.NDArray[np.uint8] | None


@dataclass(frozen=True, slots=True)
class Judged:
    """What a side says of a given text.

    Attributes:
        log_prob: at temperature 1, nats.
        likeliest: the token that it would have written at each place.
        decided: how many places left a choice.
    """

    log_prob: float
    likeliest: Tokens
    decided: int


class TextSide(Protocol):
    """Whoever can say how likely a text is."""

    def judged(self, shown: TextInput, texts: Sequence[Tokens]) -> list[Judged]:
        """What it says of texts for one prompt and picture."""
        ...


class NetworkSide:
    """The torch network, read at every call."""

    def __init__(self, network: VisionLanguage) -> None:
        self._network = network

    def judged(self, shown: TextInput, texts: Sequence[Tokens]) -> list[Judged]:
        """See `TextSide`."""
        network = self._network
        logits = network.text_logits(network.show(shown.prompt, shown.rgb), texts)
        return [
            _judged(network.masks, text, rows) for text, rows in zip(texts, logits, strict=True)
        ]


class GraphsSide:
    """What a phone runs of the graphs in `base_dir` under `adapter`.

    Raises:
        PolicyFilesError: the graphs cannot be opened.
        InstallError: the adapter does not fit them.
    """

    def __init__(
        self,
        base_dir: Path,
        adapter: Mapping[str, npt.NDArray[np.float32]],
        quantisation: Quantisation = "fp32",
    ) -> None:
        self._graphs = TextBase(base_dir, quantisation=quantisation).network(adapter)

    def judged(self, shown: TextInput, texts: Sequence[Tokens]) -> list[Judged]:
        """See `TextSide`."""
        masks = self._graphs.masks
        writers = [self._graphs.writer(shown.prompt, shown.rgb) for _ in texts]
        return [
            _judged(masks, text, _rows(writer, text))
            for text, writer in zip(texts, writers, strict=True)
        ]

    def written(self, shown: TextInput, *, temperature: float) -> Tokens:
        """A text as a phone writes it."""
        writer = self._graphs.writer(shown.prompt, shown.rgb)
        masks = self._graphs.masks
        return decide_text(writer, masks, temperature=temperature, random=Random(0)).tokens


def compare_texts(first: TextSide, second: GraphsSide, inputs: Sequence[TextInput]) -> ParityReport:
    """How far `second` writes as `first` does.

    Args:
        inputs: prompts and pictures, best logged ones.

    Raises: RejectedError: the logits of `second` are not finite ("not_finite").
    """
    if not inputs:
        raise ValueError("parity is checked on at least one observation")
    same, decisions, parted = 0, 0, 0
    differences = []
    for shown in inputs:
        texts = [second.written(shown, temperature=one) for one in (0.0, 1.0)]
        ours, theirs = first.judged(shown, texts), second.judged(shown, texts)
        differing = sum(map(int.__ne__, ours[0].likeliest, texts[0]))
        same += not differing
        decisions += ours[0].decided
        parted += differing
        differences += [
            abs(one.log_prob - other.log_prob) for one, other in zip(ours, theirs, strict=True)
        ]
    return ParityReport(
        n=len(inputs),
        agreements=same,
        decisions=decisions,
        agreed_decisions=decisions - parted,
        max_difference=float(np.max(differences)),
        p99_difference=float(np.quantile(differences, 0.99)),
        median_difference=float(np.median(differences)),
    )


def require_text_parity(report: ParityReport, quantisation: Quantisation) -> None:
    """Nothing where the graphs may be published.

    Raises:
        ParityError: under fp32 as `require_parity`; under int8 fewer than `LEAST_INT8_AGREEMENT` of
            the tokens that leave a choice are the network's, or a log-probability is not a number.
    """
    if quantisation == "fp32":
        require_parity(report, quantisation)
    elif not report.agreed_decisions >= LEAST_INT8_AGREEMENT * report.decisions:
        raise ParityError(
            f"torch and {quantisation} ONNX agree on {report.agreed_decisions} of "
            f"{report.decisions} tokens, wanted are {LEAST_INT8_AGREEMENT:.0%}: train longer, or "
            "run this base with fp32"
        )
    elif not np.isfinite(report.max_difference):
        raise ParityError(f"log-probabilities of {quantisation} ONNX are not finite: export again")


def logged_texts(
    episodes: Iterable[Episode], language: TextLanguage, pictures: EpisodePictures
) -> Iterator[TextInput]:
    """What was shown at the steps of episodes; steps whose picture is not here are left out."""
    for episode in episodes:
        shown = pictures(episode)
        for step, prompt in zip(episode.steps, prompts_of(episode, language), strict=True):
            digest = step.observation.screenshot
            picture = shown(digest) if digest else None
            if picture is not None or not digest:
                yield TextInput(prompt, None if picture is None else rgb_of(picture))


def _rows(writer: NextLogits, text: Tokens) -> list[npt.NDArray[np.float32]]:
    return [writer(text[:place]) for place in range(len(text))]


def _judged(masks: TokenMasks, text: Tokens, logits: Iterable[npt.NDArray[np.float32]]) -> Judged:
    rows = masks_along(masks, text)
    assert rows is not None  # a phone wrote it under these masks
    total, likeliest, decided = 0.0, [], 0
    for token, mask, row in zip(text, rows, logits, strict=True):
        log_probs = log_softmax(row, mask)
        total += float(log_probs[token])
        likeliest.append(int(log_probs.argmax()))
        decided += int(mask.sum() > 1)
    return Judged(total, tuple(likeliest), decided)
