"""What the tasks about notes and things to do ask for, checked against the data by itself."""

from __future__ import annotations

from collections import Counter
from datetime import date, timedelta

import pytest

from apps_mock.answers import is_right
from apps_mock.suites import notes, todo
from apps_mock.tasks import Task, draw
from sync.vocabulary import Split

MARKOR = {
    "MarkorAddNoteHeader",
    "MarkorChangeNoteContent",
    "MarkorCreateFolder",
    "MarkorCreateNote",
    "MarkorCreateNoteAndSms",
    "MarkorCreateNoteFromClipboard",
    "MarkorDeleteAllNotes",
    "MarkorDeleteNewestNote",
    "MarkorDeleteNote",
    "MarkorEditNote",
    "MarkorMergeNotes",
    "MarkorMoveNote",
}
JOPLIN = {
    "NotesIsTodo",
    "NotesMeetingAttendeeCount",
    "NotesRecipeIngredientCount",
    "NotesTodoItemCount",
}
TASKS = {
    "TasksCompletedTasksForDate",
    "TasksDueNextWeek",
    "TasksDueOnDate",
    "TasksHighPriorityTasks",
    "TasksHighPriorityTasksDueOnDate",
    "TasksIncompleteTasksOnDate",
}
TEMPLATES = (*notes.TEMPLATES, *todo.TEMPLATES)
SEEDS = range(20)


def drawn(name: str, seed: int, split: Split = Split.VALIDATION) -> Task:
    return draw(name, seed=seed, split=split, look=0)


def data_of(task: Task, app: str = ""):
    return task.state.app_state(app or task.template.app).data


def answer_of(task: Task) -> str:
    assert task.wanted.answer is not None
    return task.wanted.answer.value


def test_the_twins_bear_the_names_of_their_originals():
    twins = {template.name for template in TEMPLATES if template.suite == "androidworld"}

    assert twins == MARKOR | JOPLIN | TASKS


def test_there_are_tasks_over_several_apps_and_some_that_cannot_be_done():
    tags = Counter(tag for template in TEMPLATES for tag in template.tags)

    assert tags["cross_app"] >= 6
    assert tags["infeasible"] >= 2
    assert tags["answer"] >= 11


def test_the_note_to_delete_is_the_one_with_the_latest_time():
    for seed in SEEDS:
        task = drawn("MarkorDeleteNewestNote", seed)
        times = {note.id: note.modified for note in data_of(task).notes}
        gone = next(change.record for change in task.wanted.changes if change.table == "notes")

        assert all(time < times[gone] for name, time in times.items() if name != gone)
        assert max(times.values()) < task.state.now


def test_merged_notes_keep_the_order_of_the_goal():
    for seed in SEEDS:
        task = drawn("MarkorMergeNotes", seed)
        text = dict(task.wanted.changes[0].values)["text"]
        named = [note for note in data_of(task).notes if note.title in task.goal]
        named.sort(key=lambda note: task.goal.index(note.title))

        assert text == "\n\n".join(note.text for note in named)


def test_people_of_a_meeting_are_counted_by_its_numbered_lines():
    for seed in SEEDS:
        task = drawn("NotesMeetingAttendeeCount", seed)
        note = next(note for note in data_of(task).notes if note.title in task.goal)
        numbered = [line for line in note.text.splitlines() if line[0].isdecimal()]

        assert answer_of(task) == str(len(numbered))


def test_the_amount_stands_behind_its_ingredient():
    for seed in SEEDS:
        task = drawn("NotesRecipeIngredientCount", seed)
        note = next(note for note in data_of(task).notes if note.title in task.goal)
        name, amount = next(
            line.split(" ", 1)
            for line in note.text.splitlines()
            if line.split(" ", 1)[0] in task.goal.split() and " " in line
        )

        assert name in task.goal.split()
        assert answer_of(task) == amount
        assert is_right(amount.replace(" ", ""), task.wanted.answer)


def test_checklists_are_told_from_texts():
    answers = Counter()
    for seed in SEEDS:
        task = drawn("NotesIsTodo", seed)
        note = next(note for note in data_of(task).notes if note.title in task.goal)
        answers[answer_of(task)] += 1

        assert answer_of(task) == str(note.checklist)
    assert min(answers["True"], answers["False"]) >= 4


@pytest.mark.parametrize(
    ("name", "passes"),
    [
        ("TasksCompletedTasksForDate", lambda todo: todo.done),
        ("TasksDueOnDate", lambda _todo: True),
        ("TasksHighPriorityTasksDueOnDate", lambda todo: todo.priority == "high"),
        ("TasksIncompleteTasksOnDate", lambda todo: not todo.done),
    ],
)
def test_titles_asked_for_are_those_of_the_day(name, passes):
    for seed in SEEDS:
        task = drawn(name, seed)
        todos = data_of(task).todos
        titles = answer_of(task).splitlines()
        day = {todo.due for todo in todos if todo.title in titles}
        wanted = [todo.title for todo in todos if todo.due in day and passes(todo)]

        assert len(day) == 1
        assert 1 <= len(titles) <= 3
        assert sorted(wanted) == sorted(titles)
        assert is_right(", ".join(reversed(titles)), task.wanted.answer)


def test_most_questions_about_a_day_have_something_beside_that_nearly_fits():
    near = 0
    for seed in SEEDS:
        task = drawn("TasksHighPriorityTasksDueOnDate", seed)
        todos = data_of(task).todos
        titles = answer_of(task).splitlines()
        day = next(todo.due for todo in todos if todo.title == titles[0])
        near += any(todo.due == day and todo.title not in titles for todo in todos)

    assert near >= 12


def test_next_week_runs_from_monday_to_sunday():
    for seed in SEEDS:
        task = drawn("TasksDueNextWeek", seed)
        today = date.fromisoformat(task.state.now[:10])
        monday = today + timedelta(7 - today.weekday())
        days = {(monday + timedelta(offset)).isoformat() for offset in range(7)}
        due = [todo for todo in data_of(task).todos if todo.due in days and not todo.done]

        assert answer_of(task) == str(len(due))


@pytest.mark.parametrize(
    ("name", "app", "table", "field"),
    [
        ("notes_delete_missing", "notes", "notes", "title"),
        ("notes_move_to_missing", "notes", "folders", "name"),
        ("todo_complete_missing", "todo", "todos", "title"),
    ],
)
def test_what_cannot_be_done_is_about_nothing_that_is_there(name, app, table, field):
    for seed in SEEDS:
        task = drawn(name, seed)
        records = getattr(data_of(task, app), table)

        assert task.wanted.infeasible
        missing = [record for record in records if getattr(record, field) in task.goal]
        assert not missing
