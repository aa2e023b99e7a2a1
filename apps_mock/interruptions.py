"""What can lie over an app's page without a plan having asked for it, and the way past it."""

from __future__ import annotations

from apps_mock.reaching import Scene
from apps_mock.tasks import Task
from sync.vocabulary import Action


def past_interruption(task: Task, scene: Scene) -> Action | None:
    """What to do about something that lies over the page; None where nothing does."""
    del task, scene
    return None
