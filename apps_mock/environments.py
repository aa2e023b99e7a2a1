"""Gymnasium environments: clones as `outrider/<suite>-v0`, through the agent's own episode.

    env = gymnasium.make("outrider/tickets-v0")  # see `gymnasium_plugin`

An environment is a shell around `EpisodeMachine`, as a farm's seat is: same goals, budgets, endings
and verdicts. The reward is 1 at an end that the verifier calls a success, else 0. An environment
error ends an episode as truncated with `info["env_error"]`: it is no reward, so leave it out.
"""

from __future__ import annotations

from typing import Any, Literal

import gymnasium
import numpy as np
import numpy.typing as npt
from gymnasium import spaces

from apps_mock.environment_actions import Taken, action_of, action_space, taken_of
from apps_mock.evaluation import EVERY_SUITE, templates_of
from apps_mock.phone import MockPhone
from apps_mock.tasks import template_of
from apps_mock.unicode_text import UnicodeText
from device_runtime.agent import EpisodeMachine, EpisodeOrigin
from device_runtime.errors import PhoneFaultError, PhoneLostError
from device_runtime.ports import Decided
from sync.clock import SystemClock
from sync.vocabulary import (
    Assignment,
    AssignmentId,
    DeviceId,
    EndReason,
    Observation,
    Split,
    Verdict,
)

MAX_TEXT = 65536
PIXELS_WIDTH, PIXELS_HEIGHT = 270, 600
_SEEDS = 2**31

Observed = dict[str, Any]  # Any: what each space holds


class PhoneEnv(gymnasium.Env[Observed, Taken]):
    """One mock phone that plays the tasks of a suite.

    Args:
        suite: names as `outrider eval --suite` takes them.
        split: whose entities and looks are drawn.
        observations: "tree" gives the screen as lines of text, "pixels" as an image
            (uint8 [600, 270, 3]); the goal comes with both.

    `reset(options={"template": …, "task_seed": …, "look": …})` chooses a task; what is left out is
    drawn with the environment's generator, so `reset(seed=…)` repeats.
    """

    metadata = {"render_modes": ["rgb_array"], "render_fps": 4}  # noqa: RUF012 - gymnasium's way

    def __init__(
        self,
        suite: str = EVERY_SUITE,
        *,
        split: str | Split = Split.TRAIN,
        observations: Literal["tree", "pixels", "both"] = "tree",
        render_mode: str | None = None,
    ) -> None:
        if observations not in {"tree", "pixels", "both"}:
            raise ValueError(f"observations are tree, pixels or both, got {observations!r}")
        self.render_mode = render_mode
        self._templates = [one for one in templates_of(suite) if one.counts]
        self._split = Split(split)
        self._wanted = {"tree", "pixels"} if observations == "both" else {observations}
        self._phone = MockPhone()
        self._machine: EpisodeMachine | None = None
        self._seen: Observation | None = None
        shown: dict[str, spaces.Space[Any]] = {"goal": UnicodeText(1024)}
        if "tree" in self._wanted:
            shown["tree"] = UnicodeText(MAX_TEXT)
        if "pixels" in self._wanted:
            shape = (PIXELS_HEIGHT, PIXELS_WIDTH, 3)
            shown["pixels"] = spaces.Box(0, 255, shape, np.uint8)
        self.observation_space = spaces.Dict(shown)
        self.action_space = action_space()

    def reset(
        self,
        *,
        seed: int | None = None,
        options: dict[str, Any] | None = None,  # Any: gymnasium's type
    ) -> tuple[Observed, dict[str, Any]]:
        """Set a task up.

        Raises: UnknownTaskError: `options["template"]` is none.
        """
        super().reset(seed=seed)
        assignment = self._assignment(options or {})
        self._machine = EpisodeMachine(
            assignment,
            EpisodeOrigin(DeviceId("gymnasium")),
            clock=SystemClock(),
            new_id=lambda: assignment.id,
            encodes=False,
        )
        self._machine.begin(self._phone.reset(assignment))
        self._look()
        return self._observed(), self._info(None)

    def step(self, action: Taken) -> tuple[Observed, float, bool, bool, dict[str, Any]]:
        """Play one action; see `action_of` for its fields.

        Raises: ValueError: it is none; the text names the field and what may be in it.
        """
        machine = self._machine
        if machine is None or machine.end_reason is not None:
            raise gymnasium.error.ResetNeeded("the episode has ended: call reset")
        try:
            chosen = machine.choose(Decided(action_of(action, self._shown())))
            if chosen is not None:
                machine.acted(self._phone.act(chosen))
                self._look()
        except (PhoneLostError, PhoneFaultError) as error:
            machine.fail(str(error))
        verdict = self._verdict()
        reward = 0.0 if verdict is None else verdict.score or 0.0
        ended, terminated = self._ended()
        return self._observed(), reward, terminated, ended and not terminated, self._info(verdict)

    def _ended(self) -> tuple[bool, bool]:
        """Whether the episode has ended, and whether by the policy's own decision."""
        end = None if self._machine is None else self._machine.end_reason
        return end is not None, end is not None and end.terminated

    def render(self) -> npt.NDArray[np.uint8]:
        """The screen, uint8 [600, 270, 3]."""
        return self._pixels()

    def close(self) -> None:
        """Let go of the phone."""
        self._phone.close()

    def oracle_action(self) -> Taken:
        """What the oracle would do next: a demonstration for free."""
        from apps_mock.oracle import next_action  # noqa: PLC0415 - only who asks needs it

        return taken_of(next_action(self._phone, self._shown()))

    def _assignment(self, options: dict[str, Any]) -> Assignment:  # Any: as above
        names = [template.name for template in self._templates]
        name = options.get("template") or names[int(self.np_random.integers(len(names)))]
        template = template_of(str(name))
        task_seed = options.get("task_seed")
        look = options.get("look")
        return Assignment(
            AssignmentId("gymnasium"),
            template=template.name,
            suite=template.app,
            seed=int(self.np_random.integers(_SEEDS)) if task_seed is None else int(task_seed),
            look=int(self.np_random.integers(_SEEDS)) if look is None else int(look),
            split=self._split,
            step_budget=template.step_budget,
        )

    def _look(self) -> None:
        assert self._machine is not None
        seen = self._phone.observe()
        self._machine.see(seen)
        self._seen = seen

    def _shown(self) -> Observation:
        if self._seen is None:
            raise gymnasium.error.ResetNeeded("there is no episode yet: call reset")
        return self._seen

    def _verdict(self) -> Verdict | None:
        machine = self._machine
        if machine is None or machine.end_reason in {None, EndReason.ENV_ERROR}:
            return None
        return self._phone.judge(machine.close())

    def _observed(self) -> Observed:
        observed: Observed = {"goal": self._phone.task.goal}
        if "tree" in self._wanted:
            observed["tree"] = tree_text(self._shown())
        if "pixels" in self._wanted:
            observed["pixels"] = self._pixels()
        return observed

    def _pixels(self) -> npt.NDArray[np.uint8]:
        from PIL import Image  # noqa: PLC0415 - Pillow loads only when somebody looks

        from apps_mock.render import draw  # noqa: PLC0415 - as above

        image = draw(self._phone.scene(), width_px=PIXELS_WIDTH)
        if image.size != (PIXELS_WIDTH, PIXELS_HEIGHT):
            image = image.resize((PIXELS_WIDTH, PIXELS_HEIGHT), Image.Resampling.BILINEAR)
        return np.asarray(image, np.uint8)

    def _info(self, verdict: Verdict | None) -> dict[str, Any]:  # Any: as above
        machine = self._machine
        assert machine is not None
        assignment = machine.assignment
        end = machine.end_reason
        return {
            "template": assignment.template,
            "task_seed": assignment.seed,
            "look": assignment.look,
            "steps": len(machine.steps),
            "end_reason": "" if end is None else end.value,
            "env_error": end is EndReason.ENV_ERROR,
            "progress": 0.0 if verdict is None else verdict.progress,
        }


def tree_text(seen: Observation) -> str:
    """The screen in lines: number, class, label, what can be done with it, bounds in pixels."""
    lines = [f"{seen.package} {seen.width_px}x{seen.height_px}"]
    for number, element in enumerate(seen.elements, start=1):
        words = [str(number), element.class_name.rpartition(".")[2]]
        if element.label:
            words.append(f'"{element.label}"')
        flags = ("clickable", "editable", "scrollable", "checkable", "checked", "focused")
        words += [flag for flag in flags if getattr(element, flag)]
        words.append("[{},{}][{},{}]".format(*element.bounds))
        lines.append(" ".join(words))
    return "\n".join(lines)[:MAX_TEXT]
