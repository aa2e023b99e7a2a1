"""A policy that looks at the screen and writes its action as text, one token at a time.

It asks a network for the logits of the next token and draws under the grammar of the network's
language (`sync.text_decoding`), so whatever it writes is an action. The network may be graphs on
a phone (`device_runtime.text_graphs`) or torch where there is one; this module loads neither.
"""

from __future__ import annotations

import io
from collections.abc import Sequence
from typing import TYPE_CHECKING, Protocol

import numpy as np

from device_runtime.loaded_releases import LoadedReleases
from device_runtime.ports import Decided, PolicyRequest
from sync.text_decoding import NextLogits, decide_text
from sync.text_policy_io import TextLanguage, Vocabulary, input_digest, picture_digest

if TYPE_CHECKING:
    import numpy.typing as npt

    from device_runtime.base_files import Quantisation
    from sync.byte_grammar import TokenMasks


class TextNetwork(Protocol):
    """A network that writes, with everything about its texts."""

    @property
    def language(self) -> TextLanguage:
        """How it is asked, and how it answers."""
        ...

    @property
    def vocabulary(self) -> Vocabulary:
        """Its tokens."""
        ...

    @property
    def masks(self) -> TokenMasks:
        """Which tokens may follow while an action is written."""
        ...

    def writer(self, prompt: str, rgb: npt.NDArray[np.uint8] | None) -> NextLogits:
        """The logits of the token that follows, for one prompt and picture.

        Args:
            rgb: uint8 [H, W, 3]; None where no picture could be taken.
        """
        ...


class TextPolicy(LoadedReleases[TextNetwork]):
    """Chooses actions with one network per loaded release.

    Implements `device_runtime.ports.Policy`.

    Args:
        network: acts as the factory release.
        quantisation: how its graphs compute; every step says it.
    """

    wants_encoding = False
    wants_picture = True

    def __init__(self, network: TextNetwork, *, quantisation: Quantisation = "fp32") -> None:
        super().__init__(network)
        self.quantisation: Quantisation = quantisation

    def decide(self, requests: Sequence[PolicyRequest]) -> list[Decided]:
        """One decision per request, in order; each screen is read alone.

        Raises:
            RejectedError: the network's logits are not finite ("not_finite"), or its vocabulary
                cannot write an action ("vocabulary").
        """
        return [self._decide(request) for request in requests]

    def _decide(self, request: PolicyRequest) -> Decided:
        release_id = request.release_id or self.current
        network = self.acting(release_id)
        language = network.language
        prompt = language.prompt(request.goal, request.earlier)
        rgb = None if request.picture is None else rgb_of(request.picture)
        choice = decide_text(
            network.writer(prompt, rgb),
            network.masks,
            temperature=request.temperature,
            random=request.random,
        )
        picture = "" if request.picture is None else picture_digest(request.picture)
        return Decided(
            action=language.action_of(network.vocabulary.text(choice.tokens)),
            decisions=choice.decisions,
            log_prob=choice.log_prob,
            policy_version=release_id,
            quantisation=self.quantisation,
            policy_io_version=language.version,
            input_digest=input_digest(language, prompt, picture),
        )


def rgb_of(png: bytes) -> npt.NDArray[np.uint8]:
    """uint8 [H, W, 3]: the picture in a file's bytes."""
    from PIL import Image  # noqa: PLC0415 - only where a policy looks at pictures

    with Image.open(io.BytesIO(png)) as image:
        return np.asarray(image.convert("RGB"))
