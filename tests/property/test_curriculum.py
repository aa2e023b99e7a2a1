"""Whatever comes of the templates, each stays in play and none is shown too often."""

from __future__ import annotations

from random import Random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from cloud_learner.batches import Practice, Syllabus, shown_again, training
from cloud_learner.curriculum import CurriculumSettings, Record, to_show, weights
from sync.vocabulary import TemplateInfo

NAMES = tuple(f"t{i}" for i in range(5))
CONTENT = Syllabus(
    seed=3,
    new=tuple(TemplateInfo(name, "new", "new", 9, 4) for name in NAMES[:3]),
    old=tuple(TemplateInfo(name, "old", "old", 9, 4) for name in NAMES[3:]),
)
RECORDS = st.dictionaries(
    st.sampled_from(NAMES),
    st.builds(
        Record,
        outcomes=st.lists(st.booleans(), max_size=40).map(tuple),
        shown=st.integers(0, 12),
        played_since_shown=st.integers(0, 40),
    ),
)
SETTINGS = st.builds(
    CurriculumSettings,
    enabled=st.booleans(),
    window=st.integers(15, 30),
    floor=st.floats(0.01, 1.0),
    hopeless_below=st.floats(0.0, 1.0),
    hopeless_after=st.integers(1, 15),
    shown_at_once=st.integers(1, 5),
    most_shown=st.integers(0, 8),
)


@given(records=RECORDS, settings=SETTINGS)
def test_weights_are_positive_sum_to_one_and_honour_the_floor(records, settings):
    found = weights(records, NAMES, settings)

    assert set(found) == set(NAMES)
    assert sum(found.values()) == pytest.approx(1.0)
    assert min(found.values()) >= settings.floor * max(found.values()) - 1e-9


@given(
    records=RECORDS,
    settings=SETTINGS,
    asked=st.dictionaries(st.sampled_from(NAMES), st.floats(0.0, 1.0)),
)
def test_what_learns_can_turn_a_template_down_and_never_all_of_them(records, settings, asked):
    plain = weights(records, NAMES, settings)
    found = weights(records, NAMES, settings, asked=asked)

    assert sum(found.values()) == pytest.approx(1.0)
    if all(asked.get(name) == 0.0 for name in NAMES):
        assert found == plain
    else:
        assert all(found[name] == 0.0 for name in NAMES if asked.get(name) == 0.0)


@given(records=RECORDS, settings=SETTINGS)
def test_no_template_is_ever_shown_beyond_its_limit(records, settings):
    for name, count in to_show(records, NAMES, settings).items():
        assert 0 < count <= settings.shown_at_once
        assert records[name].shown + count <= settings.most_shown


@given(
    records=RECORDS,
    settings=SETTINGS,
    group_size=st.integers(1, 8),
    groups=st.integers(0, 6),
    count=st.integers(0, 40),
)
def test_what_is_planned_twice_is_the_same_whole_groups(
    records, settings, group_size, groups, count
):
    practice = Practice(new_share=0.5, group_size=group_size, curriculum=settings, records=records)
    first = groups * group_size

    plan = training(CONTENT, practice, first=first, count=count)

    assert plan == training(CONTENT, practice, first=first, count=count)
    assert len(plan) == count - count % group_size
    assert [one.ordinal for one in plan] == list(range(first, first + len(plan)))
    by_group = {}
    for one in plan:
        assignment = one.assignment
        task = (assignment.template, assignment.seed, assignment.look)
        by_group.setdefault(one.ordinal // group_size, set()).add((assignment.group_id, task))
    assert all(len(members) == 1 for members in by_group.values())


@given(settings=SETTINGS, seed=st.integers(0, 2**32))
def test_a_template_that_never_succeeds_is_shown_to_its_limit_and_then_left_alone(settings, seed):
    random = Random(seed)
    record, issued = Record(), 0
    for _ in range(200):
        practice = Practice(new_share=1.0, curriculum=settings, records={"t0": record})
        again = shown_again(CONTENT, practice, first=issued)
        issued += len(again)
        if again:
            record = Record(record.outcomes, record.shown + len(again), 0)
        played = random.randrange(1, 10)
        record = Record(
            (*record.outcomes, *(False,) * played)[-40:],
            record.shown,
            record.played_since_shown + played,
        )

    expected = settings.most_shown if settings.enabled and settings.hopeless_below > 0 else 0
    assert issued == expected
