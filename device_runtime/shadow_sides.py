"""The two policies of shadow scoring, and the screens that they answer, for each family.

layout_t5 answers encoded screens of the log with the decisions of its decoder; hf_vlm answers a
prompt and the picture that it was shown, with the tokens of a text.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager
from random import Random
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from device_runtime.errors import InstallError
from device_runtime.policy import OnnxPolicy
from device_runtime.shadow import Answer, Shown, ShownText, Side
from device_runtime.text_policy import rgb_of
from sync.adapter_file import AdapterFile
from sync.decoding import Logits, decide, log_prob_of
from sync.errors import RejectedError
from sync.picture_folder import Pictures
from sync.policy_io import EncodedInput, encode_episode
from sync.text_decoding import decide_text, log_prob_of_text, masks_along
from sync.text_policy_io import LANGUAGES, TextLanguage, input_digest, prompts_of
from sync.vocabulary import FACTORY_RELEASE, Episode

if TYPE_CHECKING:
    from device_runtime.policies import BasePolicy, Policies
    from device_runtime.policy import OnnxGraphs
    from device_runtime.text_policy import TextNetwork
    from sync.text_table import TextTable

_CANDIDATE, _ACTIVE = "shadow-candidate", "shadow-active"

Lock = AbstractContextManager[object]
Sides = Callable[[AdapterFile, AdapterFile | None], AbstractContextManager[tuple[Side, Side]]]
"""Makes the candidate's and the active policy's side (None: the factory's) for a while.

Raises: InstallError: the candidate cannot be loaded.
"""
ShownIn = Callable[[Episode], Iterator[tuple[str, Shown]]]
"""What a policy was shown at the steps of an episode, each with a digest of just that."""


def sides_of(policy: Policies, lock: Lock) -> Sides:
    """Both sides of a policy that another thread acts with; each answer takes the lock."""

    @contextmanager
    def make(candidate: AdapterFile, active: AdapterFile | None) -> Iterator[tuple[Side, Side]]:
        names = []
        try:
            with lock:
                for name, adapter in ((_CANDIDATE, candidate), (_ACTIVE, active)):
                    if adapter is not None:
                        policy.load_adapter(name, adapter.tensors, base_digest=adapter.base_digest)
                        names.append(name)
                acting = FACTORY_RELEASE if active is None else _ACTIVE
                sides = tuple(
                    _side_of(policy.base_policy(name), name, lock) for name in (_CANDIDATE, acting)
                )
            yield sides[0], sides[1]
        finally:
            with lock:
                for name in names:
                    policy.unload(name)

    return make


def _side_of(policy: BasePolicy, release_id: str, lock: Lock) -> Side:
    if isinstance(policy, OnnxPolicy):
        return GraphSide(policy.graphs_for(release_id), policy.table, lock)
    return TextSide(policy.acting(release_id), lock)


def shown_in(policy_io_version: str, pictures: Pictures) -> ShownIn:
    """How the screens of a log are shown again to a policy of this version.

    Args:
        pictures: that the policy was shown; steps whose picture is not here any more are left out.
    """
    language = LANGUAGES.get(policy_io_version)
    if language is None:
        return _encoded_in

    def read(episode: Episode) -> Iterator[tuple[str, Shown]]:
        return _texts_in(episode, language, pictures)

    return read


def _encoded_in(episode: Episode) -> Iterator[tuple[str, Shown]]:
    for encoded in encode_episode(episode):
        yield encoded.digest, encoded


def _texts_in(
    episode: Episode, language: TextLanguage, pictures: Pictures
) -> Iterator[tuple[str, Shown]]:
    for step, prompt in zip(episode.steps, prompts_of(episode, language), strict=True):
        named = step.observation.screenshot or ""
        picture = pictures(named) if named else None
        if picture is not None or not named:
            yield input_digest(language, prompt, named), ShownText(prompt, picture)


class GraphSide:
    """The graphs of layout_t5 under one adapter, watched while they answer."""

    def __init__(self, graphs: OnnxGraphs, table: TextTable, lock: Lock) -> None:
        self._graphs = graphs
        self._table = table
        self._lock = lock

    def answer(self, screen: Shown) -> Answer:
        """The greedy action; numbers that are none are noticed, and never raise."""
        encoded = _encoded(screen)
        watched = _WatchedDecoder(self._graphs)
        with self._lock, np.errstate(invalid="ignore"):
            (choice,) = decide(
                [encoded],
                self._graphs.encoder,
                watched.decoder,
                table=self._table,
                temperatures=[0.0],
                randoms=[Random(0)],
            )
        is_masked = not encoded.type_mask[watched.likeliest_type]
        return Answer(choice.choices, is_finite=watched.is_finite, is_masked=is_masked)

    def log_prob(self, screen: Shown, choices: Sequence[int]) -> float | None:
        """Log-probability of an action at temperature 1, nats."""
        inputs = [_encoded(screen)]
        with self._lock, np.errstate(invalid="ignore"):
            (found,) = log_prob_of(
                inputs, [choices], self._graphs.encoder, self._graphs.decoder, table=self._table
            )
        return float(found)


class TextSide:
    """A network that writes, under one adapter, watched while it answers."""

    def __init__(self, network: TextNetwork, lock: Lock) -> None:
        self._network = network
        self._lock = lock

    def answer(self, screen: Shown) -> Answer:
        """The tokens of the likeliest text; numbers that are none are noticed, and never raise.

        Raises: InstallError: its vocabulary cannot write an action.
        """
        masks = self._network.masks
        with self._lock:
            watched = self._watched(screen)
            try:
                choice = decide_text(watched.next_logits, masks, temperature=0.0, random=Random(0))
            except RejectedError as error:
                if error.reason != "not_finite":
                    raise InstallError(str(error), reason=error.reason) from error
                return Answer((), is_finite=False)
        rows, place = masks_along(masks, choice.tokens) or (), watched.first_place
        is_masked = 0 <= place < len(rows) and not rows[place][watched.likeliest]
        return Answer(choice.tokens, is_finite=watched.is_finite, is_masked=is_masked)

    def log_prob(self, screen: Shown, choices: Sequence[int]) -> float | None:
        """Log-probability of a text's tokens at temperature 1, nats; None of no text of its own.

        Another base may have another vocabulary.
        """
        if max(choices, default=0) >= len(self._network.vocabulary.pieces):
            return None
        with self._lock, np.errstate(invalid="ignore"):
            writer = self._watched(screen).next_logits
            return log_prob_of_text(writer, self._network.masks, choices)

    def _watched(self, screen: Shown) -> _WatchedWriter:
        if not isinstance(screen, ShownText):
            raise TypeError("a policy that writes texts is shown prompts: read the log for it")
        rgb = None if screen.picture is None else rgb_of(screen.picture)
        return _WatchedWriter(self._network, screen.prompt, rgb)


def _encoded(screen: Shown) -> EncodedInput:
    if isinstance(screen, ShownText):
        raise TypeError("layout_t5 is shown encoded screens: read the log for it")
    return screen


class _WatchedDecoder:
    """A decoder, and what it said before the masks."""

    def __init__(self, graphs: OnnxGraphs) -> None:
        self._decoder = graphs.decoder
        self.is_finite = True
        self.likeliest_type = -1

    def decoder(
        self, memory: Any, prefix: npt.NDArray[np.int64], rows: Sequence[int] | None = None
    ) -> Logits:  # the memory's form is the graphs' own
        """The decoder's logits, looked at in passing."""
        logits = self._decoder(memory, prefix, rows)
        self.is_finite = self.is_finite and all(
            bool(np.isfinite(one).all()) for one in (logits.types, logits.pointers, logits.words)
        )
        if self.likeliest_type < 0:
            self.likeliest_type = int(logits.types[0].argmax())
        return logits


class _WatchedWriter:
    """What a network says of one screen before the masks.

    Attributes:
        first_place: how many tokens stood where it was asked first; -1 before.
        likeliest: the token that it liked best there.
    """

    def __init__(
        self, network: TextNetwork, prompt: str, rgb: npt.NDArray[np.uint8] | None
    ) -> None:
        self._writer = network.writer(prompt, rgb)
        self.is_finite = True
        self.first_place = -1
        self.likeliest = -1

    def next_logits(self, tokens: Sequence[int]) -> npt.NDArray[np.float32]:
        """The network's logits, looked at in passing."""
        logits = self._writer(tokens)
        self.is_finite = self.is_finite and bool(np.isfinite(logits).all())
        if self.first_place < 0:
            self.first_place, self.likeliest = len(tokens), int(logits.argmax())
        return logits
