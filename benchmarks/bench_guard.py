"""What the guard of an owned phone would say to the oracles: who would be asked, about what.

Every task is played by the oracle on a clone, where everything is allowed; then the shipped rules
decide about each of its steps, as they would have before it. Prints one JSON line; `--labels`
prints before it, a line each, what would be asked or denied, how often and by which rule.
"""

from __future__ import annotations

import argparse
import json
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass

from apps_mock.actors import Actors
from apps_mock.catalogue import LOCALES, Locale
from apps_mock.evaluation import instances
from apps_mock.farm import play
from apps_mock.tasks import templates
from device_runtime.guard import Allowed, AskOwner, Denied, decide
from device_runtime.guard_rules import owned_rules
from sync.vocabulary import Episode, Split

TOLD = 20
"""How many asked templates are named for each consequence."""


@dataclass(frozen=True, slots=True)
class Stopped:
    """A step that the guard would not just let pass.

    Attributes:
        rule: its place in the rules, with the word that was found.
        said: the question or the reason.
    """

    template: str
    rule: str
    said: str
    denied: bool


def stopped_steps(episode: Episode) -> Iterator[Stopped]:
    """The steps of an episode that the shipped rules ask about or deny."""
    rules = owned_rules()
    for step in episode.steps:
        match decide(step.action, step.observation, rules):
            case Allowed():
                continue
            case AskOwner(question=said, rule=rule):
                yield Stopped(episode.assignment.template, rule, said, denied=False)
            case Denied(reason=said, rule=rule):
                yield Stopped(episode.assignment.template, rule, said, denied=True)


def consequence_of(rule: str) -> str:
    """The rule without its word: "guard.consequential.send"."""
    return rule.rpartition(", ")[2].partition(":")[0]


def main() -> None:
    """Play, decide, and print what came of it."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seeds", type=int, default=2, help="instances of each template")
    parser.add_argument("--seed-base", type=int, default=0)
    parser.add_argument("--locale", choices=LOCALES, default="en")
    parser.add_argument("--labels", action="store_true", help="also print each question")
    given = parser.parse_args()
    locale: Locale = given.locale
    chosen = templates()
    wanted = instances(
        chosen,
        count=given.seeds * len(chosen),
        seed_base=given.seed_base,
        split=Split.TEST,
        actor="oracle",
        locale=locale,
    )
    found: list[Stopped] = []
    steps = asked_episodes = 0
    for played in play(wanted, Actors().policy_for):
        stops = list(stopped_steps(played.episode))
        found += stops
        steps += len(played.episode.steps)
        asked_episodes += bool(stops)
    if given.labels:
        for (rule, said), count in Counter((one.rule, one.said) for one in found).most_common():
            print(json.dumps({"count": count, "rule": rule, "said": said}, ensure_ascii=False))
    by_rule = {
        name: sorted({one.template for one in found if consequence_of(one.rule) == name})
        for name in sorted({consequence_of(one.rule) for one in found})
    }
    result = {
        "bench": "guard",
        "locale": locale,
        "templates": len(chosen),
        "episodes": len(wanted),
        "steps": steps,
        "templates_asked": len({one.template for one in found if not one.denied}),
        "templates_denied": len({one.template for one in found if one.denied}),
        "episodes_asked": asked_episodes,
        "steps_asked": sum(not one.denied for one in found),
        "steps_denied": sum(one.denied for one in found),
        "by_rule": {name: {"n": len(some), "some": some[:TOLD]} for name, some in by_rule.items()},
    }
    print(json.dumps(result, ensure_ascii=False))


if __name__ == "__main__":
    main()
