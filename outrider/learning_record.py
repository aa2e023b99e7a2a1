"""What a run in the arena has on disk beside its checkpoint, so that a killed one can go on.

    record-00010.json   how far the run had come after round 10: the same moment as the checkpoint
    round-00010.bin     the episodes of a round, for the replay
    shown.bin           demonstrations that the curriculum asked for

A record is written before the checkpoint of its round, and the one before it stays: whichever
checkpoint is read, its record is there.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from cloud_learner.curriculum import Record
from sync.codec import decode_episode, encode_episode
from sync.durable_file import write_durably
from sync.vocabulary import Episode

KEPT_ROUNDS = 40
"""Rounds whose episodes are kept: older ones are learnt from no longer."""

_WINDOW = 64
"""Outcomes of a template that are kept; more than any curriculum looks at."""

_LENGTH_BYTES = 4
_SHOWN = "shown.bin"


@dataclass(frozen=True, slots=True)
class Outcome:
    """An episode and whether it succeeded."""

    episode: Episode
    success: bool


def write_outcomes(path: Path, outcomes: Iterable[Outcome]) -> None:
    """Write episodes as a file that is there whole or not at all."""
    frames = []
    for one in outcomes:
        body = bytes([one.success]) + encode_episode(one.episode)
        frames.append(len(body).to_bytes(_LENGTH_BYTES, "little") + body)
    write_durably(path, b"".join(frames))


def read_outcomes(path: Path) -> list[Outcome]:
    """What `write_outcomes` wrote; nothing where there is no file."""
    data = path.read_bytes() if path.exists() else b""
    outcomes, at = [], 0
    while at < len(data):
        begin = at + _LENGTH_BYTES
        at = begin + int.from_bytes(data[at:begin], "little")
        outcomes.append(Outcome(decode_episode(data[begin + 1 : at]), bool(data[begin])))
    return outcomes


@dataclass(slots=True)
class TemplateTally:
    """What came of a template: the state behind a `Record`."""

    outcomes: list[bool] = field(default_factory=list)
    shown: int = 0
    played_since_shown: int = 0

    def record(self) -> Record:
        """As the curriculum reads it."""
        return Record(tuple(self.outcomes), self.shown, self.played_since_shown)


@dataclass(slots=True)
class RunRecord:
    """How far a run has come.

    Attributes:
        env_steps, episodes: training steps and episodes that were learnt from.
        issued: training assignments that were planned.
        actor_cpu_s, wall_s: CPU seconds of playing them, and seconds of playing and learning.
        templates: by name.
        shown: demonstrations that the curriculum asked for, in order.
        measured: env steps at which rows were written already.
    """

    env_steps: int = 0
    episodes: int = 0
    issued: int = 0
    actor_cpu_s: float = 0.0
    wall_s: float = 0.0
    templates: dict[str, TemplateTally] = field(default_factory=dict)
    shown: list[Outcome] = field(default_factory=list)
    measured: list[int] = field(default_factory=list)
    _unsaved: dict[int, Sequence[Outcome]] = field(default_factory=dict)

    def tally(self, template: str) -> TemplateTally:
        """The tally of a template; a new one where it was never played."""
        return self.templates.setdefault(template, TemplateTally())

    def records(self) -> dict[str, Record]:
        """All tallies as the curriculum reads them."""
        return {name: tally.record() for name, tally in self.templates.items()}

    def add_round(self, round_index: int, outcomes: Sequence[Outcome]) -> None:
        """Count the training episodes of a round."""
        self._unsaved[round_index] = outcomes
        for one in outcomes:
            self.episodes += 1
            self.env_steps += len(one.episode.steps)
            tally = self.tally(one.episode.assignment.template)
            tally.outcomes = [*tally.outcomes[-_WINDOW + 1 :], one.success]
            tally.played_since_shown += 1

    def add_shown(self, outcome: Outcome) -> None:
        """Count a demonstration that the curriculum asked for."""
        self.shown.append(outcome)
        self.count_shown(outcome.episode)

    def count_shown(self, episode: Episode) -> None:
        """Count a demonstration, whoever asked for it."""
        tally = self.tally(episode.assignment.template)
        tally.shown += 1
        tally.played_since_shown = 0

    def save(self, folder: Path, round_index: int) -> None:
        """Write the record of a round, and what was played since the last one."""
        for number, outcomes in self._unsaved.items():
            write_outcomes(_round_file(folder, number), outcomes)
        self._unsaved.clear()
        write_outcomes(folder / _SHOWN, self.shown)
        fields = {name: getattr(self, name) for name in _PLAIN}
        fields["shown"] = len(self.shown)
        fields["templates"] = {
            name: [one.outcomes, one.shown, one.played_since_shown]
            for name, one in self.templates.items()
        }
        write_durably(_record_file(folder, round_index), json.dumps(fields).encode())

    def forget_before(self, folder: Path, round_index: int) -> None:
        """Remove what no checkpoint of this round or later needs."""
        for path in folder.glob("record-*.json"):
            if _number_of(path) < round_index:
                path.unlink()
        for path in folder.glob("round-*.bin"):
            if _number_of(path) < round_index - KEPT_ROUNDS:
                path.unlink()


_PLAIN = ("env_steps", "episodes", "issued", "actor_cpu_s", "wall_s", "measured")


def read_record(folder: Path, round_index: int) -> RunRecord:
    """The record of the round of a checkpoint; a new one where nothing was begun."""
    path = _record_file(folder, round_index)
    if not path.exists():
        return RunRecord()
    fields: dict[str, Any] = json.loads(path.read_text("utf-8"))  # Any: JSON
    return RunRecord(
        **{name: fields[name] for name in _PLAIN},
        templates={name: TemplateTally(*values) for name, values in fields["templates"].items()},
        shown=read_outcomes(folder / _SHOWN)[: fields["shown"]],
    )


def played_rounds(folder: Path, round_index: int) -> Iterator[tuple[int, list[Outcome]]]:
    """The rounds that are kept, up to one, the oldest first."""
    for number in range(max(1, round_index - KEPT_ROUNDS), round_index + 1):
        if (path := _round_file(folder, number)).exists():
            yield number, read_outcomes(path)


def _record_file(folder: Path, round_index: int) -> Path:
    return folder / f"record-{round_index:05d}.json"


def _round_file(folder: Path, round_index: int) -> Path:
    return folder / f"round-{round_index:05d}.bin"


def _number_of(path: Path) -> int:
    return int(path.stem.rpartition("-")[2])
