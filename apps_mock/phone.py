"""A phone in process: the clones behind the same port as a physical phone.

Two levels. The port's level (`reset`, `observe`, `act`, `judge`) is what an agent uses. The input
level (`touch`, `swipe`, `type_text`, `press`, `tree_xml`, ...) is what fingers do and what the ADB
daemon serves; the port's actions are played through it, as on a real phone.
"""

from __future__ import annotations

from dataclasses import dataclass

from apps_mock.clone_elements import elements_on
from apps_mock.digests import StateHasher
from apps_mock.layout import lay_out
from apps_mock.look import Look, draw_look
from apps_mock.phone_state import (
    PhoneState,
    dispatch,
    draft,
    edited,
    focus_field,
    foreground_of,
    go_back,
    go_home,
    hide_keyboard,
    installed,
    launch,
    scrolled,
    show_recents,
    view,
)
from apps_mock.places import LaidOut, Window
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
from device_runtime.ui_tree import Node, to_xml
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

WIDTH_PX = 1080
HEIGHT_PX = 2400
MODEL = "Clone 1"
ANDROID_VERSION = "14"

KEY_HOME, KEY_BACK, KEY_ENTER, KEY_DELETE = 3, 4, 66, 67
KEY_ESCAPE, KEY_RECENTS = 111, 187


@dataclass(frozen=True, slots=True)
class _Seen:
    """One screen with everything that was computed of it."""

    state: PhoneState
    laid_out: LaidOut
    observation: Observation


class MockPhone:
    """One clone phone; implements the ports `Phone` and `Verifier`.

    Args:
        serial: what it calls itself.
        state_hashes: whether observations carry the exact hash of the state.
    """

    def __init__(self, *, serial: str = "mock-0", state_hashes: bool = True) -> None:
        self._serial = serial
        self._state_hashes = state_hashes
        self._task: Task | None = None
        self._state: PhoneState | None = None
        self._look: Look = draw_look(Split.TRAIN, 0)
        self._seen: _Seen | None = None
        self._hasher = StateHasher()
        self._generation = 0

    # The port's level.

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
        return self.load_task(draw(template, seed=seed, split=split, look=look))

    def load_task(self, task: Task) -> Task:
        """Set a drawn task up."""
        self._task = task
        self._look = draw_look(task.split, task.look)
        self._become(task.state)
        return task

    def observe(self) -> Observation:
        """What is on the screen now."""
        return self._look_at().observation

    def act(self, action: Action) -> ActOutcome:
        """Play the action's input events."""
        try:
            events = input_events(action, self.observe())
        except InvalidActionError as error:
            return ActOutcome(valid=False, detail=str(error))
        for event in events:
            if not self._play(event):
                return ActOutcome(valid=False, detail=f"no app is called {action.app!r}")
        return ActOutcome()

    def screenshot(self) -> bytes:
        """The screen as PNG bytes."""
        from apps_mock.render import png  # noqa: PLC0415 - Pillow loads only when somebody looks

        return png(self.tree(), keyboard=self.keyboard_shown, now=self.state.now)

    def info(self) -> PhoneInfo:
        """What phone this is."""
        return PhoneInfo(
            serial=self._serial,
            model=MODEL,
            android_version=ANDROID_VERSION,
            width_px=WIDTH_PX,
            height_px=HEIGHT_PX,
            extra={"suite_version": SUITE_VERSION},
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

    # The input level.

    def touch(self, x_px: int, y_px: int, *, duration_ms: int = 0) -> None:
        """One finger down and up; views without a long click take a long touch as a tap."""
        del duration_ms
        for target in reversed(self.laid_out.targets):
            left, top, right, bottom = target.bounds
            if left <= x_px < right and top <= y_px < bottom:
                if target.event is not None:
                    self._become(dispatch(self.state, target.event))
                else:
                    self._become(focus_field(self.state, target.field))
                return

    def swipe(self, x1: int, y1: int, x2: int, y2: int, *, duration_ms: int = 300) -> None:
        """One finger along a line: what scrolls under its start follows it; else it is a touch."""
        if abs(x1 - x2) < 16 and abs(y1 - y2) < 16:
            self.touch(x1, y1, duration_ms=duration_ms)
            return
        laid_out = self.laid_out
        left, top, right, bottom = laid_out.scroll_area
        front = self.state.front
        if front is None or not (left <= x1 < right and top <= y1 < bottom):
            return
        start = min(front.page.scroll_px, laid_out.scroll_max_px)
        self._become(scrolled(self.state, min(max(start + y1 - y2, 0), laid_out.scroll_max_px)))

    def type_text(self, text: str) -> None:
        """Append characters to the focused field; without one they are lost."""
        state = self.state
        if state.focus:
            self._become(edited(state, draft(state) + text))

    def press(self, keycode: int, *, times: int = 1) -> None:
        """Press a key by Android's code; unknown ones do nothing."""
        state = self.state
        if keycode == KEY_DELETE:
            text = draft(state)
            if text:
                self._become(edited(state, text[: max(0, len(text) - times)]))
            return
        for _ in range(times):
            self._press_once(keycode)

    def open_app(self, name: str) -> bool:
        """Bring an app to the front by label or package; False where there is none."""
        wanted = name.casefold()
        for app in installed(self.state):
            if wanted in {app.label.casefold(), app.package.casefold(), app.name}:
                self._become(launch(self.state, app.name))
                return True
        return False

    def tree(self) -> Node:
        """The view hierarchy's root."""
        return self.laid_out.root

    def tree_xml(self) -> bytes:
        """The view hierarchy as uiautomator writes it."""
        return to_xml((self.tree(),))

    def foreground(self) -> tuple[str, str]:
        """Package and activity in front."""
        return foreground_of(self.state)

    @property
    def keyboard_shown(self) -> bool:
        """Whether the keyboard covers the lower part of the screen."""
        return self.state.keyboard

    @property
    def generation(self) -> int:
        """Rises whenever the screen may have changed."""
        return self._generation

    # What oracle, gates and tests look at.

    @property
    def task(self) -> Task:
        """The task that is loaded."""
        if self._task is None:
            raise RuntimeError("no task is loaded: call reset or load first")
        return self._task

    @property
    def state(self) -> PhoneState:
        """The whole phone as one value."""
        if self._state is None:
            raise RuntimeError("no task is loaded: call reset or load first")
        return self._state

    def restore(self, state: PhoneState) -> None:
        """Go on from a state that this phone was in: a snapshot is a reference."""
        self._become(state)

    @property
    def laid_out(self) -> LaidOut:
        """The present screen in its places."""
        return self._look_at().laid_out

    def findings(self) -> Findings:
        """What the verifier finds in the present state."""
        return verify(self.task.state, self.state, self.task.wanted)

    def state_hash(self) -> str:
        """Exact hash (hex) of the present state."""
        return self._hasher.digest(self.state)

    # Inside.

    def _become(self, state: PhoneState) -> None:
        if state is not self._state:
            self._state = state
            self._generation += 1

    def _look_at(self) -> _Seen:
        state = self.state
        if self._seen is not None and self._seen.state is state:
            return self._seen
        package, activity = foreground_of(state)
        front = state.front
        window = Window(
            package=package,
            width_px=WIDTH_PX,
            height_px=HEIGHT_PX,
            scroll_px=front.page.scroll_px if front is not None else 0,
            focus=state.focus,
            keyboard=state.keyboard,
        )
        laid_out = lay_out(view(state, self._look), self._look, window)
        observation = Observation(
            width_px=WIDTH_PX,
            height_px=HEIGHT_PX,
            elements=elements_on(laid_out.root, WIDTH_PX, HEIGHT_PX),
            package=package,
            activity=activity,
            keyboard_shown=state.keyboard,
            state_hash=self.state_hash() if self._state_hashes else None,
        )
        self._seen = _Seen(state, laid_out, observation)
        return self._seen

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

    def _press_once(self, keycode: int) -> None:
        state = self.state
        if keycode == KEY_HOME:
            self._become(go_home(state))
        elif keycode in {KEY_BACK, KEY_ESCAPE}:
            self._become(go_back(state))
        elif keycode == KEY_RECENTS:
            self._become(show_recents(state))
        elif keycode == KEY_ENTER and state.focus:
            self._become(self._entered(state))

    def _entered(self, state: PhoneState) -> PhoneState:
        """Enter goes to the next field; in the last one it does what the page is for."""
        laid_out = self.laid_out
        if state.focus not in laid_out.fields:
            return hide_keyboard(state)
        position = laid_out.fields.index(state.focus) + 1
        if position < len(laid_out.fields):
            return focus_field(state, laid_out.fields[position])
        if laid_out.submit is not None:
            return dispatch(state, laid_out.submit)
        return hide_keyboard(state)

    def _verdict(self, episode_id: EpisodeId, claim: Action | None) -> Verdict:
        return verdict_of(
            self.findings(),
            self.task.wanted,
            claim,
            episode_id=episode_id,
            verifier=self.task.template.name,
            version=f"{SUITE_VERSION}.{VERIFIER_VERSION}",
        )
