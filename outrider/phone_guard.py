"""`outrider phone guard …`: the rules of an owned phone, shown, checked and explained."""

from __future__ import annotations

from collections import Counter
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from outrider.adb_phones import ADB_PORT
from outrider.errors import MisuseError
from outrider.options import Json
from outrider.output import Output

if TYPE_CHECKING:
    from device_runtime.guard import Ruling
    from device_runtime.guard_rules import GuardRules
    from sync.vocabulary import Action, Observation

ACTION_HELP = (
    "What would be done: tap:X,Y, tap:#INDEX, type:TEXT, key:enter, open_app:NAME, or JSON such as "
    '{"kind": "tap", "x": 540, "y": 300}. Numbers up to 1 are shares of the screen, others pixels.'
)

Rules = Annotated[
    Path | None, typer.Option("--rules", help="A guard.toml; the shipped rules if not set.")
]


def show_rules(*, json: Json = False) -> None:
    """Print the rules that an owned phone starts with, as TOML to copy from."""
    from device_runtime.guard_rules import owned_rules, owned_text

    out = Output(json_lines=json)
    rules = owned_rules()
    if json:
        out.event("rules", name="owned", toml=owned_text())
    else:
        typer.echo(owned_text(), nl=False)
        return
    out.summary(**_counts(rules))


def check_rules(
    file: Annotated[Path, typer.Argument(metavar="FILE", help="A guard.toml of your own.")],
    *,
    json: Json = False,
) -> None:
    """Check a file of rules; an error names the key and what to write instead."""
    Output(json_lines=json).summary(file=file, valid=True, **_counts(rules_of(file)))


def explain(
    *,
    action: Annotated[str, typer.Option("--action", help=ACTION_HELP)],
    screen: Annotated[
        Path | None, typer.Option("--screen", help="A dump of the screen (uiautomator's XML).")
    ] = None,
    serial: Annotated[
        str | None, typer.Option("--serial", help="Or a phone that the adb server lists.")
    ] = None,
    adb_port: Annotated[
        int, typer.Option("--adb-port", min=1, max=65535, help="Port of the adb server.")
    ] = ADB_PORT,
    rules: Rules = None,
    package: Annotated[
        str | None, typer.Option("--package", help="The app in front, where a dump is not enough.")
    ] = None,
    activity: Annotated[
        str, typer.Option("--activity", help="Its activity, which no dump tells.")
    ] = "",
    secure: Annotated[
        bool, typer.Option("--secure", help="The window forbids to be captured.")
    ] = False,
    json: Json = False,
) -> None:
    """Say what the guard would do about an action on a screen, and which rule makes it so.

    Nothing is touched. On a phone the conditions (battery, heat, …) are looked at, too.
    """
    from device_runtime import guard
    from device_runtime.actions_as_text import read_action
    from device_runtime.conditions import unmet
    from device_runtime.redaction import OWNED_REDACTION, redact

    if (screen is None) == (serial is None):
        raise MisuseError("name one screen: --screen DUMP.xml, or --serial of a phone")
    out = Output(json_lines=json)
    chosen = rules_of(rules)
    missing = None
    if screen is not None:
        seen = _observation(screen, package=package, activity=activity, secure=secure)
    else:
        seen, conditions = _looked(serial or "", adb_port)
        missing = unmet(conditions, chosen.conditions)
    seen = redact(seen, OWNED_REDACTION).observation
    try:
        wanted = read_action(action, seen)
    except ValueError as error:
        raise MisuseError(f"--action {action!r}: {error}") from error
    ruling: Ruling = guard.decide(wanted, seen, chosen)
    if missing is not None:
        ruling = guard.Denied(missing, f"guard.conditions.{missing.partition(':')[0]}")
    out.summary(action=action, **_told(ruling, wanted, seen))


def rules_of(file: Path | None) -> GuardRules:
    """The rules in a file, or the shipped ones.

    Raises: MisuseError: the file holds something that is no rule.
    """
    from device_runtime.errors import SettingsError
    from device_runtime.guard_rules import owned_rules, read_rules

    try:
        return owned_rules() if file is None else read_rules(file)
    except SettingsError as error:
        raise MisuseError(str(error)) from error


def _counts(rules: GuardRules) -> dict[str, object]:
    return {
        "allowed_packages": len(rules.allowed_packages),
        "forbidden_packages": len(rules.forbidden_packages),
        "screens": [one.name for one in rules.screens],
        "consequential": [one.name for one in rules.consequences],
        "actions_a_minute": rules.actions_a_minute,
    }


def _observation(file: Path, *, package: str | None, activity: str, secure: bool) -> Observation:
    """What a driver would see of the dump in `file`."""
    from device_runtime.errors import HierarchyError
    from device_runtime.ui_tree import elements_of, parse
    from sync.vocabulary import Observation, ScreenMark

    try:
        hierarchy = parse(file.read_bytes())
    except (OSError, HierarchyError) as error:
        raise MisuseError(f"{file} is no screen: {error}") from error
    width = max((root.bounds[2] for root in hierarchy.roots), default=0)
    height = max((root.bounds[3] for root in hierarchy.roots), default=0)
    if width <= 0 or height <= 0:
        raise MisuseError(f"{file} holds no screen: its windows have no size; take a new dump")
    elements = elements_of(hierarchy.roots, width, height)
    owners = Counter(one.package for one in elements if one.package)
    return Observation(
        width,
        height,
        elements,
        rotation=hierarchy.rotation,
        package=package if package is not None else next(iter(dict(owners.most_common(1))), ""),
        activity=activity,
        marks=(ScreenMark.SECURE,) if secure else (),
    )


def _looked(serial: str, port: int) -> tuple[Observation, Any]:  # Any: Conditions, loaded late
    from device_runtime.adb import AdbClient
    from device_runtime.adb_shell import AdbShell
    from outrider.adb_phones import adb_phone
    from outrider.owned_phone import conditions_of

    seen = adb_phone(serial, port).observe()
    return seen, conditions_of(AdbShell(AdbClient(port), serial))


def _told(ruling: Ruling, action: Action, seen: Observation) -> dict[str, object]:
    from device_runtime import guard

    match ruling:
        case guard.Denied(reason=reason):
            word = "deny"
        case guard.AskOwner(question=reason):
            word = "ask"
        case _:
            return {
                "ruling": "allow",
                "kind": action.kind,
                "reason": "no rule speaks against it",
                "rule": None,
                "element": None,
            }
    index = ruling.element
    return {
        "ruling": word,
        "kind": action.kind,
        "reason": reason,
        "rule": ruling.rule,
        "element": None if index is None else _element(index, seen),
    }


def _element(index: int, seen: Observation) -> dict[str, object]:
    one = seen.elements[index]
    return {
        "index": index,
        "class": one.class_name,
        "text": one.text,
        "description": one.description,
        "resource_id": one.resource_id,
        "bounds": list(one.bounds),
    }
