from collections import Counter
from dataclasses import replace

import pytest

from apps_mock.evaluation import figures_of, instances, parts_of, templates_of
from apps_mock.look import draw_look
from apps_mock.tasks import templates
from device_runtime.errors import UnknownTaskError
from device_runtime.seats import Played
from sync.vocabulary import (
    DeviceId,
    EndReason,
    Episode,
    EpisodeId,
    Split,
    Verdict,
    VerdictSource,
)


def drawn(chosen, count, **changes):
    options = {"seed_base": 100, "split": Split.TEST, "actor": "lexical", **changes}
    return instances(chosen, count=count, **options)


def ended(assignment, reason, *, score=None, progress=0.0, side_effects=(), errors=""):
    episode = Episode(
        EpisodeId(assignment.id), assignment, DeviceId("x"), "", (), reason, end_detail=errors
    )
    if reason is EndReason.ENV_ERROR:
        return Played(episode, None)
    verdict = Verdict(
        episode.id,
        "code",
        "1",
        VerdictSource.CODE,
        score,
        progress=progress,
        side_effects=side_effects,
    )
    return Played(episode, verdict)


def test_suites_are_named_alone_together_or_all():
    assert {one.app for one in templates_of("clock")} == {"clock"}
    assert {one.app for one in templates_of("clock, tickets")} == {"clock", "tickets"}
    assert templates_of("all") == templates()
    assert {one.suite for one in templates_of("androidworld")} == {"androidworld"}
    assert all("cross_app" in one.tags for one in templates_of("cross_app"))


def test_instances_in_another_locale_are_the_same_tasks_in_other_looks():
    chosen = templates_of("clock")
    english, arabic = drawn(chosen, 9), drawn(chosen, 9, locale="ar")

    assert [(one.template, one.seed) for one in english] == [
        (one.template, one.seed) for one in arabic
    ]
    assert {draw_look(one.split, one.look).locale for one in english} == {"en"}
    assert {draw_look(one.split, one.look).locale for one in arabic} == {"ar"}


def test_held_out_phrasings_and_looks_are_parts_of_their_own():
    chosen = [one for one in templates_of("clock") if one.counts]
    ordinary, apart = drawn(chosen, 60), drawn(chosen, 60, held_out=True)
    played = [ended(one, EndReason.FINISH, score=1.0) for one in (*ordinary, *apart)]

    parts = parts_of(chosen, played)

    assert len({one.id for one in (*ordinary, *apart)}) == 120
    for what in ("phrasing", "look"):
        assert parts[what]["seen"].n + parts[what]["held_out"].n == 120
        assert 30 <= parts[what]["held_out"].n <= 50
        assert parts[what]["seen"].successes == parts[what]["seen"].n
        assert parts_of(chosen, played[:60])[what]["held_out"].n == 0


def test_nothing_is_held_out_in_training():
    chosen = templates_of("clock")
    wanted = drawn(chosen, 20, split=Split.TRAIN, held_out=True)
    played = [ended(one, EndReason.FINISH) for one in wanted]

    parts = parts_of(chosen, played)

    assert parts["phrasing"]["held_out"].n == parts["look"]["held_out"].n == 0


def test_templates_that_do_not_count_are_in_their_rows_but_in_no_part():
    chosen = [replace(one, tags=("infeasible",)) for one in templates_of("clock")]
    played = [ended(one, EndReason.FINISH, score=1.0) for one in drawn(chosen, 9)]

    assert not any(one.counts for one in figures_of(chosen, played))
    assert parts_of(chosen, played)["look"]["seen"].n == 0


@pytest.mark.parametrize("names", ["nonsense", "clock,nonsense", "", ","])
def test_unknown_suite_is_refused_with_those_that_there_are(names):
    with pytest.raises(UnknownTaskError, match=r"settings, contacts, clock, tickets, .*all"):
        templates_of(names)


@pytest.mark.parametrize("count", [1, 6, 7, 20])
def test_instances_are_spread_evenly_with_one_for_each_template_at_least(count):
    chosen = templates_of("clock")
    counts = Counter(one.template for one in drawn(chosen, count))

    assert counts.total() == max(count, len(chosen))
    assert max(counts.values()) - min(counts.values()) <= 1
    assert set(counts) == {one.name for one in chosen}


def test_an_instance_is_the_same_beside_whatever_else_is_played():
    alone = {one.id: one for one in drawn(templates_of("clock"), 12)}
    together = {one.id: one for one in drawn(templates_of("all"), 93)}

    shared = alone.keys() & together.keys()
    assert len(shared) == 12
    assert [alone[name] for name in shared] == [together[name] for name in shared]


def test_instances_of_other_seeds_and_splits_share_no_seed_and_look():
    chosen = templates_of("clock")
    sets = [
        {(one.template, one.split, one.look) for one in drawn(chosen, 60, **changes)}
        for changes in ({}, {"seed_base": 500}, {"split": Split.VALIDATION})
    ]
    assert [len(one) for one in sets] == [60, 60, 60]
    assert not sets[0] & sets[1]
    assert not sets[0] & sets[2]


def test_figures_tell_the_ways_to_fail_apart():
    [template] = [one for one in templates() if one.name == "clock_toggle"]
    wanted = drawn([template], 5)
    [figures] = figures_of(
        [template],
        [
            ended(wanted[0], EndReason.FINISH, score=1.0, progress=1.0),
            ended(wanted[1], EndReason.FINISH, score=0.0, progress=0.5, side_effects=("x",)),
            ended(wanted[2], EndReason.BUDGET, score=0.0),
            ended(wanted[3], EndReason.FINISH, score=None, progress=0.5),
            ended(wanted[4], EndReason.ENV_ERROR, errors="broke"),
        ],
    )
    assert (figures.n, figures.successes, figures.env_errors) == (4, 1, 1)
    assert figures.success == 0.25
    assert figures.progress == 0.5
    assert figures.false_finish == 0.5
    assert figures.unfinished == figures.out_of_budget == 0.25
    assert figures.side_effects == 0.25


def test_a_template_that_only_broke_has_no_rates():
    [template] = [one for one in templates() if one.name == "clock_toggle"]
    [broken] = drawn([template], 1)
    [figures] = figures_of([template], [ended(broken, EndReason.ENV_ERROR)])
    assert (figures.n, figures.env_errors, figures.success, figures.steps) == (0, 1, None, None)
