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

from device_runtime.errors import InstallError
from device_runtime.ports import Decided, PolicyRequest
from sync.text_decoding import NextLogits, decide_text
from sync.text_policy_io import TextLanguage, Vocabulary, input_digest, picture_digest
from sync.vocabulary import FACTORY_RELEASE

if TYPE_CHECKING:
    import numpy.typing as npt

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


class TextPolicy:
    """Chooses actions with one network per loaded release.

    Not safe to use from several threads at once. Implements `device_runtime.ports.Policy`.

    Args:
        network: acts as the factory release.
    """

    wants_encoding = False
    wants_picture = True

    def __init__(self, network: TextNetwork) -> None:
        self._networks: dict[str, TextNetwork] = {FACTORY_RELEASE: network}
        self._current = str(FACTORY_RELEASE)

    @property
    def current(self) -> str:
        """The release that acts where a request names none."""
        return self._current

    @property
    def loaded(self) -> tuple[str, ...]:
        """Releases that requests may name."""
        return tuple(self._networks)

    def load(self, release_id: str, network: TextNetwork) -> None:
        """Make `release_id` available; one that is loaded already under this name is replaced."""
        self._networks[release_id] = network

    def use(self, release_id: str) -> None:
        """Let `release_id` act where a request names none.

        Raises: InstallError: it is not loaded ("unknown_release").
        """
        self._network_for(release_id)
        self._current = release_id

    def unload(self, release_id: str) -> None:
        """Forget a release; the factory release acts where it was the current one."""
        if release_id == FACTORY_RELEASE:
            raise ValueError("the factory release is always there")
        self._networks.pop(release_id, None)
        if self._current == release_id:
            self._current = FACTORY_RELEASE

    def decide(self, requests: Sequence[PolicyRequest]) -> list[Decided]:
        """One decision per request, in order; each screen is read alone.

        Raises:
            RejectedError: the network's logits are not finite ("not_finite"), or its vocabulary
                cannot write an action ("vocabulary").
        """
        return [self._decide(request) for request in requests]

    def _decide(self, request: PolicyRequest) -> Decided:
        release_id = request.release_id or self._current
        network = self._network_for(release_id)
        language = network.language
        prompt = language.prompt(request.goal, request.earlier)
        rgb = None if request.picture is None else _rgb(request.picture)
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
            policy_io_version=language.version,
            input_digest=input_digest(language, prompt, picture),
        )

    def _network_for(self, release_id: str) -> TextNetwork:
        network = self._networks.get(release_id)
        if network is None:
            raise InstallError(
                f"release {release_id} is not loaded: install it first", reason="unknown_release"
            )
        return network


def _rgb(png: bytes) -> npt.NDArray[np.uint8]:
    from PIL import Image  # noqa: PLC0415 - only where a policy looks at pictures

    with Image.open(io.BytesIO(png)) as image:
        return np.asarray(image.convert("RGB"))
