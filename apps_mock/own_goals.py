"""A clone that takes a goal as text, as a person's phone does: nobody judges what comes of it."""

from __future__ import annotations

from dataclasses import replace

from apps_mock.phone import MockPhone
from apps_mock.tasks import SUITE_VERSION, draw, furnished, templates
from device_runtime.ports import ResetOutcome
from sync.vocabulary import Assignment


class OwnGoalPhone(MockPhone):
    """A clone for goals as text beside the tasks of templates.

    A goal as text starts at the launcher of a phone with every app; what is in them follows from
    the assignment's seed.
    """

    def reset(self, assignment: Assignment) -> ResetOutcome:
        """Set up the assignment's task, or any phone's state where it names a goal only.

        Raises: UnknownTaskError: no such template, or neither template nor goal.
        """
        if assignment.template or not assignment.goal:
            return super().reset(assignment)
        anything = draw(
            templates()[0].name, seed=assignment.seed, split=assignment.split, look=assignment.look
        )
        phone = furnished(seed=assignment.seed, split=assignment.split)
        self.load_task(replace(anything, goal=assignment.goal, state=phone))
        return ResetOutcome(goal=assignment.goal, suite_version=SUITE_VERSION)
