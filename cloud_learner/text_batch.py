"""Episodes of vision-language policies as samples: prompt and picture shown again, text cut again.

The counterpart of `cloud_learner.batch`. A step is left out where what was shown differs from what
the phone says it was shown, where its picture is not here, or where its action cannot be said.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from cloud_learner.batch import StepSample, Trajectory
from exporters.families.vision_language import Shown, VisionLanguage, rgb_of
from sync.errors import RejectedError
from sync.grammar import ACTION_TYPES, type_name
from sync.picture_folder import Pictures
from sync.text_decoding import masks_along
from sync.text_policy_io import input_digest, prompts_of
from sync.vocabulary import Action, Episode, Step


@dataclass(slots=True, kw_only=True)
class TextSample(StepSample):
    """One step of a vision-language policy, ready for teacher forcing.

    Attributes:
        shown: prompt and picture.
        tokens: D token ids of the answer, its end included.
        masks: D arrays bool [V], what was allowed; shared between samples, not to be written to.
        reference: float32 [D], of the answer's tokens.
    """

    shown: Shown
    tokens: tuple[int, ...]
    masks: Sequence[npt.NDArray[np.bool_]]


def text_samples(samples: Sequence[StepSample]) -> list[TextSample]:
    """`samples`, all of vision-language policies.

    Raises: TypeError: one is of another family; the policy and its episodes do not go together.
    """
    known = [one for one in samples if isinstance(one, TextSample)]
    if len(known) != len(samples):
        raise TypeError("a step of another family came to hf_vlm: score it with its own policy")
    return known


def text_trajectory_of(
    episode: Episode,
    network: VisionLanguage,
    pictures: Pictures,
    *,
    row: int,
    app: str,
    success: bool,
    taught: bool = False,
) -> Trajectory:
    """Show an episode again.

    Args:
        taught: learn what the teacher would have done (`taught_action`) where a step has one.
    """
    prompts = prompts_of(episode, network.language)
    steps = [
        _sample(step, _seen(step, prompt, network, pictures), network, taught=taught)
        for step, prompt in zip(episode.steps, prompts, strict=True)
    ]
    return Trajectory.of(episode, steps, row=row, app=app, success=success)


def _seen(step: Step, prompt: str, network: VisionLanguage, pictures: Pictures) -> Shown | None:
    """What the network was shown at `step`; None where that is not known here."""
    language = network.language
    digest = step.observation.screenshot or ""
    if step.decisions and (
        step.policy_io_version != language.version
        or step.input_digest != input_digest(language, prompt, digest)
    ):
        return None
    if not digest:
        return network.show(prompt, None)
    png = pictures(digest)
    return None if png is None else network.show(prompt, rgb_of(png))


def _sample(
    step: Step, shown: Shown | None, network: VisionLanguage, *, taught: bool
) -> TextSample:
    action = step.taught_action if taught and step.taught_action is not None else step.action
    teaches = action is not step.action or not step.decisions
    end = network.vocabulary.end
    tokens: Sequence[int] = ()
    if shown is not None:
        tokens = _said(action, network) if teaches else [one.choice for one in step.decisions]
    usable = shown is not None and masks_along(network.masks, tokens) is not None
    said = tuple(tokens) if usable else (end,)
    return TextSample(
        shown=shown if shown is not None and usable else Shown((end,)),
        tokens=said,
        masks=text_masks(said, network),
        count=len(said),
        action_type=ACTION_TYPES.index(type_name(action)),
        log_mu=step.log_prob,
        usable=usable,
        valid=step.valid,
        repeats=step.repeat_count,
        state_hash=step.observation.state_hash or "",
    )


def _said(action: Action, network: VisionLanguage) -> Sequence[int]:
    """The action's text as tokens; none where there are no words for it."""
    try:
        return network.answer_tokens(network.language.text_of(action))
    except RejectedError:
        return ()


def text_masks(tokens: Sequence[int], network: VisionLanguage) -> Sequence[npt.NDArray[np.bool_]]:
    """The masks of a sample's tokens; a text that the grammar forbids allows its end alone."""
    return masks_along(network.masks, tokens) or (_only(network.vocabulary.end, network),)


def _only(token: int, network: VisionLanguage) -> npt.NDArray[np.bool_]:
    mask = np.zeros(len(network.vocabulary.pieces), dtype=np.bool_)
    mask[token] = True
    return mask
