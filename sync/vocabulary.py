"""The one vocabulary: what phone and cloud mean by an observation, an action, a step, an episode.

Frozen values, standard library only; `sync.codec` turns them into bytes. Nothing else in the
project defines an episode, a verdict, an assignment or a release.

Indexing, stated once: an episode has T steps. `steps[t].observation` is what was seen before
`steps[t].action`; a reward for step t follows action t. `final_observation` is what was seen after
the last action (observation T), where there was one.
"""

from __future__ import annotations

import os
import time
from dataclasses import dataclass, field
from enum import StrEnum
from typing import NewType
from uuid import UUID

DeviceId = NewType("DeviceId", str)
EpisodeId = NewType("EpisodeId", str)
AssignmentId = NewType("AssignmentId", str)
ReleaseId = NewType("ReleaseId", str)

FACTORY_RELEASE = ReleaseId("factory")
"""The release of a phone that never installed one: the base network with no adapter."""

Rect = tuple[int, int, int, int]
"""left, top, right, bottom in pixels of the upright screen; right and bottom are exclusive."""


class ActionKind(StrEnum):
    """What an action does."""

    TAP = "tap"
    LONG_PRESS = "long_press"
    DOUBLE_TAP = "double_tap"
    SWIPE = "swipe"
    DRAG = "drag"
    SCROLL = "scroll"
    TYPE = "type"
    KEY = "key"
    OPEN_APP = "open_app"
    WAIT = "wait"
    ANSWER = "answer"
    ASK_USER = "ask_user"
    FINISH = "finish"


class Direction(StrEnum):
    """Where a scroll goes: DOWN shows what lies below (the finger moves up)."""

    UP = "up"
    DOWN = "down"
    LEFT = "left"
    RIGHT = "right"


class Key(StrEnum):
    """The keys that an action can press."""

    BACK = "back"
    HOME = "home"
    RECENTS = "recents"
    ENTER = "enter"
    MENU = "menu"


class FinishStatus(StrEnum):
    """What the policy claims when it ends the episode."""

    COMPLETE = "complete"
    INFEASIBLE = "infeasible"


class EndReason(StrEnum):
    """Why an episode ended."""

    FINISH = "finish"
    ANSWER = "answer"
    BUDGET = "budget"
    GUARD = "guard"
    ENV_ERROR = "env_error"

    @property
    def terminated(self) -> bool:
        """True where the task ended by the policy's own decision."""
        return self in {EndReason.FINISH, EndReason.ANSWER}

    @property
    def truncated(self) -> bool:
        """True where we stopped it."""
        return self in {EndReason.BUDGET, EndReason.GUARD}


class Split(StrEnum):
    """Which draw of entities and looks a task instance belongs to; disjoint by construction."""

    TRAIN = "train"
    VALIDATION = "validation"
    TEST = "test"


class Purpose(StrEnum):
    """What an assigned episode is for."""

    TRAIN = "train"
    DEMONSTRATE = "demonstrate"
    EVALUATE = "evaluate"
    GATE = "gate"


class VerdictSource(StrEnum):
    """Who judged."""

    CODE = "code"
    PROBE = "probe"
    JUDGE = "judge"
    OWNER = "owner"


class ScreenMark(StrEnum):
    """Something about a real phone's screen that its elements alone do not tell."""

    SECURE = "secure"
    """The focused window forbids capture: a screenshot shows black where it is."""
    BLANK = "blank"
    """The screenshot is all of one colour although the screen is on."""
    NO_TREE = "no_tree"
    """The phone gave no view hierarchy: the elements were read from the screenshot."""
    PERMISSION = "permission_dialog"
    CRASH = "crash_dialog"
    NOT_RESPONDING = "not_responding"
    KEYGUARD = "keyguard"


@dataclass(frozen=True, slots=True)
class SlotRef:
    """A secret that was redacted: only the phone's driver can turn the slot into its text."""

    slot: str


@dataclass(frozen=True, slots=True)
class Element:
    """One thing on the screen: from the view hierarchy, or from text recognition."""

    class_name: str
    bounds: Rect
    text: str = ""
    description: str = ""
    resource_id: str = ""
    package: str = ""
    clickable: bool = False
    long_clickable: bool = False
    checkable: bool = False
    checked: bool = False
    editable: bool = False
    password: bool = False
    scrollable: bool = False
    focused: bool = False
    selected: bool = False
    enabled: bool = True

    @property
    def label(self) -> str:
        """What a person would call it: its text, or else its description."""
        return self.text or self.description


@dataclass(frozen=True, slots=True)
class Observation:
    """What was seen of the phone at one moment.

    Attributes:
        width_px, height_px: size of the upright screen.
        rotation: quarter turns, 0..3.
        package, activity: what is in the foreground; empty where unknown.
        elements: in reading order (top to bottom, then left to right).
        keyboard_shown: whether the on-screen keyboard covers part of the screen.
        screenshot: SHA-256 (hex) of the image in the blob table, where one was taken.
        state_hash: exact hash of a clone's state; None on real phones.
        marks: what else a real phone's driver knows of the screen, each once, in the enum's order.
    """

    width_px: int
    height_px: int
    elements: tuple[Element, ...] = ()
    rotation: int = 0
    package: str = ""
    activity: str = ""
    keyboard_shown: bool = False
    screenshot: str | None = None
    state_hash: str | None = None
    marks: tuple[ScreenMark, ...] = field(default=(), repr=False)  # no policy is shown them


@dataclass(frozen=True, slots=True)
class Action:
    """One action; positions are fractions of the screen (0..1), pixels exist only at the driver.

    Which fields a kind needs is checked on creation; build actions with the functions below.

    Attributes:
        x, y: where (tap, long_press, double_tap, start of swipe and drag).
        x2, y2: where swipe and drag end.
        element: index into the observation's elements that the action is about, where known.
        text: what to type, answer or ask.
        clear: whether typing replaces what the field holds.
        duration_ms: how long (long_press, swipe, drag, wait).
    """

    kind: ActionKind
    x: float | None = None
    y: float | None = None
    x2: float | None = None
    y2: float | None = None
    element: int | None = None
    direction: Direction | None = None
    text: str | SlotRef | None = None
    clear: bool = False
    key: Key | None = None
    app: str | None = None
    duration_ms: int | None = None
    status: FinishStatus | None = None

    def __post_init__(self) -> None:
        missing = [name for name in _NEEDED[self.kind] if getattr(self, name) is None]
        if missing:
            raise ValueError(f"a {self.kind} action needs {', '.join(missing)}")
        for name in ("x", "y", "x2", "y2"):
            value = getattr(self, name)
            if value is not None and not 0.0 <= value <= 1.0:
                raise ValueError(f"{name} is a fraction of the screen in 0..1, got {value}")


_NEEDED: dict[ActionKind, tuple[str, ...]] = {
    ActionKind.TAP: ("x", "y"),
    ActionKind.LONG_PRESS: ("x", "y"),
    ActionKind.DOUBLE_TAP: ("x", "y"),
    ActionKind.SWIPE: ("x", "y", "x2", "y2"),
    ActionKind.DRAG: ("x", "y", "x2", "y2"),
    ActionKind.SCROLL: ("direction",),
    ActionKind.TYPE: ("text",),
    ActionKind.KEY: ("key",),
    ActionKind.OPEN_APP: ("app",),
    ActionKind.WAIT: (),
    ActionKind.ANSWER: ("text",),
    ActionKind.ASK_USER: ("text",),
    ActionKind.FINISH: ("status",),
}


def tap(x: float, y: float, element: int | None = None) -> Action:
    """A short touch at (x, y)."""
    return Action(ActionKind.TAP, x=x, y=y, element=element)


def tap_element(observation: Observation, index: int, kind: ActionKind = ActionKind.TAP) -> Action:
    """A touch in the middle of the visible part of element `index`."""
    left, top, right, bottom = observation.elements[index].bounds
    x_px = (max(0, left) + min(observation.width_px, right)) / 2
    y_px = (max(0, top) + min(observation.height_px, bottom)) / 2
    return Action(
        kind,
        x=min(max(x_px / observation.width_px, 0.0), 1.0),
        y=min(max(y_px / observation.height_px, 0.0), 1.0),
        element=index,
    )


def scroll(direction: Direction, element: int | None = None) -> Action:
    """Show what lies in `direction`, in `element` or in the largest scrollable area."""
    return Action(ActionKind.SCROLL, direction=direction, element=element)


def type_text(text: str | SlotRef, *, clear: bool = True) -> Action:
    """Type into the focused field, replacing what it holds unless `clear` is False."""
    return Action(ActionKind.TYPE, text=text, clear=clear)


def press(key: Key) -> Action:
    """Press one key."""
    return Action(ActionKind.KEY, key=key)


def open_app(app: str) -> Action:
    """Start an app by its label or package."""
    return Action(ActionKind.OPEN_APP, app=app)


def wait(duration_ms: int = 1000) -> Action:
    """Do nothing for a while."""
    return Action(ActionKind.WAIT, duration_ms=duration_ms)


def answer(text: str) -> Action:
    """Answer the goal's question; ends the episode."""
    return Action(ActionKind.ANSWER, text=text)


def ask_user(text: str) -> Action:
    """Ask the owner; the episode goes on."""
    return Action(ActionKind.ASK_USER, text=text)


def finish(status: FinishStatus = FinishStatus.COMPLETE) -> Action:
    """Claim that the goal is reached (or cannot be); ends the episode."""
    return Action(ActionKind.FINISH, status=status)


@dataclass(frozen=True, slots=True)
class Decision:
    """One token of an action as the decoder chose it.

    Attributes:
        head: which head chose: "type", "pointer" or "word".
        choice: index within the head's choices.
        log_prob: log μ of the choice under mask and temperature, nats.
        mask: packed bits (numpy.packbits, big-endian) of the choices that were allowed.
    """

    head: str
    choice: int
    log_prob: float
    mask: bytes


@dataclass(frozen=True, slots=True)
class Step:
    """One observation, the action that followed, and everything about how it was chosen.

    Attributes:
        decisions: token by token what the behaviour policy chose; empty for scripted actors.
        log_prob: log μ of the whole action, nats: sum over `decisions`; 0.0 for scripted actors.
        temperature: sampling temperature; 0 means greedy.
        policy_version: release id whose policy acted.
        quantisation: how its weights were stored ("fp32", "int8").
        policy_io_version: version of the encoding and action grammar.
        input_digest: SHA-256 (hex) of the encoded input; the learner must arrive at the same.
        taught_action: what a teacher would have done, where one was asked.
        valid: False where the action could not be carried out.
        repeat_count: how often the same action was already tried in a row on the same screen.
    """

    index: int
    observation: Observation
    action: Action
    decisions: tuple[Decision, ...] = ()
    log_prob: float = 0.0
    temperature: float = 0.0
    policy_version: str = FACTORY_RELEASE
    quantisation: str = "fp32"
    policy_io_version: str = ""
    input_digest: str = ""
    taught_action: Action | None = None
    valid: bool = True
    repeat_count: int = 0
    observed_at_ms: int = 0
    decide_ms: float = 0.0
    act_ms: float = 0.0


@dataclass(frozen=True, slots=True)
class TemplateInfo:
    """What a farm announces of one task template, so that the cloud can assign it unseen."""

    name: str
    app: str
    suite: str
    step_budget: int
    oracle_steps: int
    tags: tuple[str, ...] = ()


OWN_TEMPERATURE = -1.0
"""Temperature of an assignment that is played with the phone's own; steps hold what that was."""


@dataclass(frozen=True, slots=True)
class Assignment:
    """One episode that somebody wants played: how curriculum, gates and evaluation reach a phone.

    Attributes:
        template: task template; empty where the goal is given as text (an owner's own).
        goal: the goal text where `template` is empty.
        seed: parameters' seed within the split.
        look: seed of the clone's look.
        group_id: episodes of one group share task, seed and look (GRPO).
        actor: "release", "oracle", "lexical", "random", "noop", or a user's policy file.
        release_id: pinned release; empty means whatever is installed.
        temperature: 0 is greedy; `OWN_TEMPERATURE` leaves it to the phone's own setting.
        step_budget: steps after which the episode is truncated.
    """

    id: AssignmentId
    template: str = ""
    goal: str = ""
    suite: str = ""
    seed: int = 0
    split: Split = Split.TRAIN
    look: int = 0
    group_id: str = ""
    actor: str = "release"
    purpose: Purpose = Purpose.TRAIN
    release_id: str = ""
    temperature: float = 1.0
    step_budget: int = 15


@dataclass(frozen=True, slots=True)
class Episode:
    """The trajectory from reset to its end, with T steps (see the module for indexing).

    Attributes:
        release_id: the release that was installed when the episode began.
        arm: "canary", "stable" or "hold_out": the arm of a staged release it counts for.
        harness_hash: digest of the code that played it (policy_io and agent versions).
        end_state_digest: exact hash of the clone's end state; None on real phones.
        end_detail: one line about the end, where there is something to say (an error's text).
    """

    id: EpisodeId
    assignment: Assignment
    device_id: DeviceId
    goal: str
    steps: tuple[Step, ...]
    end_reason: EndReason
    seat: int = 0
    release_id: str = FACTORY_RELEASE
    arm: str = "stable"
    suite_version: str = ""
    harness_hash: str = ""
    end_state_digest: str | None = None
    end_detail: str = ""
    started_at_ms: int = 0
    ended_at_ms: int = 0
    final_observation: Observation | None = None


@dataclass(frozen=True, slots=True)
class Check:
    """One named thing that a verifier looked at."""

    name: str
    passed: bool
    reason: str = ""


@dataclass(frozen=True, slots=True)
class Verdict:
    """What a verifier says of an episode; a row of its own, so that it can be judged again.

    Attributes:
        score: 1.0 success, 0.0 failure; None where it cannot be decided (never counted as success).
        progress: share of the checks that passed, 0..1.
        goal_reached: whether the goal state held at the end, finished or not; reported apart.
        side_effects: what else changed and should not have.
    """

    episode_id: EpisodeId
    verifier: str
    verifier_version: str
    source: VerdictSource
    score: float | None
    progress: float = 0.0
    goal_reached: bool = False
    checks: tuple[Check, ...] = ()
    side_effects: tuple[str, ...] = ()

    @property
    def success(self) -> bool:
        """True only where it was decided and passed."""
        return self.score is not None and self.score >= 1.0


@dataclass(frozen=True, slots=True)
class Evaluation:
    """Figures that a release was judged by: greedy success on one split, with n."""

    suite: str
    split: Split
    n: int
    successes: int
    env_errors: int = 0


@dataclass(frozen=True, slots=True)
class Release:
    """What a phone is told of one update; its bytes are signed, its adapter is whole in itself.

    Attributes:
        version: rises by one with each release of a fleet; a roll-back is a new, higher version.
        base_digest: SHA-256 (hex) of the base network that the adapter belongs to.
        adapter_digest, adapter_size_bytes: the quantised adapter file as it is signed.
        policy_io_version: encoding and grammar that the adapter was trained with.
        parent: release that training started from.
        data_watermark: highest row of the cloud's episode table that was trained on.
        min_runtime: lowest `sync.runtime_level.RUNTIME_LEVEL` of a phone that can run it.
    """

    id: ReleaseId
    version: int
    base_digest: str
    adapter_digest: str
    adapter_size_bytes: int
    policy_io_version: str
    created_at_ms: int = 0
    parent: str = FACTORY_RELEASE
    data_watermark: int = 0
    quantisation: str = "int8"
    evaluations: tuple[Evaluation, ...] = ()
    notes: str = ""
    extra: dict[str, str] = field(default_factory=dict)
    min_runtime: int = 0


def new_uuid7(now_ms: int | None = None, entropy: bytes | None = None) -> str:
    """A UUID that sorts by time (RFC 9562, version 7); `entropy` is 10 random bytes."""
    millis = time.time_ns() // 1_000_000 if now_ms is None else now_ms
    random_bytes = os.urandom(10) if entropy is None else entropy
    raw = bytearray(millis.to_bytes(6, "big") + random_bytes)
    raw[6] = 0x70 | (raw[6] & 0x0F)
    raw[8] = 0x80 | (raw[8] & 0x3F)
    return str(UUID(bytes=bytes(raw)))
