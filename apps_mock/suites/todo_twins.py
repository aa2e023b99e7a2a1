"""AndroidWorld's questions about things to do, in the todo app."""

from __future__ import annotations

from apps_mock.apps.todo import ANY, DONE, HIGH, NEXT_WEEK, OPEN, Filter, filtered
from apps_mock.catalogue import Term
from apps_mock.entities import Draw
from apps_mock.suites.todo_plans import MOST_TITLES, Scene, scene, to_results, with_matches
from apps_mock.templates import Instance, Template
from apps_mock.wanted import Answer

SUITE = "androidworld"
_TAGS = ("answer", "scrolls")


def _titles(draw: Draw, start: Scene, wanted: Filter, words: dict[str, str | Term]) -> Instance:
    """Ask for the titles of what passes a filter."""
    found = with_matches(draw, start, wanted, draw.random.randint(1, MOST_TITLES))
    titles = [todo.title for todo in filtered(found.data.todos, wanted, found.today)]
    return Instance(
        words=words,
        data=found.data,
        plan=to_results(wanted),
        answer=Answer("list", "\n".join(titles), shown=", ".join(titles)),
        now=found.now,
    )


def _on_day(draw: Draw, *, priority: str = ANY, status: str = ANY) -> Instance:
    start = scene(draw)
    wanted = Filter(start.day, priority, status)
    return _titles(draw, start, wanted, {"day": Term(start.day, "day")})


def _completed_on_day(draw: Draw) -> Instance:
    return _on_day(draw, status=DONE)


def _due_on_day(draw: Draw) -> Instance:
    return _on_day(draw)


def _high_on_day(draw: Draw) -> Instance:
    return _on_day(draw, priority=HIGH)


def _open_on_day(draw: Draw) -> Instance:
    return _on_day(draw, status=OPEN)


def _high(draw: Draw) -> Instance:
    return _titles(draw, scene(draw), Filter(priority=HIGH), {})


def _next_week(draw: Draw) -> Instance:
    wanted = Filter(NEXT_WEEK, status=OPEN)
    count = draw.random.randrange(1, 7)
    found = with_matches(draw, scene(draw), wanted, count)
    return Instance(
        words={},
        data=found.data,
        plan=to_results(wanted),
        answer=Answer("number", str(count)),
        now=found.now,
    )


TEMPLATES: tuple[Template, ...] = (
    Template(
        name="TasksCompletedTasksForDate",
        app="todo",
        oracle_steps=10,
        phrasings=(
            "Which tasks due on {day} are completed",
            "List the titles of the completed tasks that were due on {day}",
        ),
        held_out=("Of the tasks for {day} name those that are done",),
        set_up=_completed_on_day,
        suite=SUITE,
        tags=_TAGS,
    ),
    Template(
        name="TasksDueNextWeek",
        app="todo",
        oracle_steps=9,
        phrasings=(
            "How many tasks that are not completed are due next week",
            "Count the open tasks that are due next week and answer the number",
        ),
        held_out=("Tell me how many tasks are left for next week",),
        set_up=_next_week,
        suite=SUITE,
        tags=("answer", "no_parameters", "scrolls"),
    ),
    Template(
        name="TasksDueOnDate",
        app="todo",
        oracle_steps=10,
        phrasings=(
            "Which of my tasks are due on {day}",
            "List the titles of all tasks that are due on {day}",
        ),
        held_out=("Name everything in tasks that is for {day}",),
        set_up=_due_on_day,
        suite=SUITE,
        tags=_TAGS,
    ),
    Template(
        name="TasksHighPriorityTasks",
        app="todo",
        oracle_steps=9,
        phrasings=(
            "Which of my tasks have high priority",
            "List the titles of all tasks whose priority is high",
        ),
        held_out=("Name the tasks that matter most by their priority",),
        set_up=_high,
        suite=SUITE,
        tags=("answer", "no_parameters", "scrolls"),
    ),
    Template(
        name="TasksHighPriorityTasksDueOnDate",
        app="todo",
        oracle_steps=11,
        phrasings=(
            "Which tasks of high priority are due on {day}",
            "List the titles of the tasks with high priority for {day}",
        ),
        held_out=("Name what is due on {day} and has the priority high",),
        set_up=_high_on_day,
        suite=SUITE,
        tags=_TAGS,
    ),
    Template(
        name="TasksIncompleteTasksOnDate",
        app="todo",
        oracle_steps=10,
        phrasings=(
            "Which tasks due on {day} are not completed yet",
            "List the titles of the open tasks that are due on {day}",
        ),
        held_out=("Name what I still have to do of the tasks for {day}",),
        set_up=_open_on_day,
        suite=SUITE,
        tags=_TAGS,
    ),
)
