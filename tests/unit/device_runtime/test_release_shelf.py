import threading
from dataclasses import dataclass, field
from pathlib import Path
from random import Random

import pytest

from device_runtime.errors import InstallError
from device_runtime.release_shelf import KEPT_PINNED, ReleaseShelf, _Pin, _Plan, _Refresh
from device_runtime.slots import InstalledRelease
from device_runtime.trial_start import InstallOutcome
from sync.adapter_file import AdapterFile
from sync.clock import ManualClock, SystemClock
from sync.errors import RejectedError, TransientError
from sync.vocabulary import FACTORY_RELEASE, Release, ReleaseId


def an_adapter(name):
    return AdapterFile({name: None}, "b", "p", "int8", "digest")


@dataclass(frozen=True)
class Installed(InstalledRelease):
    def read(self):
        return None if self.release is None else an_adapter(self.release.id)


def installed(name, state="committed"):
    release = Release(
        ReleaseId(name),
        version=1,
        base_digest="b",
        adapter_digest="a",
        adapter_size_bytes=1,
        policy_io_version="p",
    )
    return Installed(release, Path("adapter.bin"), state)


@dataclass
class FakeSource:
    at_start: InstalledRelease = field(default_factory=InstalledRelease)
    answers: list = field(default_factory=list)
    asked_for: list = field(default_factory=list)
    channels: list = field(default_factory=list)
    told_of: list = field(default_factory=list)
    commits: int = 0
    worked: threading.Event = field(default_factory=threading.Event)

    def begin_load(self):
        return self.at_start

    def refresh(self, channel, *, announced=False):
        self.channels.append(channel)
        self.told_of.append(announced)
        answer = self.answers.pop(0) if self.answers else None
        if not self.answers:
            self.worked.set()
        if isinstance(answer, Exception):
            raise answer
        return answer

    def adapter_for(self, release_id):
        self.asked_for.append(release_id)
        if release_id.startswith("bad"):
            raise RejectedError("nobody signed it", reason="unknown_release")
        return an_adapter(release_id)

    def commit(self):
        self.commits += 1
        return self.at_start


@dataclass
class FakeHost:
    loaded: dict = field(default_factory=dict)

    def load_adapter(self, release_id, tensors, *, base_digest=""):
        self.loaded[release_id] = list(tensors)

    def unload(self, release_id):
        del self.loaded[release_id]


def a_shelf(source, host=None, **options):
    return ReleaseShelf(
        source, host or FakeHost(), channel="canary", clock=SystemClock(), **options
    )


def applied(name, state="trial"):
    return InstallOutcome(applied=True, installed=installed(name, state))


def work_off(shelf):
    """Let the follower do every job it was given, and stop."""
    shelf.close()


def test_what_is_installed_acts_from_the_start():
    host = FakeHost()
    shelf = a_shelf(FakeSource(installed("r-1")), host)

    shelf.start()
    work_off(shelf)

    assert shelf.current == "r-1"
    assert host.loaded == {"r-1": ["r-1"]}


def test_announced_release_acts_after_it_is_settled_and_not_before():
    host = FakeHost()
    shelf = a_shelf(FakeSource(answers=[applied("r-2")]), host)
    shelf.start()
    work_off(shelf)
    before = shelf.current

    changed, unavailable = shelf.settle(frozenset())

    assert before == FACTORY_RELEASE
    assert (changed, unavailable, shelf.current) == (True, [], "r-2")
    assert "r-2" in host.loaded


def test_refused_release_changes_nothing():
    refused = InstallOutcome(applied=False, installed=InstalledRelease(), reason="tampered")
    shelf = a_shelf(FakeSource(answers=[refused]))
    shelf.start()
    work_off(shelf)

    assert shelf.settle(frozenset()) == (False, [])
    assert shelf.current == FACTORY_RELEASE


def test_older_release_stays_loaded_while_an_episode_uses_it():
    host = FakeHost()
    source = FakeSource(installed("r-1"), answers=[applied(f"r-{n}") for n in range(2, 9)])
    shelf = a_shelf(source, host)
    shelf.start()
    for _ in range(6):
        shelf.look()
    work_off(shelf)

    shelf.settle(frozenset({ReleaseId("r-1")}))
    while_used = "r-1" in host.loaded
    shelf.settle(frozenset())

    assert while_used
    assert "r-1" in host.loaded or len(host.loaded) <= KEPT_PINNED + 1
    assert "r-8" in host.loaded
    assert "r-2" not in host.loaded


def test_pinned_release_is_fetched_once_and_ready_after_it_is_settled():
    host, source = FakeHost(), FakeSource()
    shelf = a_shelf(source, host)
    shelf.start()
    before = [shelf.is_ready(ReleaseId("r-7")), shelf.is_ready(ReleaseId("r-7"))]
    work_off(shelf)

    changed, _ = shelf.settle(frozenset())

    assert before == [False, False]
    assert source.asked_for == ["r-7"]
    assert shelf.is_ready(ReleaseId("r-7"))
    assert (changed, shelf.current) == (False, FACTORY_RELEASE)


def test_factory_release_is_always_ready():
    assert a_shelf(None).is_ready(FACTORY_RELEASE)


def test_pinned_release_that_nobody_signed_is_unavailable():
    shelf = a_shelf(FakeSource())
    shelf.start()
    shelf.is_ready(ReleaseId("bad-1"))
    work_off(shelf)

    _, [missing] = shelf.settle(frozenset())

    assert (missing.release_id, missing.reason) == ("bad-1", "unknown_release")


def test_pinned_adapter_that_cannot_act_is_unavailable_and_the_rest_goes_on():
    class Picky(FakeHost):
        def load_adapter(self, release_id, tensors, *, base_digest=""):
            raise InstallError("it is not finite", reason="not_finite")

    shelf = a_shelf(FakeSource(), Picky())
    shelf.start()
    shelf.is_ready(ReleaseId("r-5"))
    work_off(shelf)

    changed, [missing] = shelf.settle(frozenset())

    assert (changed, missing.release_id, missing.reason) == (False, "r-5", "not_finite")
    assert shelf.current == FACTORY_RELEASE


def test_lookup_that_failed_for_now_is_tried_again():
    source = FakeSource(answers=[TransientError("no network"), applied("r-3")])
    shelf = a_shelf(source, retry_s=0.001)
    shelf.start()
    assert source.worked.wait(10)
    work_off(shelf)

    shelf.settle(frozenset())

    assert shelf.current == "r-3"
    assert source.channels[:2] == ["canary", "canary"]


def test_release_on_trial_is_kept_after_its_episodes():
    source = FakeSource(installed("r-1", "trial"))
    shelf = a_shelf(source, trial_episodes=2)
    shelf.start()

    shelf.episode_ended(ReleaseId("r-0"))
    shelf.episode_ended(ReleaseId("r-1"))
    shelf.episode_ended(ReleaseId("r-1"))
    shelf.episode_ended(ReleaseId("r-1"))
    work_off(shelf)

    assert source.commits == 1


def test_release_is_not_kept_before_its_trial_is_over():
    source = FakeSource(installed("r-1", "trial"))
    shelf = a_shelf(source, trial_episodes=2)
    shelf.start()

    shelf.episode_ended(ReleaseId("r-1"))
    work_off(shelf)

    assert source.commits == 0


def test_defect_in_the_follower_is_raised_where_episodes_are_played():
    shelf = a_shelf(FakeSource(answers=[ZeroDivisionError()]))
    shelf.start()
    work_off(shelf)

    with pytest.raises(RuntimeError, match="follower"):
        shelf.settle(frozenset())


def test_shelf_without_a_source_plays_the_factory_policy():
    shelf = a_shelf(None)

    shelf.start()
    shelf.look()

    assert shelf.settle(frozenset()) == (False, [])
    assert shelf.current == FACTORY_RELEASE
    shelf.close()


def test_whoever_settles_is_told_when_something_was_brought_and_only_then():
    told = []
    source = FakeSource(answers=[applied("r-2")])
    shelf = a_shelf(source, brought=lambda: told.append(1))
    shelf.start()
    shelf.look()
    work_off(shelf)

    assert told == [1]


def test_adapter_that_was_opened_to_install_it_is_loaded_without_being_read_again():
    class Unreadable(Installed):
        def read(self):
            raise AssertionError("it was read once more")

    host = FakeHost()
    outcome = InstallOutcome(
        applied=True,
        installed=Unreadable(installed("r-2").release, Path("adapter.bin"), "trial"),
        adapter=an_adapter("r-2"),
    )
    shelf = a_shelf(FakeSource(answers=[outcome]), host)
    shelf.start()
    work_off(shelf)

    shelf.settle(frozenset())

    assert host.loaded == {"r-2": ["r-2"]}


def test_spread_announcement_is_looked_at_at_a_moment_of_the_phone_s_own():
    class Middle(Random):
        def uniform(self, low, high):
            return (low + high) / 2

    clock = ManualClock()
    plan = _Plan(clock, Middle(), 600.0, 5.0)
    plan.look_within(100.0)
    waits = [plan.wait_s()]
    clock.advance(49.0)
    early = plan.take_due()
    clock.advance(1.0)
    due = plan.take_due()
    waits.append(plan.wait_s())

    assert waits == [50.0, 550.0]
    assert (early, due) == ([], [_Refresh(announced=True)])


def test_second_announcement_does_not_put_off_the_first():
    plan = _Plan(ManualClock(), Random(1), 600.0, 5.0)
    plan.look_within(1.0)
    first = plan.wait_s()
    plan.look_within(500.0)

    assert plan.wait_s() <= first <= 1.0


def test_phones_that_fail_together_do_not_try_again_together():
    clock, pauses = ManualClock(), set()
    for seed in range(20):
        plan = _Plan(clock, Random(seed), 600.0, 5.0)
        plan.try_again(_Refresh())
        pauses.add(plan.wait_s())

    assert len(pauses) == 20
    assert min(pauses) >= 5.0
    assert max(pauses) <= 10.0


def test_looks_that_go_on_failing_do_not_become_more():
    clock = ManualClock()
    plan = _Plan(clock, Random(1), 60.0, 5.0)
    plan.try_again(_Refresh(announced=True))
    plan.try_again(_Pin(ReleaseId("r-1")))
    rounds = []
    for _ in range(50):
        clock.advance(plan.wait_s())
        rounds.append(plan.take_due())
        for job in rounds[-1]:
            plan.try_again(job)

    assert rounds == [[_Refresh(announced=True), _Pin(ReleaseId("r-1"))]] * 50


def test_announced_release_is_looked_for_as_news_and_a_look_in_between_is_not():
    source = FakeSource()
    shelf = a_shelf(source)
    shelf.start()
    shelf.look()
    work_off(shelf)

    assert source.told_of == [False, True]


def test_spread_announcement_reaches_the_channel():
    source = FakeSource(answers=[None, None])
    shelf = a_shelf(source)
    shelf.start()
    shelf.look(within_s=0.01)
    assert source.worked.wait(10)
    work_off(shelf)

    assert source.told_of == [False, True]
