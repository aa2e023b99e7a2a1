"""The audit: every figure recomputed from the store and from the phones' own logs, row by row.

Nothing of what the service counted is believed: episodes and verdicts are decoded again on both
sides and compared, each exactly once, and the success figures are counted twice, from either side.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, fields
from hashlib import sha256
from pathlib import Path

from cloud_learner.batches import AFTER_NEW, AFTER_OLD, BEFORE_NEW, BEFORE_OLD, LEXICAL
from cloud_learner.campaign import syllabus
from cloud_learner.figures import Figures
from cloud_learner.phone_logs import LogIndex, find_logs, read_index, read_uploads
from cloud_learner.report_store import Fields, ReportStore, StoredEpisode
from cloud_learner.summary import JsonObject, figure
from cloud_learner.verdict_store import deciding_verdict, verdict_of
from sync.codec import encode_episode
from sync.messages import EpisodeUpload
from sync.vocabulary import EndReason, Episode, Purpose, Split, Verdict

TEST_BATCHES = (BEFORE_NEW, AFTER_NEW, LEXICAL, BEFORE_OLD, AFTER_OLD)
_LEARNT_FROM = frozenset({Purpose.TRAIN, Purpose.DEMONSTRATE})


@dataclass(frozen=True, slots=True)
class Difference:
    """One thing that does not agree.

    Attributes:
        what: "missing_in_store", "missing_on_phone", "twice_on_phones", "differs",
            "miscounted", "instances_differ" or "not_installed".
        detail: the fields or figures in question.
    """

    what: str
    device_id: str
    episode_id: str = ""
    detail: str = ""


@dataclass(frozen=True, slots=True)
class Outcome:
    """What one played episode came to, whichever side says so."""

    batch: str
    template: str
    instance: tuple[str, int, int]
    purpose: Purpose
    split: Split
    env_error: bool
    success: bool
    env_steps: int


@dataclass(frozen=True, slots=True)
class Audit:
    """What the audit found; it is clean where `differences` and `trained_on_test` are empty.

    Attributes:
        figures: per test batch, recomputed from the store and from the phones.
        trained_on_test: ids of test-split episodes that the learner was given.
        too_often_shown: templates of the new app with more demonstrations than allowed.
        counts: episodes logged, acknowledged, stored, lost, waiting, parked, and emptied: those
            whose steps a phone let go of, of which only the ids could be compared.
    """

    figures: Mapping[str, Mapping[str, JsonObject]]
    differences: tuple[Difference, ...]
    trained_on_test: tuple[str, ...]
    too_often_shown: tuple[str, ...]
    counts: Mapping[str, int]
    installed: Mapping[str, str]

    @property
    def is_clean(self) -> bool:
        """Whether everything agrees."""
        return not (self.differences or self.trained_on_test or self.too_often_shown)


@dataclass(frozen=True, slots=True)
class _Entry:
    """A stored episode without its steps."""

    row: Fields
    digest: str
    verdicts: tuple[Fields, ...]
    outcome: Outcome


def audit(store: ReportStore, phones_dir: Path, *, installed: Mapping[str, str]) -> Audit:
    """Compare the store with every phone's log below `phones_dir`.

    Args:
        installed: digest of the adapter that each phone has on its own disk; "" for none.

    Raises:
        PhoneLogError: a log cannot be read.
    """
    paths = find_logs(phones_dir)
    logs = [read_index(path) for path in paths]
    stored = {
        str(one.row["id"]): _Entry(one.row, one.digest, one.verdicts, _outcome_of_bodies(one))
        for one in store.stored_episodes()
    }
    differences: list[Difference] = []
    on_phones: dict[str, Outcome] = {}
    for log, path in zip(logs, paths, strict=True):
        for upload in read_uploads(path):
            episode_id = upload.episode.id
            if episode_id in on_phones:
                differences.append(Difference("twice_on_phones", log.device_id, episode_id))
            on_phones[episode_id] = _build(
                upload.episode, success=_succeeded(deciding_verdict(upload.verdicts))
            )
            differences += _compare(log, upload, stored.get(episode_id), store)
        differences += [
            Difference("missing_in_store", log.device_id, name)
            for name in sorted(log.emptied & log.acknowledged - stored.keys())
        ]
    differences += _only_in_store(stored, on_phones, logs)
    counted = {name: entry for name, entry in stored.items() if not entry.row["duplicate"]}
    outcomes = [entry.outcome for entry in counted.values()]
    differences += _miscounted(counted)
    differences += _instances_differ(outcomes)
    differences += _not_installed(store.installed_digests(), installed)
    heard = [on_phones[name] for name in counted if name in on_phones]
    return Audit(
        figures={
            batch: {
                "store": figure(_figures(outcomes, batch)),
                "phones": figure(_figures(heard, batch)),
            }
            for batch in TEST_BATCHES
        },
        differences=tuple(differences),
        trained_on_test=_trained_on_test(stored),
        too_often_shown=_too_often_shown(store, outcomes),
        counts=_counts(stored, counted, logs),
        installed=dict(installed),
    )


def _counts(
    stored: Mapping[str, _Entry], counted: Mapping[str, _Entry], logs: Sequence[LogIndex]
) -> dict[str, int]:
    acknowledged = frozenset[str]().union(*(log.acknowledged for log in logs))
    outcomes = [entry.outcome for entry in counted.values()]
    return {
        "logged": sum(len(log.logged) for log in logs),
        "acknowledged": sum(len(log.acknowledged) for log in logs),
        "waiting": sum(len(log.waiting) for log in logs),
        "parked": sum(len(log.parked) for log in logs),
        "emptied": sum(len(log.emptied) for log in logs),
        "stored": len(stored),
        "duplicates": len(stored) - len(counted),
        "lost": len(acknowledged - stored.keys()),
        "env_errors": sum(outcome.env_error for outcome in outcomes),
        "env_steps": sum(
            outcome.env_steps
            for outcome in outcomes
            if outcome.purpose is Purpose.TRAIN and not outcome.env_error
        ),
    }


def _trained_on_test(stored: Mapping[str, _Entry]) -> tuple[str, ...]:
    """Episodes of the test split that the learner was given; duplicates included."""
    return tuple(
        name
        for name, entry in stored.items()
        if entry.outcome.split is Split.TEST and entry.outcome.purpose in _LEARNT_FROM
    )


def _compare(
    log: LogIndex, upload: EpisodeUpload, entry: _Entry | None, store: ReportStore
) -> Iterator[Difference]:
    """What the store says differently from a phone about one episode."""
    episode = upload.episode
    if entry is None:
        if episode.id in log.acknowledged:
            yield Difference("missing_in_store", log.device_id, episode.id)
        return
    unlike: list[str] = []
    if sha256(encode_episode(episode)).hexdigest() != entry.digest:
        theirs = store.episode(episode.id).episode
        unlike += [
            part.name
            for part in fields(Episode)
            if getattr(episode, part.name) != getattr(theirs, part.name)
        ]
    if entry.row["device_id"] != log.device_id:
        unlike.append("device_id of the row")
    known = {_verdict_key(row): row["score"] for row in entry.verdicts}
    unlike += [
        f"verdict of {verdict.verifier}"
        for verdict in upload.verdicts
        if known.get(_key_of(verdict), "none") != verdict.score
    ]
    if unlike:
        yield Difference("differs", log.device_id, episode.id, ", ".join(unlike))


def _only_in_store(
    stored: Mapping[str, _Entry], on_phones: Mapping[str, Outcome], logs: Sequence[LogIndex]
) -> Iterator[Difference]:
    """Rows of phones whose log is here, and which that log does not have."""
    here = {log.device_id for log in logs}
    emptied = frozenset[str]().union(*(log.emptied for log in logs))
    for name, entry in stored.items():
        if entry.row["device_id"] in here and name not in on_phones and name not in emptied:
            yield Difference("missing_on_phone", str(entry.row["device_id"]), name)


def _miscounted(counted: Mapping[str, _Entry]) -> Iterator[Difference]:
    """Rows whose columns say something else than their bodies."""
    for name, entry in counted.items():
        row, outcome = entry.row, entry.outcome
        found = {
            "success": outcome.success,
            "n_steps": outcome.env_steps,
            "split": outcome.split.value,
            "purpose": outcome.purpose.value,
            "template": outcome.template,
            "batch": outcome.batch if row["batch"] else "",
        }
        wrong = [key for key, value in found.items() if (row[key] or type(value)()) != value]
        if wrong:
            yield Difference("miscounted", str(row["device_id"]), name, ", ".join(wrong))


def _instances_differ(outcomes: Sequence[Outcome]) -> Iterator[Difference]:
    """Before and after must have been played on the same instances."""
    for before, after in ((BEFORE_NEW, AFTER_NEW), (BEFORE_OLD, AFTER_OLD), (BEFORE_NEW, LEXICAL)):
        played = [
            Counter(outcome.instance for outcome in outcomes if outcome.batch == batch)
            for batch in (before, after)
        ]
        if all(played) and played[0] != played[1]:
            yield Difference("instances_differ", "", detail=f"{before} and {after}")


def _not_installed(
    reported: Mapping[str, str], installed: Mapping[str, str]
) -> Iterator[Difference]:
    """Phones that have another adapter on disk than they reported."""
    for device_id, digest in installed.items():
        if reported.get(device_id, "") != digest:
            said = reported.get(device_id, "")[:12] or "nothing"
            detail = f"has {digest[:12] or 'nothing'}, reported {said}"
            yield Difference("not_installed", device_id, detail=detail)


def _too_often_shown(store: ReportStore, outcomes: Sequence[Outcome]) -> tuple[str, ...]:
    campaign = store.campaign()
    if campaign is None:
        return ()
    settings, state, _active_s = campaign
    limit = settings.most_shown
    new = {info.name for info in syllabus(settings, state).new}
    shown = Counter(
        outcome.template
        for outcome in outcomes
        if outcome.purpose is Purpose.DEMONSTRATE and outcome.template in new
    )
    return tuple(sorted(name for name, number in shown.items() if number > limit))


def _outcome_of_bodies(stored: StoredEpisode) -> Outcome:
    """The outcome as the stored body and the verdict rows say it, not the counting columns."""
    verdicts = [verdict_of(row) for row in stored.verdicts]
    return _build(stored.episode, success=_succeeded(deciding_verdict(verdicts)))


def _succeeded(verdict: Verdict | None) -> bool:
    return verdict is not None and verdict.success


def _build(episode: Episode, *, success: bool) -> Outcome:
    assignment = episode.assignment
    return Outcome(
        batch=assignment.id.rpartition(".")[0],
        template=assignment.template,
        instance=(assignment.template, assignment.seed, assignment.look),
        purpose=assignment.purpose,
        split=assignment.split,
        env_error=episode.end_reason is EndReason.ENV_ERROR,
        success=success,
        env_steps=len(episode.steps),
    )


def _figures(outcomes: Sequence[Outcome], batch: str) -> Figures:
    played = [outcome for outcome in outcomes if outcome.batch == batch]
    counted = [outcome for outcome in played if not outcome.env_error]
    return Figures(
        n=len(counted),
        successes=sum(outcome.success for outcome in counted),
        env_errors=len(played) - len(counted),
    )


def _key_of(verdict: Verdict) -> tuple[str, str, str]:
    return (verdict.verifier, verdict.verifier_version, verdict.source.value)


def _verdict_key(row: Fields) -> tuple[str, str, str]:
    return (row["verifier"], row["verifier_version"], row["source"])
