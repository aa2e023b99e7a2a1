"""Phones, policies and workers that follow a script: the fakes of their ports.

`FunctionPolicy` is also how a plain function becomes a policy, for instance one from a user's file.
"""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from device_runtime.errors import PhoneLostError, UnknownTaskError
from device_runtime.ports import ActOutcome, Decided, PhoneInfo, PolicyRequest, ResetOutcome
from device_runtime.seats import SeatPhone, Seats
from device_runtime.worker_process import Plan
from sync.clock import SystemClock
from sync.vocabulary import (
    Action,
    ActionKind,
    Assignment,
    Check,
    DeviceId,
    Element,
    EndReason,
    Episode,
    FinishStatus,
    Observation,
    Verdict,
    VerdictSource,
    finish,
    new_uuid7,
    tap,
)

TEMPLATE = "scripted_pages"
"""The only template that a `ScriptedPhone` plays."""


class FunctionPolicy:
    """A policy that asks a function, request by request."""

    def __init__(
        self,
        choose: Callable[[PolicyRequest], Action],
        *,
        name: str = "scripted",
        wants_encoding: bool = False,
    ) -> None:
        self.wants_encoding = wants_encoding
        self._choose = choose
        self._name = name

    def decide(self, requests: Sequence[PolicyRequest]) -> list[Decided]:
        """What the function says to each request."""
        return [Decided(self._choose(item), policy_version=self._name) for item in requests]


class ScriptedPhone:
    """A phone of numbered pages: a tap on "next" turns the page, the goal is the last one.

    Args:
        pages: how many pages there are.
        lost_at: number of the act (from 0) at which the connection breaks; None means never.
    """

    def __init__(self, pages: int = 3, *, lost_at: int | None = None) -> None:
        self._pages = pages
        self._lost_at = lost_at
        self._page = 0
        self._acts = 0
        self.closed = False

    def reset(self, assignment: Assignment) -> ResetOutcome:
        """Open the first page.

        Raises: UnknownTaskError: the template is not `TEMPLATE`.
        """
        if assignment.template != TEMPLATE:
            raise UnknownTaskError(f"this phone knows no template {assignment.template!r}")
        self._page = self._acts = 0
        return ResetOutcome(f"open page {self._pages - 1}", suite_version="scripted/1")

    def observe(self) -> Observation:
        """The page that is open."""
        title = Element("android.widget.TextView", (0, 0, 1080, 200), text=f"page {self._page}")
        button = Element("android.widget.Button", (0, 200, 1080, 400), text="next", clickable=True)
        return Observation(
            1080, 2400, (title, button), package="org.example", state_hash=str(self._page)
        )

    def act(self, action: Action) -> ActOutcome:
        """Turn the page on a tap; everything else is invalid.

        Raises: PhoneLostError: at the act that the script breaks at.
        """
        self._acts += 1
        if self._lost_at is not None and self._acts > self._lost_at:
            raise PhoneLostError("the scripted phone was unplugged: plug it in again")
        if action.kind is not ActionKind.TAP:
            return ActOutcome(valid=False, detail=f"{action.kind} does nothing here")
        self._page = min(self._page + 1, self._pages - 1)
        return ActOutcome()

    def screenshot(self) -> bytes:
        """No pixels."""
        return b""

    def info(self) -> PhoneInfo:
        """A phone that exists in a test only."""
        return PhoneInfo("scripted", "Scripted", "0", 1080, 2400)

    def close(self) -> None:
        """Remember that it was let go of."""
        self.closed = True

    def judge(self, episode: Episode) -> Verdict:
        """Success where the last page is open and the policy finished with "complete"."""
        reached = self._page == self._pages - 1
        claimed = (
            episode.end_reason is EndReason.FINISH
            and episode.steps[-1].action.status is FinishStatus.COMPLETE
        )
        return Verdict(
            episode_id=episode.id,
            verifier=TEMPLATE,
            verifier_version="1",
            source=VerdictSource.CODE,
            score=float(reached and claimed),
            progress=float(reached),
            goal_reached=reached,
            checks=(Check("last_page_open", reached),),
        )


class BreakingPhone(ScriptedPhone):
    """A scripted phone that hangs, or takes its process with it, in the episodes of some seeds."""

    def __init__(self, *, hangs: frozenset[int], kills: frozenset[int]) -> None:
        super().__init__()
        self._hangs, self._kills = hangs, kills
        self._seed = 0

    def reset(self, assignment: Assignment) -> ResetOutcome:
        """Open the first page, and remember which seed is played."""
        self._seed = assignment.seed
        return super().reset(assignment)

    def act(self, action: Action) -> ActOutcome:
        """Turn the page, unless the seed is one that breaks."""
        while self._seed in self._hangs:
            time.sleep(0.01)
        if self._seed in self._kills:
            os._exit(1)
        return super().act(action)


@dataclass(frozen=True, slots=True)
class ScriptedRecipe:
    """Makes a worker's table of breaking phones that a scripted policy plays.

    Attributes:
        hangs: seeds of the episodes in which a phone never comes back.
        kills: seeds of the episodes in which the worker dies.
    """

    hangs: frozenset[int] = frozenset()
    kills: frozenset[int] = frozenset()

    def __call__(self, plan: Plan) -> tuple[Seats, None]:
        """The seats of one worker."""
        phones = [BreakingPhone(hangs=self.hangs, kills=self.kills) for _ in range(plan.seats)]
        policy = FunctionPolicy(_next_or_finish)
        seats = Seats(
            [SeatPhone(phone, phone) for phone in phones],
            lambda _assignment, _phone: policy,
            device_id=DeviceId("scripted"),
            clock=SystemClock(),
            new_id=new_uuid7,
            first_seat=plan.first,
        )
        return seats, None


def _next_or_finish(request: PolicyRequest) -> Action:
    shown = request.observation.elements[0].text
    return finish() if shown == "page 2" else tap(0.5, 0.12, element=1)
