"""The oracle: a policy that looks at the phone's state and takes the shortest way to the goal.

It has no memory: each action follows from the state and the screen alone, so it goes on from any
state that noise has led to. It only does what a policy's grammar can say.

It does a task's stages in their order, each in its app, until what a stage is for holds; then the
plan in the task's own app. On each page of a plan it does that page's move, elsewhere it goes back.
"""

from __future__ import annotations

from collections.abc import Sequence

from apps_mock.app import Page
from apps_mock.interruptions import past_interruption
from apps_mock.launcher import LAUNCHER, page_count
from apps_mock.look import draw_look
from apps_mock.phone import MockPhone
from apps_mock.phone_state import PhoneState, installed
from apps_mock.plans import Entry, Fill, GiveAnswer, GiveUp, Hold, Move, Plan, Press, Stage
from apps_mock.reaching import (
    Scene,
    hold,
    touch,
    touch_field,
    touch_first,
    towards_month,
    towards_value,
)
from apps_mock.tasks import Task
from apps_mock.verifiers import Findings, holds
from apps_mock.wanted import Answer
from apps_mock.widgets import Event
from device_runtime.ports import Decided, PolicyRequest
from sync.vocabulary import (
    Action,
    ActionKind,
    Direction,
    FinishStatus,
    Key,
    Observation,
    answer,
    finish,
    press,
    scroll,
    type_text,
)


class OraclePolicy:
    """Plays the task that is loaded on one mock phone."""

    wants_encoding = False

    def __init__(self, phone: MockPhone) -> None:
        self._phone = phone

    def decide(self, requests: Sequence[PolicyRequest]) -> list[Decided]:
        """The next action, the same for each request: they are all about this one phone."""
        return [
            Decided(next_action(self._phone, request.observation), policy_version="oracle")
            for request in requests
        ]


def next_action(phone: MockPhone, observation: Observation) -> Action:
    """What the oracle does next on the phone, whose screen is `observation`."""
    task = phone.task
    scene = Scene(phone.state, phone.laid_out, observation)
    findings = phone.findings()
    ends_by_claim = task.wanted.answer is not None or task.wanted.infeasible
    if findings.reached and not ends_by_claim:
        return finish()
    app, plan = under_way(task, scene.state)
    action = past_interruption(task, app, scene) or _repair(findings, scene)
    if action is not None:
        return action
    if _cannot_do_more(findings, task):
        return finish()
    if scene.state.foreground != app:
        return _to_app(app, task, scene)
    page = scene.state.app_state(app).page
    move = plan.get((page.name, page.argument))
    return press(Key.BACK) if move is None else _moved(move, page, scene, task.wanted.answer)


def _cannot_do_more(findings: Findings, task: Task) -> bool:
    """Whether all is done that is wanted, beside something that cannot be put right."""
    done = bool(task.wanted.changes) and all(check.passed for check in findings.checks)
    return done and task.wanted.answer is None


def under_way(task: Task, state: PhoneState) -> tuple[str, Plan]:
    """The app and the plan of the first stage that is not over, or of the task itself."""
    for stage in task.stages:
        if not _is_over(stage, task, state):
            return stage.app, stage.plan
    page = task.wanted.page
    if page is not None and page.app and not task.plan:
        return page.app, {}
    return task.template.app, task.plan


def _is_over(stage: Stage, task: Task, state: PhoneState) -> bool:
    if stage.changes:
        return holds(task.state, state, stage.app, stage.changes)
    stack = state.app_state(stage.page_app or stage.app).stack
    return any((page.name, page.argument) == stage.page for page in stack)


def _to_app(app: str, task: Task, scene: Scene) -> Action:
    """Open an app from the launcher, on whichever of its pages it stands."""
    if scene.state.foreground != LAUNCHER:
        return press(Key.HOME)
    look, icon = draw_look(task.split, task.look), Event("launch", app)
    on_last = scene.state.home_page + 1 >= page_count(installed(scene.state), look)
    if scene.shows(icon) or (on_last and not scene.state.home_page):
        return touch(icon, scene)
    if on_last:
        return press(Key.HOME)
    return scroll(Direction.LEFT if look.right_to_left else Direction.RIGHT)


def _moved(move: Move, page: Page, scene: Scene, asked: Answer | None) -> Action:
    match move:
        case Press(Event("slide") as slide):
            return touch(towards_value(slide, scene), scene)
        case Press():
            return touch(move.event, scene)
        case Hold():
            return hold(move.event, scene)
        case Fill():
            return _fill(move, page, scene)
        case GiveUp():
            return finish(FinishStatus.INFEASIBLE)
        case GiveAnswer():
            return _answer(asked, page, scene)


def _answer(asked: Answer | None, page: Page, scene: Scene) -> Action:
    """Give the answer where it shows; scroll down to it where it does not."""
    if asked is None:
        return press(Key.BACK)
    text = asked.shown or asked.value
    labels = (element.label for element in scene.observation.elements)
    below = page.scroll_px < scene.screen.scroll_max_px
    if below and not any(text in label for label in labels):
        return scroll(Direction.DOWN)
    return answer(text)


def _fill(move: Fill, page: Page, scene: Scene) -> Action:
    wanted = {entry.field for entry in move.entries}
    for field, text in page.drafts:
        if field not in wanted and text:
            return press(Key.BACK)
    for entry in move.entries:
        if page.draft(entry.field, entry.default) != entry.text:
            return _enter(entry, page, scene)
    if move.then is None:
        return finish()
    return touch(move.then, scene)


def _enter(entry: Entry, page: Page, scene: Scene) -> Action:
    if entry.event is not None:
        return touch(entry.event, scene)
    if entry.picker:
        return _pick(entry, page, scene)
    if not entry.text:
        return press(Key.BACK)
    if entry.paste:
        return _paste(entry, page, scene)
    focused = any(each.focused for each in scene.observation.elements)
    if scene.state.focus == entry.field and focused:
        return type_text(entry.text, clear=bool(page.draft(entry.field)))
    return touch_field(entry.field, scene)


def _pick(entry: Entry, page: Page, scene: Scene) -> Action:
    """Open the entry's picker, and lead it to what shall be chosen."""
    key, chosen = entry.field, Event("set", entry.field, entry.text)
    if page.overlay.partition("|")[0] != key:
        return touch(Event("open", key), scene)
    match entry.picker:
        case "date" if not scene.shows(chosen):
            step = towards_month(key, entry.text[:7], scene)
            return touch_first((chosen,) if step is None else (chosen, step), scene)
        case "time":
            hour = Event("open", f"{key}|{entry.text[:2]}")
            return touch_first((chosen, hour, Event("open", key)), scene)
        case _:
            return touch(chosen, scene)


def _paste(entry: Entry, page: Page, scene: Scene) -> Action:
    """Press the empty field long, and choose to paste from the menu that comes up."""
    if page.draft(entry.field):
        return press(Key.BACK)
    if scene.shows(PASTE):
        return touch(PASTE, scene)
    return touch_field(entry.field, scene, ActionKind.LONG_PRESS)


PASTE = Event("paste")


def _repair(findings: Findings, scene: Scene) -> Action | None:
    """Turn back a switch that was turned by mistake, where it is on this screen."""
    for effect in findings.side_effects:
        event = Event("toggle", effect.record, effect.field)
        if scene.shows(event):
            return touch(event, scene)
    return None
