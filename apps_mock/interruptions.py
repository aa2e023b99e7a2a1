"""What lies over the app in front without a plan's page knowing of it, and the way past it."""

from __future__ import annotations

from apps_mock.phone_state import Overlay
from apps_mock.reaching import Scene, touch, touch_first
from apps_mock.tasks import Task
from apps_mock.widgets import Event
from sync.vocabulary import Action, Direction, Key, press, scroll


def past_interruption(task: Task, app: str, scene: Scene) -> Action | None:
    """What to do about something that lies over the page.

    Args:
        app: where the oracle is at work.
    Returns: None where nothing does, or where the plan's own move deals with it.
    """
    overlay = scene.state.overlay
    if overlay is None or overlay.kind == "text_menu":
        return None
    match overlay.kind:
        case "lock":
            unlock = Event("unlock")
            return touch(unlock, scene) if scene.shows(unlock) else scroll(Direction.DOWN)
        case "permission" if _needs(task, overlay):
            return touch(Event("allow"), scene)
        case "share" if overlay.subject == app:
            return touch_first(_receivers(task, app), scene)
        case _:
            return press(Key.BACK)


def _needs(task: Task, overlay: Overlay) -> bool:
    """Whether a task wants the permission that is asked for, or does not mind it."""
    wanted = {change.record for change in task.wanted.changes if change.table == "permissions"}
    return overlay.subject in wanted or ("system", "permissions") in task.wanted.free


def _receivers(task: Task, app: str) -> tuple[Event, ...]:
    """Apps of the task that may be meant to get what one of its apps shares."""
    names = [*(stage.page_app or stage.app for stage in task.stages), task.template.app]
    return tuple(Event("share_to", name) for name in dict.fromkeys(names) if name != app)
