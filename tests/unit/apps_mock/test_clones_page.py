"""docs/clones.md lists the templates as they are."""

from __future__ import annotations

import re

from apps_mock.tasks import draw, templates
from sync.vocabulary import Split


def row_of(template) -> str:
    goal = draw(template.name, seed=1, split=Split.TEST, look=1).goal
    return f"| {template.name} | {template.oracle_steps} | {template.step_budget} | {goal} |"


def test_the_page_lists_every_template_with_its_steps_budget_and_a_goal(root):
    page = (root / "docs" / "clones.md").read_text(encoding="utf-8")

    listed = re.findall(r"^\| \w+_\w+ \| .*$", page, flags=re.MULTILINE)

    assert listed == [row_of(template) for template in templates()]
