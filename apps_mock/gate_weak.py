"""How often policies that understand nothing solve a template's instances.

The rule: where one solved more than its share, it plays `WEAK_MORE` instances more (other seeds),
at most three times, until its share over all of them is within the limit. So one lucky hit in a few
instances condemns nobody, and a template that is easy to stumble into stays condemned.
"""

from __future__ import annotations

import itertools
from dataclasses import dataclass, field

from apps_mock.gate_episodes import GateSettings, assignment_of, play
from apps_mock.gate_rows import WEAK_POLICY_LIMIT, Share
from apps_mock.phone import MockPhone
from apps_mock.screen_checks import ScreenWatch
from apps_mock.templates import Template
from device_runtime.ports import Policy
from sync.vocabulary import EndReason

WEAK_MORE = 400
"""Instances that a weak policy plays more where it solved more than its share."""


@dataclass(frozen=True, slots=True)
class WeakPlays:
    """Weak policies on one template; what they meet is looked at as well.

    Attributes:
        broken: how apps broke under them; grows.
    """

    template: Template
    settings: GateSettings
    phone: MockPhone
    watch: ScreenWatch
    broken: dict[str, None] = field(default_factory=dict)

    def share_of(self, policy: Policy) -> Share:
        """What a weak policy solves, by the rule that stands at the top of this module."""
        settings, share = self.settings, Share()
        watched = self.watch.watching_widgets(policy)
        for instance in itertools.product(settings.seeds, settings.looks):
            share = self._played(instance, watched, share)
        later = itertools.count(max(settings.seeds) + 1)
        more = ((seed, look) for seed in later for look in settings.looks)
        for _ in range(3):
            if not self.template.counts or share.rate <= WEAK_POLICY_LIMIT:
                break
            for instance in itertools.islice(more, WEAK_MORE):
                share = self._played(instance, watched, share)
        return share

    def _played(self, instance: tuple[int, int], policy: Policy, share: Share) -> Share:
        assignment = assignment_of(self.template, instance, self.settings.split)
        episode, verdict = play(self.phone, policy, assignment)
        if episode.end_reason is EndReason.ENV_ERROR:
            self.broken[episode.end_detail] = None
        return share.with_result(solved=verdict.success)
