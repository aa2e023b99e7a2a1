"""The figures of a campaign, in one place: what the service reports at its end and any time before.

Every figure comes from the store, and those about the phones' logs from the logs.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from cloud_learner.batches import (
    AFTER_NEW,
    AFTER_OLD,
    BEFORE_NEW,
    BEFORE_OLD,
    DEMONSTRATE,
    LEXICAL,
    SHOW_AGAIN,
)
from cloud_learner.campaign import CampaignState, Phase, Tally
from cloud_learner.figures import Figures, wilson95
from cloud_learner.phone_logs import LogIndex
from cloud_learner.release_store import ReleaseRow, ReleaseState
from cloud_learner.report_store import ReportStore
from cloud_learner.settings import CampaignSettings

ENV_ERROR_LIMIT = 0.02
"""Share of env_errors above which a summary is marked invalid."""

JsonObject = dict[str, object]


def figure(figures: Figures) -> JsonObject:
    """One success figure with its interval; success and ci95 are null without episodes."""
    interval = wilson95(figures.successes, figures.n)
    return {
        "n": figures.n,
        "success": None if figures.success is None else round(figures.success, 4),
        "ci95": None if interval is None else [round(bound, 4) for bound in interval],
        "env_errors": figures.env_errors,
    }


def curve(releases: Sequence[ReleaseRow]) -> list[JsonObject]:
    """Validation success by training steps: one point per release that the gate judged."""
    return [
        {
            "release_id": row.id,
            "version": row.version,
            "state": row.state.value,
            "env_steps": row.env_steps,
            **figure(row.validation),
        }
        for row in releases
        if row.kind != "roll_back" and row.validation.n
    ]


def release_counts(releases: Sequence[ReleaseRow]) -> dict[str, int]:
    """How many releases were published, promoted, reverted, and how many roll back another."""
    signed = [row for row in releases if row.state is not ReleaseState.DRAFT]
    candidates = [row for row in signed if row.kind != "roll_back"]
    return {
        "published": len(signed),
        "promoted": sum(row.state is ReleaseState.PROMOTED for row in candidates),
        "reverted": sum(row.state is ReleaseState.REVERTED for row in candidates),
        "rolled_back": len(signed) - len(candidates),
    }


def episode_counts(
    stored: set[str], logs: Sequence[LogIndex], *, redelivered: int
) -> dict[str, int]:
    """What was logged on the phones, what they were told is safe, and what the store has."""
    acknowledged = frozenset[str]().union(*(log.acknowledged for log in logs))
    return {
        "logged": sum(len(log.logged) for log in logs),
        "acknowledged": sum(len(log.acknowledged) for log in logs),
        "stored": len(stored),
        "redelivered": redelivered,
        "lost": len(acknowledged - stored),
    }


def is_valid(
    state: CampaignState, figures: Mapping[str, Figures], *, env_error_share: float, lost: int
) -> bool:
    """Whether the figures may be quoted: all of them there, few env_errors, nothing lost."""
    return (
        state.phase is Phase.FINISHED
        and not state.notes
        and not lost
        and env_error_share <= ENV_ERROR_LIMIT
        and all(f.n and f.env_error_share <= ENV_ERROR_LIMIT for f in figures.values())
    )


def summarise(
    store: ReportStore,
    *,
    campaign: tuple[CampaignSettings, CampaignState, float],
    releases: Sequence[ReleaseRow],
    logs: Sequence[LogIndex],
) -> JsonObject:
    """The summary of a campaign, as `outrider up --json` prints it last."""
    settings, state, active_s = campaign
    tallies = store.tallies()
    counts = store.counts()
    learner = store.learner()
    figures = {
        name: tallies.get(name, Tally()).figures
        for name in (BEFORE_NEW, AFTER_NEW, LEXICAL, BEFORE_OLD, AFTER_OLD)
        if name in tallies or name in {BEFORE_NEW, AFTER_NEW}
    }
    shown = {name: figure(found) for name, found in figures.items()}
    nothing = figure(Figures(0, 0))
    episodes = episode_counts(store.episode_ids(), logs, redelivered=counts["redelivered"])
    share = counts["env_errors"] / counts["episodes"] if counts["episodes"] else 0.0
    return {
        "phase": state.phase.value,
        "test": {
            "app": ",".join(settings.new_apps),
            "before": shown[BEFORE_NEW],
            "after": shown[AFTER_NEW],
            "lexical": shown.get(LEXICAL, nothing),
        },
        "old_apps": {
            "before": shown.get(BEFORE_OLD, nothing),
            "after": shown.get(AFTER_OLD, nothing),
        },
        "releases": {
            **release_counts(releases),
            "installed": store.installed_digests(),
            "reached": {row["device_id"]: len(row["installed"]) for row in store.phones()},
        },
        "episodes": episodes,
        "curve": curve(releases),
        "demonstrations": {
            "first": tallies.get(DEMONSTRATE, Tally()).issued,
            "again": tallies.get(SHOW_AGAIN, Tally()).issued,
        },
        "env_errors": counts["env_errors"],
        "env_steps": counts["env_steps"],
        "learner_cpu_s": round(float(learner.get("cpu_s", 0.0)), 2),
        "active_s": round(active_s, 1),
        "notes": list(state.notes),
        "valid": is_valid(state, figures, env_error_share=share, lost=episodes["lost"]),
    }
