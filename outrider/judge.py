"""`outrider judge …`: verdicts of a model on episodes that nobody judged, and how good they are."""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from outrider.cloud_database import CloudDatabase, cloud_database
from outrider.errors import CommandError, MisuseError
from outrider.options import Json
from outrider.output import Output

if TYPE_CHECKING:
    from cloud_learner.judge import Judge
    from cloud_learner.judge_answer import Usage
    from cloud_learner.judge_budget import Budget
    from cloud_learner.judge_ledger import JudgeLedger
    from cloud_learner.judge_run import RunTotals
    from cloud_learner.judge_settings import JudgeSettings
    from cloud_learner.store import Database as OpenDatabase
    from sync.vocabulary import Episode

KEY_VARIABLE = "OUTRIDER_JUDGE_KEY"
"""Environment variable that holds the endpoint's key where no file is named."""
EPISODES = 248
"""Episodes that are played where no folder is named: four ends of 62 tasks."""

Url = Annotated[
    str | None, typer.Option("--url", help="OpenAI-compatible API, such as http://HOST:PORT/v1.")
]
Model = Annotated[str | None, typer.Option("--model", help="What the endpoint calls its model.")]
KeyFile = Annotated[
    Path | None,
    typer.Option("--key-file", help=f"File with the API's key; else ${KEY_VARIABLE}, or none."),
]
JudgeConfig = Annotated[
    Path | None, typer.Option("--config", help="TOML file with the table [judge].")
]
Screen = Annotated[
    str | None, typer.Option("--screen", help="How the last screen is shown: text, picture, both.")
]
TokenBudget = Annotated[
    int | None, typer.Option("--token-budget", min=0, help="Tokens over all runs at most.")
]


def run_judge(
    *,
    data: Annotated[Path, typer.Option("--data", help="Folder of the fleet.")],
    database: CloudDatabase = None,
    url: Url = None,
    model: Model = None,
    key_file: KeyFile = None,
    screen: Screen = None,
    token_budget: TokenBudget = None,
    config: JudgeConfig = None,
    again: Annotated[
        bool, typer.Option("--again", help="Also ask anew where it could not decide.")
    ] = False,
    watch: Annotated[
        float | None, typer.Option("--watch", min=0.1, help="Look for more every so many seconds.")
    ] = None,
    limit: Annotated[int | None, typer.Option("--limit", min=1, help="Episodes at most.")] = None,
    json: Json = False,
) -> None:
    """Let a model judge the stored episodes that nobody has judged; undecidable is no success."""
    from itertools import islice

    from cloud_learner.judge import verdict_of
    from cloud_learner.judge_run import JudgeRun, RunTotals
    from cloud_learner.judge_store import JudgeStore
    from outrider.device_wiring import stop_on_signals
    from sync.clock import SystemClock

    out = Output(json_lines=json)
    settings = _settings(
        config, url=url, model=model, key_file=key_file, screen=screen, token_budget=token_budget
    )
    totals = RunTotals()
    with (
        cloud_database(data, database) as opened,
        _model_judge(settings, data, opened) as (judge, ledger, budget),
        stop_on_signals() as stop,
    ):
        store = JudgeStore(opened)
        while True:
            found = store.unjudged(judge=judge.name, version=judge.version, again=again)
            run = JudgeRun(
                judge, ledger, clock=SystemClock(), concurrency=settings.concurrency, stop=stop
            )
            for one in run.over(islice(found, limit)):
                totals.add(one)
                if one.judgement is not None:
                    store.store(verdict_of(judge, one.episode, one.judgement))
                    out.event(
                        "judged",
                        episode=one.episode.id,
                        outcome=_outcome(one.judgement.outcome),
                        reason=one.judgement.reason,
                        cached=one.is_cached,
                    )
            if watch is None or totals.not_asked or stop.wait(watch):
                break
        out.summary(judge=judge.name, version=judge.version, **_totals(totals, budget, settings))
    if totals.judged and totals.unreached == totals.judged:
        raise CommandError(f"{settings.url} answered none of {totals.judged} requests; check it")


def measure_agreement(
    *,
    data: Annotated[
        Path | None, typer.Option("--data", help="Logs of clones; else episodes are played now.")
    ] = None,
    episodes: Annotated[
        int | None, typer.Option("--episodes", min=1, help="Episodes at most, drawn by --seed.")
    ] = None,
    suite: Annotated[
        str, typer.Option("--suite", help="What is played without --data: suites, or all.")
    ] = "all",
    seed_base: Annotated[
        int, typer.Option("--seed-base", "--seed", min=0, help="First seed of what is drawn.")
    ] = 0,
    url: Url = None,
    model: Model = None,
    key_file: KeyFile = None,
    screen: Screen = None,
    token_budget: TokenBudget = None,
    config: JudgeConfig = None,
    json: Json = False,
) -> None:
    """Compare judges with code's verdicts on clone episodes: baselines, and a model where named."""
    from cloud_learner.judge_baselines import ClaimJudge, LexicalJudge
    from outrider.judged_episodes import logged, played

    out = Output(json_lines=json)
    settings = _settings(
        config, url=url, model=model, key_file=key_file, screen=screen, token_budget=token_budget
    )
    truths = (
        played(suite, count=episodes or EPISODES, seed_base=seed_base)
        if data is None
        else logged(data, most=episodes, seed=seed_base)
    )
    out.note(f"{len(truths)} episodes, {sum(truth for _, truth in truths)} of them successes")
    rows = [_row(each, truths, None, None, settings) for each in (ClaimJudge(), LexicalJudge())]
    if settings.url:
        with _model_judge(settings, data) as (judge, ledger, budget):
            rows.append(_row(judge, truths, ledger, budget, settings))
    if json:
        out.rows("judge", rows)
    else:
        _table(out, rows)
    out.summary(
        episodes=len(truths),
        successes=sum(truth for _, truth in truths),
        failures=sum(not truth for _, truth in truths),
        judges=[row["judge"] for row in rows],
    )


def _row(
    judge: Judge,
    truths: Sequence[tuple[Episode, bool]],
    ledger: JudgeLedger | None,
    budget: Budget | None,
    settings: JudgeSettings,
) -> dict[str, object]:
    """How far one judge agrees, and what it cost."""
    from cloud_learner.judge_agreement import agreement
    from cloud_learner.judge_run import JudgeRun, RunTotals
    from sync.clock import SystemClock

    truth_of = {episode.id: truth for episode, truth in truths}
    concurrency = settings.concurrency if budget is not None else 1
    run = JudgeRun(judge, ledger, clock=SystemClock(), concurrency=concurrency)
    totals, pairs = RunTotals(), []
    for one in run.over(episode for episode, _ in truths):
        totals.add(one)
        if one.judgement is not None:
            pairs.append((truth_of[one.episode.id], one.judgement.outcome))
    row = {"judge": judge.name, "version": judge.version, **agreement(pairs).as_row()}
    row["not_asked"] = len(truths) - len(pairs)
    return row | _totals(totals, budget, settings)


def _table(out: Output, rows: Sequence[dict[str, object]]) -> None:
    """The rows for people: shares with their intervals, in 80 columns."""
    names = ("agreed", "false_positives", "false_negatives", "undecided")
    shown = [
        {
            "judge": row["judge"],
            "n": row["n"],
            **{name: f"{row[name]}\n{_percent(row, name)}" for name in names},
            "tokens": row["tokens"],
        }
        for row in rows
    ]
    out.rows("judge", shown, title="Agreement with code, 95 % intervals")


def _percent(row: dict[str, object], name: str) -> str:
    interval = row[f"{name}_ci95"]
    if not isinstance(interval, list):
        return "-"
    low, high = (100 * float(bound) for bound in interval)
    return f"{low:.0f}-{high:.0f} %"


def _outcome(outcome: bool | None) -> str:
    return "undecidable" if outcome is None else "success" if outcome else "failure"


def _totals(totals: RunTotals, budget: Budget | None, settings: JudgeSettings) -> dict[str, object]:
    row = asdict(totals)
    row["tokens"] = totals.tokens_read + totals.tokens_written
    if budget is not None:
        from cloud_learner.judge_answer import Usage

        this_run = Usage(totals.tokens_read, totals.tokens_written, totals.requests)
        spent = budget.spent
        row["cost"] = round(budget.cost(this_run), 6)
        row["currency"] = settings.currency
        row["tokens_spent_ever"] = spent.usage.tokens
        row["cost_ever"] = round(spent.money, 6)
        row["budget_used_up"] = totals.not_asked > 0
    return row


def _settings(
    config: Path | None,
    *,
    url: str | None,
    model: str | None,
    key_file: Path | None,
    screen: str | None,
    token_budget: int | None,
) -> JudgeSettings:
    from cloud_learner.errors import SettingsError
    from cloud_learner.settings_file import read_judge_settings

    given = {
        "url": url,
        "model": model,
        "key_file": key_file,
        "screen": screen,
        "token_budget": token_budget,
    }
    try:
        return read_judge_settings(config, given=given)
    except SettingsError as error:
        raise MisuseError(str(error)) from error


@contextmanager
def _model_judge(
    settings: JudgeSettings, data: Path | None, store: OpenDatabase | None = None
) -> Iterator[tuple[Judge, JudgeLedger | None, Budget]]:
    """The judge behind the endpoint, what it said before, and what it may still cost.

    Args:
        store: where all workers of the judge keep what they have spent; None for one alone.

    Raises: MisuseError: no endpoint is named, or its key cannot be read.
    """
    from random import Random
    from uuid import uuid4

    from apps_mock.end_pictures import picture_of_end
    from cloud_learner.judge import ModelJudge
    from cloud_learner.judge_answer import Usage
    from cloud_learner.judge_budget import Budget, OwnSpending, Spending
    from cloud_learner.judge_client import JudgeClient
    from cloud_learner.judge_ledger import LEDGER_NAME, JudgeLedger
    from cloud_learner.settings import ServiceSettings
    from cloud_learner.spending_store import SharedSpending
    from sync.clock import SystemClock

    if not settings.url:
        raise MisuseError(
            "name a judge: --url http://HOST:PORT/v1 --model NAME, or [judge] in a file"
        )
    key = _key(settings)
    ledger = None
    if data is not None:
        ledger = JudgeLedger(ServiceSettings(data_dir=data).cloud_dir / LEDGER_NAME)
    name = f"judge {settings.model}"[:96]
    spent: Usage = Usage() if ledger is None else ledger.spent(name)
    spending: Spending = OwnSpending(spent)
    if store is not None:
        spending = SharedSpending(
            store, name, worker=uuid4().hex, clock=SystemClock(), already=spent
        )
    budget = Budget(settings, spending)
    client = JudgeClient(settings, key=key, budget=budget, clock=SystemClock(), random=Random())
    try:
        yield ModelJudge(settings, client, picture_of=picture_of_end), ledger, budget
    finally:
        client.close()
        if ledger is not None:
            ledger.close()


def _key(settings: JudgeSettings) -> str:
    from cloud_learner.errors import SettingsError
    from cloud_learner.judge_settings import read_key

    if settings.key_file is None:
        return os.environ.get(KEY_VARIABLE, "").strip()
    try:
        return read_key(settings.key_file)
    except SettingsError as error:
        raise MisuseError(str(error)) from error
