"""Writes what the code already knows into the docs: the glossary, and the tables of the protocol.

`python docs/make_reference.py` rewrites docs/glossary.md, docs/settings.md, and the parts between
markers of the pages in `PAGES`. A test compares them with what the code and the ledger say.
"""

from __future__ import annotations

import ast
import dataclasses
import json
import re
from collections.abc import Iterator, Sequence
from functools import lru_cache
from pathlib import Path
from typing import Any

from apps_mock.tasks import templates
from cloud_learner.algorithm_settings import ALGORITHMS
from exporters.shipped import CARD_FILE, DEFAULT_BASE_DIR, base_without
from outrider.cli import COMMANDS
from sync.messages import KINDS
from sync.requirements import REQUIREMENTS
from sync.topics import TABLE, Direction

DOCS = Path(__file__).resolve().parent
ROOT = DOCS.parent
VOCABULARY = ROOT / "sync" / "vocabulary.py"
WORDS = """\
| word | here it means | we never call it |
|---|---|---|
| adapter | LoRA tensors on top of a base network | the edge to the outside, which is a driver |
| policy | what chooses actions | rules of retry, retention or release |
| behaviour policy, μ | the policy that chose a logged action | |
| target policy, π | the policy that is being learnt | |
| checkpoint | the learner's state, to resume from | the adapter that phones get |
| bundle | the files of a release | |
| release | an immutable bundle with signed metadata | |
| channel | a signed pointer to a release: `canary`, `beta`, `stable` | a topic |
| phone, device | what plays episodes; a farm is one device with many seats | a torch device |
| seat | one mock phone of a farm | |
| look | one seeded draw of a clone's theme, order, sizes and wording | |
| staged release | a release on its way from canary to all; it is promoted or rolled back | |
| transition, trajectory | a step with the next observation; the ordered steps of an episode | |
| return | discounted sum of rewards | |
"""
PAGES = ("protocol.md", "operations.md", "algorithm.md", "results.md", "templates.md")
LEDGER = ROOT / "benchmarks" / "ledger.jsonl"
PACKAGES = ("sync", "device_runtime", "exporters", "cloud_learner", "apps_mock", "outrider")


def glossary() -> str:
    """docs/glossary.md: every name of the vocabulary with its docstring."""
    module = ast.parse(VOCABULARY.read_text(encoding="utf-8"))
    opening = (ast.get_docstring(module) or "").strip()
    lines = ["# Glossary", "", "Made from `sync/vocabulary.py` by `python docs/make_reference.py`."]
    lines += ["", opening, "", WORDS]
    for name, text, node in _documented(module):
        lines += [f"## {name}", "", _prose(text), ""]
        members = list(_members(node)) if isinstance(node, ast.ClassDef) else []
        if members:
            lines += ["One of: " + ", ".join(f"`{member}`" for member in members) + ".", ""]
    return "\n".join(lines).rstrip() + "\n"


def topic_table() -> str:
    """The topics: one row each, from `sync.topics.TABLE`."""
    way = {Direction.UP: "up", Direction.DOWN: "down", Direction.BROADCAST: "broadcast"}
    rows = [
        (
            way[kind.direction],
            f"`{kind.name}`",
            str(kind.qos),
            "yes" if kind.retain else "no",
            ", ".join(f"`{message}`" for message in kind.messages),
            kind.purpose,
        )
        for kind in TABLE
    ]
    return _table(("way", "kind", "QoS", "retained", "messages", "what for"), rows)


def message_table() -> str:
    """The messages: one row each, from `sync.messages.KINDS`."""
    rows = []
    for kind, message in KINDS.items():
        fields = ", ".join(f"`{one.name}`" for one in dataclasses.fields(message))
        rows.append((f"`{kind}`", _first_line(message.__doc__), fields))
    return _table(("message", "what it says", "fields"), rows)


def requirement_table() -> str:
    """What must hold on the wire: one row each, from `sync.requirements`."""
    rows = [(f"`{one.id}`", one.who.value, one.text.replace("|", "\\|")) for one in REQUIREMENTS]
    return _table(("id", "who", "what"), rows)


def error_trees() -> str:
    """The errors of each package, as its errors.py draws them."""
    parts = []
    for package in PACKAGES:
        source = ROOT / package / "errors.py"
        drawing = ast.get_docstring(ast.parse(source.read_text(encoding="utf-8"))) or ""
        parts.append(f"`{package}`\n\n```\n{drawing}\n```")
    return "\n\n".join(parts)


def command_table() -> str:
    """The commands, from the table of the command line."""
    rows = [(f"`outrider {words}`", _first_line(command.__doc__)) for words, command in COMMANDS]
    return _table(("command", "what it does"), rows)


def endpoint_table() -> str:
    """The endpoints of the cloud service's API, from the decorators of its routers."""
    rows = []
    for path in sorted((ROOT / "cloud_learner").glob("api*.py")):
        for maker in _functions(ast.parse(path.read_text(encoding="utf-8"))):
            prefix = _router_prefix(maker)
            for node in _functions(maker):
                rows += [
                    (f"`{verb} {prefix}{tail}`", _first_line(ast.get_docstring(node)))
                    for verb, tail in _routes(node)
                ]
    return _table(("endpoint", "answers"), sorted(set(rows), key=lambda row: row[0].split()[::-1]))


_Function = ast.FunctionDef | ast.AsyncFunctionDef


def _functions(within: ast.AST) -> list[_Function]:
    found = [node for node in ast.walk(within) if isinstance(node, _Function)]
    return [node for node in found if node is not within]


def _router_prefix(maker: _Function) -> str:
    """What the router that is made here puts before its paths."""
    for call in ast.walk(maker):
        if isinstance(call, ast.Call) and ast.unparse(call.func) == "APIRouter":
            for option in call.keywords:
                if option.arg == "prefix":
                    return str(ast.literal_eval(option.value))
    return ""


def _routes(node: _Function) -> list[tuple[str, str]]:
    """Verb and path of each decorator that makes `node` an endpoint."""
    calls = [one for one in node.decorator_list if isinstance(one, ast.Call)]
    named = [(ast.unparse(one.func), ast.literal_eval(one.args[0])) for one in calls if one.args]
    return [
        (name.rpartition(".")[2].upper(), path)
        for name, path in named
        if name in {"router.get", "router.post"}
    ]


def settings() -> str:
    """docs/settings.md: every field of every settings class, with its type and default."""
    lines = ["# Settings", "", "Made from the code by `python docs/make_reference.py`.", ""]
    for source in sorted(path for name in PACKAGES for path in (ROOT / name).glob("*.py")):
        module = ast.parse(source.read_text(encoding="utf-8"))
        for node in module.body:
            if isinstance(node, ast.ClassDef) and node.name.endswith(("Settings", "Rules")):
                name = f"{source.parent.name}.{source.stem}.{node.name}"
                lines += [f"## {name}", "", _prose(ast.get_docstring(node) or ""), ""]
                lines += [_table(("setting", "type", "default"), list(_fields(node))), ""]
    return "\n".join(lines).rstrip() + "\n"


def _fields(node: ast.ClassDef) -> Iterator[tuple[str, ...]]:
    for one in node.body:
        if isinstance(one, ast.AnnAssign):
            made = re.sub(r"field\(default_factory=(\w+)\)", r"\1()", ast.unparse(one.value or one))
            default = "required" if one.value is None else f"`{made}`"
            kind = ast.unparse(one.annotation).replace("|", "\\|")
            yield f"`{ast.unparse(one.target)}`", f"`{kind}`", default.replace("|", "\\|")


def template_tables() -> str:
    """Every task template, suite by suite."""
    parts = []
    for suite in dict.fromkeys(template.own_suite for template in templates()):
        own = [template for template in templates() if template.own_suite == suite]
        rows = [
            (
                f"`{template.name}`",
                template.app,
                str(template.oracle_steps),
                ", ".join(template.tags),
                *_successes(template.name),
                template.phrasings[0],
            )
            for template in own
        ]
        heads = ("template", "app", "steps", "tags", *BASE_ACTORS, "a way to say it")
        parts.append(f"## {suite} ({len(own)})\n\n{_table(heads, rows)}")
    return "\n\n".join(parts)


BASE_ACTORS = ("base", "lexical", "random", "oracle")


def _successes(template: str) -> list[str]:
    """Success of the shipped base and of those beside it on a template's test tasks."""
    for suite in _suite_figures(DEFAULT_BASE_DIR).values():
        if (row := suite["templates"].get(template)) is not None:
            return [f"{100 * row[actor]:.0f} %" for actor in BASE_ACTORS]
    return ["–"] * len(BASE_ACTORS)


def base_table() -> str:
    """The shipped base's card: test success by suite, beside the scripted actors."""
    return _base_rows(DEFAULT_BASE_DIR)


def scene_base_table() -> str:
    """The card of the base that the scene starts with."""
    return _base_rows(base_without("tickets"))


def _base_rows(folder: Path) -> str:
    rows = [
        (
            suite,
            str(found["n"]),
            _percent(found),
            *(_percent(found[name]) for name in ("held_out", *BASE_ACTORS[1:])),
        )
        for suite, found in _suite_figures(folder).items()
    ]
    heads = ("suite", "n", "test", "held-out wordings and looks", *BASE_ACTORS[1:])
    return _table(heads, rows)


@lru_cache
def _suite_figures(folder: Path) -> dict[str, dict[str, Any]]:
    card = json.loads((folder / CARD_FILE).read_text(encoding="utf-8"))
    return {suite: card["test"][suite] for suite in card["recipe"]["apps"]}


def algorithm_table() -> str:
    """What every algorithm has for every setting (no torch is loaded)."""
    names = {one.name: None for each in ALGORITHMS.values() for one in dataclasses.fields(each)}
    rows = [
        (f"`{name}`", *(_shown(getattr(settings, name, None)) for settings in ALGORITHMS.values()))
        for name in names
        if name != "replay"
    ]
    return _table(("setting", *(f"`{name}`" for name in ALGORITHMS)), rows)


def _shown(value: object) -> str:
    match value:
        case None:
            return ""
        case bool():
            return "on" if value else "off"
        case _:
            return str(value)


def learning_table() -> str:
    """The ledger's learning runs: success before and after, one row per learner and seed."""
    lines = LEDGER.read_text(encoding="utf-8").splitlines()
    runs = [row for row in map(json.loads, lines) if row["benchmark"] == "learning"]
    rows = []
    for run in runs:
        test, old = run["test"], run["old_apps"]
        rows.append(
            (
                run["key"]["learner"],
                str(run["key"]["seed"]),
                _percent(test["before"]),
                _percent(test["after"]),
                _percent(test["lexical"]),
                _percent(old["before"]),
                _percent(old["after"]),
                str(run["env_steps"]),
                f"{run['learner_cpu_s']:.0f}",
                f"{run['active_s']:.0f}",
                run["key"]["commit"],
            )
        )
    heads = ("learner", "seed", "new app before", "after", "lexical", "old apps before", "after")
    return _table((*heads, "steps", "learner CPU s", "wall s", "commit"), rows)


def curve_table() -> str:
    """The ledger's comparisons at equal steps: one row per learner, seed and way."""
    lines = LEDGER.read_text(encoding="utf-8").splitlines()
    runs: dict[tuple[str, ...], list[dict[str, Any]]] = {}
    for row in map(json.loads, lines):
        if row["benchmark"] == "learning_curve":
            key = row["key"]
            name = (key["commit"], key["config"], key["algorithm"], str(key["seed"]))
            runs.setdefault((*name, key["through"]), []).append(row)
    rows = []
    for (commit, _config, learner, seed, through), points in runs.items():
        points.sort(key=lambda row: row["env_steps"])
        last = points[-1]
        before = last.get("test_before") or points[0]["test"]
        after = last.get("test_after") or last.get("test")
        curve = last.get("validation_curve") or [
            (row["env_steps"], row["validation"]["all"]["success"]) for row in points
        ]
        rows.append(
            (
                learner,
                seed,
                through,
                _percent(before["all"]),
                _percent(after["all"]) if after else "–",
                _percent(after["long"]) if after else "–",
                _points(curve),
                str(last["env_steps"]),
                _shown_in_all(last.get("demonstrations", {})),
                f"{last['learner_cpu_s']:.0f}",
                f"{last['wall_s']:.0f}",
                commit,
            )
        )
    heads = ("learner", "seed", "in", "test before", "after", "long ones after")
    costs = ("steps", "demonstrations", "learner CPU s", "wall s", "commit")
    return _table((*heads, "validation (steps: %)", *costs), rows)


def _points(curve: Sequence[tuple[int, float]]) -> str:
    """A curve in at most eight points, first and last among them."""
    every = -(-(len(curve) - 1) // 7) or 1
    thinned = [*curve[:-1:every], curve[-1]]
    return ", ".join(f"{steps}: {100 * success:.0f}" for steps, success in thinned)


def _shown_in_all(counted: dict[str, int]) -> str:
    """Demonstrations of a run: those of the start and those that the curriculum asked for."""
    if not counted:
        return "–"
    return str(counted["all"] if "all" in counted else sum(counted.values()))


def _percent(figure: dict[str, Any]) -> str:
    low, high = figure["ci95"]
    return f"{100 * figure['success']:.1f} % ({100 * low:.0f}–{100 * high:.0f})"


TABLES = {
    "algorithms": algorithm_table,
    "base": base_table,
    "scene_base": scene_base_table,
    "learning": learning_table,
    "learning_curves": curve_table,
    "commands": command_table,
    "endpoints": endpoint_table,
    "errors": error_trees,
    "messages": message_table,
    "requirements": requirement_table,
    "templates": template_tables,
    "topics": topic_table,
}


def filled(page: str) -> str:
    """`page` with every marked part made anew.

    Raises: KeyError: a marker names a table that does not exist.
    """
    return re.sub(
        r"<!-- made: (\w+) -->\n.*?<!-- end -->",
        lambda found: f"<!-- made: {found[1]} -->\n{TABLES[found[1]]()}\n<!-- end -->",
        page,
        flags=re.DOTALL,
    )


def _documented(module: ast.Module) -> Iterator[tuple[str, str, ast.stmt]]:
    for node, following in zip(module.body, [*module.body[1:], ast.Pass()], strict=True):
        if isinstance(node, ast.ClassDef) and (text := ast.get_docstring(node)):
            yield node.name, text, node
        elif isinstance(node, ast.Assign | ast.AnnAssign) and (text := _string(following)):
            target = node.targets[0] if isinstance(node, ast.Assign) else node.target
            yield ast.unparse(target), text, node


def _members(node: ast.ClassDef) -> Iterator[str]:
    if any(isinstance(parent, ast.Name) and parent.id == "StrEnum" for parent in node.bases):
        for one in node.body:
            if isinstance(one, ast.Assign) and isinstance(one.value, ast.Constant):
                yield str(one.value.value)


def _string(node: ast.stmt) -> str:
    if isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant):
        return node.value.value if isinstance(node.value.value, str) else ""
    return ""


def _prose(text: str) -> str:
    """A docstring as Markdown: its attributes become a list."""
    lines: list[str] = []
    listing = False
    for line in text.strip().splitlines():
        if line.strip() == "Attributes:":
            listing = True
        elif listing and re.match(r" {4}\S", line):
            names, _, meaning = line.strip().partition(": ")
            lines.append(f"- `{names}`: {meaning}")
        else:
            lines.append(f"  {line.strip()}" if listing and line.strip() else line.strip())
    return "\n".join(lines)


def _table(heads: tuple[str, ...], rows: Sequence[tuple[str, ...]]) -> str:
    lines = ["| " + " | ".join(heads) + " |", "|" + "---|" * len(heads)]
    return "\n".join(lines + ["| " + " | ".join(row) + " |" for row in rows])


def _first_line(text: str | None) -> str:
    return (text or "").strip().splitlines()[0].replace("|", "\\|")


def main() -> None:
    """Rewrite the pages."""
    (DOCS / "glossary.md").write_text(glossary(), encoding="utf-8")
    (DOCS / "settings.md").write_text(settings(), encoding="utf-8")
    for page in (DOCS / name for name in PAGES):
        page.write_text(filled(page.read_text(encoding="utf-8")), encoding="utf-8")


if __name__ == "__main__":
    main()
