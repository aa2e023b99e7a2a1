"""Screens read from their pictures: what is found of the tree, and what a policy makes of it.

Clones with their trees withheld. Text and boxes: screens on the oracle's way through test tasks, in
each language. Tasks: the same test instances played by the shipped base, by the tree and by the
picture alone. Appends one row to the ledger and prints it as one JSON line.

    python benchmarks/bench_reading.py --screens 12 --episodes 40

A text of the tree counts as found where the lines read in its place, or some of them side by side,
say the same, white space, case and the form of dashes and dots aside. A line that was read counts
as right where it stands in the text of the tree in its place.
"""

from __future__ import annotations

import argparse
import statistics
import time
import unicodedata
from collections.abc import Iterator, Sequence
from dataclasses import replace
from random import Random

from apps_mock.actors import Actors
from apps_mock.catalogue import LOCALES, Locale
from apps_mock.evaluation import instances, templates_of
from apps_mock.farm import play
from apps_mock.phone import MockPhone
from cloud_learner.figures import wilson95
from device_runtime.ports import ActOutcome, PhoneInfo, PolicyRequest, ResetOutcome
from device_runtime.screen_reading import ScreenReader
from device_runtime.screen_reading_phone import ReadingPhone
from device_runtime.screen_reading_when import When
from device_runtime.seats import SeatPhone
from outrider import ledger
from outrider.acting import Actor, actor_of
from sync.history import EMPTY_HISTORY
from sync.vocabulary import (
    Action,
    ActionKind,
    Assignment,
    Element,
    Observation,
    Rect,
    ReleaseId,
    Split,
)

SEED_BASE = 4_100_000_000
ENDINGS = frozenset({ActionKind.FINISH, ActionKind.ANSWER})
FORMS = str.maketrans({**dict.fromkeys("‐‑‒–—−ー", "-"), **dict.fromkeys("·・•.", "·")})


class TreelessPhone:
    """A clone that keeps its tree to itself, as a canvas does."""

    def __init__(self, phone: MockPhone) -> None:
        self._phone = phone

    def reset(self, assignment: Assignment) -> ResetOutcome:
        """Set the assignment's task up."""
        return self._phone.reset(assignment)

    def observe(self) -> Observation:
        """What is in front, without a single element."""
        return replace(self._phone.observe(), elements=())

    def act(self, action: Action) -> ActOutcome:
        """Play the action on a screen without elements."""
        return self._phone.act_as_seen(action, self.observe())

    def act_as_seen(self, action: Action, seen: Observation) -> ActOutcome:
        """Play the action on the screen that was seen."""
        return self._phone.act_as_seen(action, seen)

    def screenshot(self) -> bytes:
        """The screen as PNG bytes."""
        return self._phone.screenshot()

    def info(self) -> PhoneInfo:
        """What phone this is."""
        return self._phone.info()

    def close(self) -> None:
        """Let go of the task."""
        self._phone.close()


def screens(locale: Locale, count: int) -> Iterator[tuple[Observation, bytes]]:
    """Screens on the oracle's way, one per task: what the tree says, and the picture."""
    chosen = templates_of("all")
    random = Random(f"screens {locale}")
    wanted = instances(
        chosen,
        count=len(chosen),
        seed_base=SEED_BASE,
        split=Split.TEST,
        actor="oracle",
        locale=locale,
    )
    for assignment in random.sample(wanted, count):
        phone = MockPhone()
        phone.reset(assignment)
        oracle = Actors().policy_for(assignment, phone)
        for _ in range(random.randint(0, 5)):
            request = PolicyRequest(phone.observe(), "", EMPTY_HISTORY, random)
            action = oracle.decide([request])[0].action
            if action.kind in ENDINGS:
                break
            phone.act(action)
        yield phone.observe(), phone.screenshot()


def plain(text: str) -> str:
    """The text without white space, case and forms of dashes and dots."""
    folded = unicodedata.normalize("NFKC", text).translate(FORMS).casefold()
    return "".join(folded.split())


def holds(box: Rect, other: Rect) -> bool:
    """Whether the centre of `other` lies in `box`."""
    x, y = (other[0] + other[2]) / 2, (other[1] + other[3]) / 2
    return box[0] <= x <= box[2] and box[1] <= y <= box[3]


def overlap(one: Rect, other: Rect) -> float:
    """Intersection over union."""
    wide = min(one[2], other[2]) - max(one[0], other[0])
    high = min(one[3], other[3]) - max(one[1], other[1])
    if wide <= 0 or high <= 0:
        return 0.0
    areas = sum((box[2] - box[0]) * (box[3] - box[1]) for box in (one, other))
    return wide * high / (areas - wide * high)


def texts_of(screen: Observation) -> list[Element]:
    """The tree's texts that are on the screen as a whole."""
    return [
        each
        for each in screen.elements
        if each.text and each.bounds[1] >= 0 and each.bounds[3] <= screen.height_px
    ]


def found_by(element: Element, read: Sequence[Element]) -> list[Element]:
    """The elements side by side that together say what `element` says; empty where none do."""
    wanted = plain(element.text)
    inside = [each for each in read if each.text and holds(element.bounds, each.bounds)]
    for first in range(len(inside)):
        for last in range(first + 1, len(inside) + 1):
            if plain("".join(each.text for each in inside[first:last])) == wanted:
                return inside[first:last]
    return []


def text_figures(reader: ScreenReader, locale: Locale, count: int) -> dict[str, object]:
    """Recall, precision, overlap and time on the screens of one language."""
    wanted = found = said = right = 0
    overlaps: list[float] = []
    cpu_s: list[float] = []
    for screen, png in screens(locale, count):
        started = time.process_time()
        read = reader.read(png)
        cpu_s.append(time.process_time() - started)
        texts = texts_of(screen)
        for element in texts:
            parts = found_by(element, read)
            wanted, found = wanted + 1, found + bool(parts)
            overlaps += [overlap(element.bounds, part.bounds) for part in parts[:1]]
        for element in (each for each in read if each.text):
            around = [one for one in screen.elements if holds(one.bounds, element.bounds)]
            said += 1
            right += any(plain(element.text) in plain(one.text) for one in around)
    return {
        "screens": count,
        "texts": wanted,
        "recall": round(found / wanted, 4),
        "recall_ci95": _interval(found, wanted),
        "lines": said,
        "precision": round(right / said, 4) if said else None,
        "mean_iou": round(statistics.mean(overlaps), 4) if overlaps else None,
        "cpu_s_p50": round(statistics.median(cpu_s), 2),
        "cpu_s_max": round(max(cpu_s), 2),
    }


def task_figures(
    wanted: list[Assignment], actor: Actor, reader: ScreenReader | None
) -> dict[str, object]:
    """Success of one policy on these instances, by the tree or by the picture alone."""

    def new_phone() -> SeatPhone:
        clone = MockPhone(state_hashes=False)
        if reader is None:
            return SeatPhone(clone, clone)
        return SeatPhone(ReadingPhone(TreelessPhone(clone), reader, when=When.ALWAYS), clone)

    started = time.process_time()
    played = list(
        play(
            wanted,
            actor.actors.policy_for,
            phone_factory=new_phone,
            seats=1,
            release_id=ReleaseId(actor.release_id),
        )
    )
    successes = sum(one.verdict is not None and one.verdict.success for one in played)
    steps = sum(len(one.episode.steps) for one in played)
    return {
        "n": len(played),
        "success": round(successes / len(played), 4),
        "ci95": _interval(successes, len(played)),
        "steps": steps,
        "cpu_s_per_step": round((time.process_time() - started) / steps, 3),
    }


def both_ways(suite: str, episodes: int, reader: ScreenReader) -> dict[str, dict[str, object]]:
    """The same test instances, played by the tree and by the picture."""
    chosen, actor = templates_of(suite), actor_of(None, bundle=None, base=None)
    wanted = instances(
        chosen,
        count=max(episodes, len(chosen)),
        seed_base=SEED_BASE,
        split=Split.TEST,
        actor=actor.name,
    )
    wanted = Random(0).sample(wanted, episodes)
    return {
        "tree": task_figures(wanted, actor, None),
        "picture": task_figures(wanted, actor, reader),
    }


def main() -> None:
    """Measure, keep and print."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--screens", type=int, default=12, help="per language; 0: none")
    parser.add_argument("--episodes", type=int, default=40, help="0: none")
    parser.add_argument("--suite", default="settings,contacts,clock")
    arguments = parser.parse_args()
    reader = ScreenReader()
    parts: dict[str, object] = {}
    if arguments.screens:
        parts["text"] = {one: text_figures(reader, one, arguments.screens) for one in LOCALES}
    if arguments.episodes:
        parts["tasks"] = both_ways(arguments.suite, arguments.episodes, reader)
    row = {
        "benchmark": "reading",
        "key": {"commit": ledger.commit(), "suite": arguments.suite},
        "command": f"python benchmarks/bench_reading.py --screens {arguments.screens} "
        f"--episodes {arguments.episodes} --suite {arguments.suite}",
        "machine": ledger.MACHINE,
        "seed_base": SEED_BASE,
        **parts,
    }
    print(ledger.keep(row))


def _interval(successes: int, n: int) -> list[float] | None:
    ends = wilson95(successes, n)
    return None if ends is None else [round(end, 4) for end in ends]


if __name__ == "__main__":
    main()
