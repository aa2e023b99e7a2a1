"""How far adb probes agree with verdicts of code: the same ends, judged by both.

Each task that probes can ask about is played by the oracle, by nobody (no-op), at random and by the
lexical policy; then every near miss of the oracle's end is judged by both as well. The probes run
through the mock phone's shell in process, or with `--over-adb` through an adb server (near misses
are left out there). Prints one JSON line.
"""

from __future__ import annotations

import argparse
import json
import tempfile
from collections import defaultdict
from collections.abc import Iterator
from contextlib import closing
from dataclasses import replace
from pathlib import Path

from apps_mock.actors import Actors
from apps_mock.adb_clone import AdbClone
from apps_mock.gate_episodes import assignment_of
from apps_mock.mutators import Ending, mutants
from apps_mock.phone import MockPhone
from apps_mock.process_shell import ProcessShell
from apps_mock.task_probes import probes_for
from apps_mock.tasks import templates
from apps_mock.templates import Template
from apps_mock.verifiers import claim_of
from cloud_learner.judge_agreement import agreement
from device_runtime.adb_shell import AdbShell
from device_runtime.agent import EpisodeOrigin, run_episode
from device_runtime.ports import Phone
from device_runtime.probes import ANSWER_TIMEOUT_S, ProbeSet, Shell, judge_by_probes
from sync.clock import SystemClock
from sync.vocabulary import Action, DeviceId, Episode, Split, Verdict, new_uuid7

ACTORS = ("oracle", "noop", "random", "lexical")
Compared = tuple[str, str, bool, bool | None]
"""Template, who brought the end about, what code says, what the probes say."""


def said(verdict: Verdict) -> bool | None:
    """What a verdict says; None for undecidable."""
    return None if verdict.score is None else verdict.success


def ending_with(episode: Episode, claim: Action) -> Episode:
    """The episode as if it had ended with another claim."""
    last = replace(episode.steps[-1], action=claim)
    return replace(episode, steps=(*episode.steps[:-1], last))


def judged_misses(
    clone: MockPhone, shell: Shell, probes: ProbeSet, episode: Episode
) -> Iterator[tuple[str, bool, bool | None]]:
    """Kind of each near miss of the end that the clone is in, and what code and probes say."""
    claim = claim_of(episode)
    if claim is None:
        return
    end = clone.state
    for miss in mutants(Ending(clone.task.state, end, clone.task.wanted, claim)):
        clone.restore(miss.state)
        code = clone.current_verdict(miss.claim)
        by_probes = judge_by_probes(probes, shell, ending_with(episode, miss.claim))
        yield f"near miss, {miss.kind}", code.success, said(by_probes)
    clone.restore(end)


def compared(
    template: Template, seeds: range, phone: Phone, clone: MockPhone, shell: Shell
) -> Iterator[Compared]:
    """Everything that is judged twice of one template."""
    actors = Actors()
    for seed in seeds:
        for name in ACTORS:
            assignment = assignment_of(template, (seed, seed), Split.TEST)
            phone.reset(assignment)
            probes = probes_for(clone.task)
            if probes is None:
                break
            played = replace(assignment, actor=name)
            episode = run_episode(
                phone,
                actors.policy_for(played, phone),
                played,
                origin=EpisodeOrigin(DeviceId("bench")),
                clock=SystemClock(),
                new_id=new_uuid7,
            )
            code = clone.judge(episode)
            if code is None:
                continue
            by_probes = said(judge_by_probes(probes, shell, episode))
            yield template.name, name, code.success, by_probes
            if name == "oracle" and phone is clone:
                for kind, truth, probed in judged_misses(clone, shell, probes, episode):
                    yield template.name, kind, truth, probed


def in_process(chosen: list[Template], seeds: range) -> list[Compared]:
    """Everything, with the shell in process."""
    clone = MockPhone()
    shell = ProcessShell(clone)
    return [row for one in chosen for row in compared(one, seeds, clone, clone, shell)]


def over_adb(chosen: list[Template], seeds: range) -> list[Compared]:
    """What is played, with looks, touches and probes through a real adb server."""
    with tempfile.TemporaryDirectory() as folder:
        phone = AdbClone(Path(folder))
        phone.start()
        shell = AdbShell(phone.server.client(), phone.daemon.serial, timeout_s=ANSWER_TIMEOUT_S)
        with closing(phone):
            return [
                row for one in chosen for row in compared(one, seeds, phone, phone.phone, shell)
            ]


def main() -> None:
    """Compare, and print what came of it as one line."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seeds", type=int, default=2, help="instances of each template")
    parser.add_argument("--seed-base", type=int, default=0)
    parser.add_argument("--app", default="", help="templates of this app alone")
    parser.add_argument("--over-adb", action="store_true")
    given = parser.parse_args()
    chosen = [each for each in templates() if given.app in {"", each.app}]
    seeds = range(given.seed_base, given.seed_base + given.seeds)
    rows = (over_adb if given.over_adb else in_process)(chosen, seeds)
    groups: dict[str, list[Compared]] = defaultdict(list)
    for row in rows:
        if row[1] in ACTORS:
            groups["all"].append(row)
        groups[f"by {row[1]}"].append(row)
    wrong = sorted({row[:2] for row in rows if row[1] in ACTORS and row[3] not in {None, row[2]}})
    result = {
        "bench": "probes",
        "over_adb": given.over_adb,
        "templates": len({row[0] for row in rows}),
        "split": Split.TEST.value,
        "seeds": [seeds.start, seeds.stop],
        **{
            name: agreement((truth, probed) for _, _, truth, probed in group).as_row()
            for name, group in sorted(groups.items())
        },
        "disagreed_on": [f"{template}: {who}" for template, who in wrong],
    }
    print(json.dumps(result))


if __name__ == "__main__":
    main()
