"""A clone that takes a goal as text, as a person's phone does: nobody judges what comes of it."""

from __future__ import annotations

from random import Random

from apps_mock.phone import MockPhone
from apps_mock.tasks import SUITE_VERSION, templates
from device_runtime.ports import ResetOutcome
from sync.vocabulary import Assignment


class OwnGoalPhone(MockPhone):
    """A clone for goals as text beside the tasks of templates.

    A goal as text starts at the launcher of a furnished phone that follows from the assignment's
    seed.
    """

    def reset(self, assignment: Assignment) -> ResetOutcome:
        """Set up the assignment's task, or any phone's state where it names a goal only.

        Raises: UnknownTaskError: no such template, or neither template nor goal.
        """
        if assignment.template or not assignment.goal:
            return super().reset(assignment)
        furnished = Random(f"own goal/{assignment.seed}").choice(templates())
        self.load(furnished.name, assignment.seed, assignment.split, assignment.look)
        return ResetOutcome(goal=assignment.goal, suite_version=SUITE_VERSION)
