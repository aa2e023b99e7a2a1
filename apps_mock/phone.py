"""A phone in process: the clones behind the same port as a physical phone.

Two levels. The port's level (`reset`, `observe`, `act`, `judge`) is what an agent uses. The input
level (`touch`, `swipe`, `type_text`, `press`, `tree_xml`, ...; see `live_phone`) is what fingers do
and what the ADB daemon serves; the port's actions are played through it, as on a real phone.
"""

from __future__ import annotations

from apps_mock.entities import PSEUDO_WORD_SHARE
from apps_mock.live_phone import LivePhone
from apps_mock.look import draw_look
from apps_mock.tasks import SUITE_VERSION, Task, draw
from apps_mock.verifiers import VERIFIER_VERSION, Findings, claim_of, verdict_of, verify
from device_runtime.errors import InvalidActionError, UnknownTaskError
from device_runtime.gestures import (
    InputEvent,
    KeyPress,
    Pause,
    StartApp,
    Swipe,
    Text,
    Touch,
    input_events,
)
from device_runtime.ports import ActOutcome, PhoneInfo, ResetOutcome
from sync.vocabulary import (
    Action,
    Assignment,
    Episode,
    EpisodeId,
    Observation,
    Split,
    Verdict,
    finish,
)

MODEL = "Clone 1"
ANDROID_VERSION = "14"


class MockPhone(LivePhone):
    """One clone phone; implements the ports `Phone` and `Verifier`.

    Args:
        serial: what it calls itself.
        state_hashes: whether observations carry the exact hash of the state.
        pseudo_words: share of the names in training tasks that are pseudo-words (see `draw`).
    """

    def __init__(
        self,
        *,
        serial: str = "mock-0",
        state_hashes: bool = True,
        pseudo_words: float = PSEUDO_WORD_SHARE,
    ) -> None:
        super().__init__(state_hashes=state_hashes)
        self._serial = serial
        self._pseudo_words = pseudo_words
        self._task: Task | None = None

    def reset(self, assignment: Assignment) -> ResetOutcome:
        """Set the assignment's task up.

        Raises: UnknownTaskError: no such template, or the assignment names none.
        """
        if not assignment.template:
            raise UnknownTaskError("a clone plays templates; the assignment names none")
        self.load(assignment.template, assignment.seed, assignment.split, assignment.look)
        return ResetOutcome(goal=self.task.goal, suite_version=SUITE_VERSION)

    def load(self, template: str, seed: int, split: Split = Split.TRAIN, look: int = 0) -> Task:
        """Draw a task and set it up.

        Raises: UnknownTaskError: no such template.
        """
        return self.load_task(
            draw(template, seed=seed, split=split, look=look, pseudo_words=self._pseudo_words)
        )

    def load_task(self, task: Task) -> Task:
        """Set a drawn task up."""
        self._task = task
        self._broken = None
        self._look = draw_look(task.split, task.look)
        self._become(task.state)
        return task

    def observe(self) -> Observation:
        """What is on the screen now.

        Raises: AppCrashError: an app broke since the last call; its dialog shows.
        """
        observation = self._look_at().observation
        self.raise_crash()
        return observation

    def act(self, action: Action) -> ActOutcome:
        """Play the action's input events.

        Raises: AppCrashError: an app broke; its dialog shows.
        """
        return self.act_as_seen(action, self.observe())

    def act_as_seen(self, action: Action, seen: Observation) -> ActOutcome:
        """Like `act`, on the screen that `seen` describes: what a picture showed has no tree.

        Raises: AppCrashError: an app broke; its dialog shows.
        """
        try:
            events = input_events(action, seen)
        except InvalidActionError as error:
            return ActOutcome(valid=False, detail=str(error))
        for event in events:
            if not self._play(event):
                return ActOutcome(valid=False, detail=f"no app is called {action.app!r}")
        self.raise_crash()
        return ActOutcome()

    def info(self) -> PhoneInfo:
        """What phone this is."""
        return PhoneInfo(
            serial=self._serial,
            model=MODEL,
            android_version=ANDROID_VERSION,
            width_px=self._look.width_px,
            height_px=self._look.height_px,
            extra={
                "density": str(round(self._look.density * 160)),
                "locale": self._look.locale,
                "suite_version": SUITE_VERSION,
            },
        )

    def close(self) -> None:
        """Let go of the task."""
        self._seen = None

    def judge(self, episode: Episode) -> Verdict | None:
        """The verdict on an episode that has just ended on this phone; None for any other."""
        task = self._task
        assignment = episode.assignment
        if task is None or (task.template.name, task.seed, task.split, task.look) != (
            assignment.template,
            assignment.seed,
            assignment.split,
            assignment.look,
        ):
            return None
        return self._verdict(episode.id, claim_of(episode))

    def current_verdict(self, claim: Action | None = None) -> Verdict:
        """What the verifier says of the state now, as if the episode ended with `claim` here.

        Args:
            claim: the last action; finish(complete) where it is None.
        """
        return self._verdict(EpisodeId(""), claim or finish())

    @property
    def task(self) -> Task:
        """The task that is loaded."""
        if self._task is None:
            raise RuntimeError("no task is loaded: call reset or load first")
        return self._task

    def findings(self) -> Findings:
        """What the verifier finds in the present state."""
        return verify(self.task.state, self.state, self.task.wanted)

    def _play(self, event: InputEvent) -> bool:
        match event:
            case Touch():
                self.touch(event.x_px, event.y_px, duration_ms=event.duration_ms)
            case Swipe():
                self.swipe(event.x1, event.y1, event.x2, event.y2, duration_ms=event.duration_ms)
            case Text():
                self.type_text(event.text)
            case KeyPress():
                self.press(event.keycode, times=event.times)
            case StartApp():
                return self.open_app(event.name)
            case Pause():
                pass
        return True

    def _verdict(self, episode_id: EpisodeId, claim: Action | None) -> Verdict:
        return verdict_of(
            self.findings(),
            self.task.wanted,
            claim,
            episode_id=episode_id,
            verifier=self.task.template.name,
            version=f"{SUITE_VERSION}.{VERIFIER_VERSION}",
        )
