"""`outrider phone tree`: what a dump or a phone's screen holds, counted and drawn."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path
from textwrap import fill
from typing import TYPE_CHECKING, Annotated

import typer

from outrider.adb_phones import ADB_PORT, listed_client
from outrider.errors import MisuseError
from outrider.options import Json
from outrider.output import Output

if TYPE_CHECKING:
    from device_runtime.ui_facts import DumpFacts
    from device_runtime.ui_tree import Node

COLUMNS = 80
LABEL_CELLS = 48
DEEPEST_INDENT = 16
JOINER = "\u200d"


def show_tree(
    file: Annotated[
        str | None, typer.Argument(metavar="[FILE]", help="A dump; - reads standard input.")
    ] = None,
    *,
    serial: Annotated[
        str | None, typer.Option("--serial", help="Or a phone that the adb server lists.")
    ] = None,
    adb_port: Annotated[
        int, typer.Option("--adb-port", min=1, max=65535, help="Port of the adb server.")
    ] = ADB_PORT,
    json: Json = False,
) -> None:
    """Show the view hierarchy of a dump or of a phone's screen, and the facts of it.

    A dump that an agent must not act on (truncated, hostile, none at all) is a failure, after its
    facts have been printed.
    """
    from device_runtime.ui_facts import facts_of

    if (file is None) == (serial is None):
        raise MisuseError("name one dump (FILE, or - for standard input) or one phone (--serial)")
    data = _file(file) if file is not None else _phone(serial or "", adb_port)
    name = serial or ("standard input" if file == "-" else Path(file or "").name)
    found = facts_of(data)
    out = Output(json_lines=json)
    if json:
        _print_facts(name, len(data), found, out)
    else:
        _print_tree(name, data, found, out)
    if found.refusal is not None:
        raise found.refusal


def _print_facts(name: str, size_bytes: int, found: DumpFacts, out: Output) -> None:
    """The facts as one entry of an index of dumps, then once more as the summary."""
    out.event(
        "dump",
        file=name,
        bytes=size_bytes,
        parse=found.condition,
        notes=found.notes,
        refused=None if found.refusal is None else str(found.refusal),
        facts=found.facts,
    )
    out.summary(file=name, parse=found.condition, **found.facts)


def _file(path: str) -> bytes:
    from device_runtime.ui_document import MAX_DUMP_BYTES

    if path == "-":
        return sys.stdin.buffer.read(MAX_DUMP_BYTES + 1)
    try:
        with Path(path).open("rb") as stream:
            return stream.read(MAX_DUMP_BYTES + 1)
    except (OSError, ValueError) as error:
        reason = error.strerror if isinstance(error, OSError) else "that is no path"
        raise MisuseError(
            f"cannot read {path!r}: {reason}; name the file of a dump, or - for standard input"
        ) from error


def _phone(serial: str, port: int) -> bytes:
    from device_runtime.adb_dump import take_dump

    return take_dump(listed_client(serial, port), serial)


def _print_tree(name: str, data: bytes, found: DumpFacts, out: Output) -> None:
    """The tree of the first document, one node a line, and what is worth counting in it."""
    from rich.cells import set_cell_size

    from device_runtime.ui_tree import parse

    if found.refusal is None:
        hierarchy = parse(data)
        for title, roots in (("", hierarchy.roots), ("Elsewhere:", hierarchy.other_displays)):
            if roots and title:
                out.note(title)
            for depth, node in _nested(roots):
                out.note(set_cell_size(_line(depth, node), COLUMNS).rstrip())
    state = ", ".join((found.condition.replace("_", " "), *found.notes)).replace("_", " ")
    out.note(f"{name}: {state}")
    documents = found.facts.get("documents", [found.facts])
    for facts in documents if isinstance(documents, list) else []:
        told = (f"{key.replace('_', ' ')} {_plain(value)}" for key, value in facts.items() if value)
        out.note(fill(", ".join(told), COLUMNS, initial_indent="  ", subsequent_indent="  "))


def _plain(value: object) -> str:
    if isinstance(value, dict):
        return " ".join(f"{name} {count}" for name, count in value.items())
    return " ".join(map(str, value)) if isinstance(value, (list, tuple)) else str(value)


def _nested(roots: tuple[Node, ...]) -> Iterator[tuple[int, Node]]:
    pending = [(0, node) for node in reversed(roots)]
    while pending:
        depth, node = pending.pop()
        yield depth, node
        pending.extend((depth + 1, child) for child in reversed(node.children))


def _line(depth: int, node: Node) -> str:
    from rich.cells import cell_len, set_cell_size

    indent = " " * min(depth, DEEPEST_INDENT) + (f"{depth}:" if depth > DEEPEST_INDENT else "")
    said = " ".join((node.text or node.description).split())
    label = "".join(letter if letter.isprintable() or letter == JOINER else "?" for letter in said)
    if cell_len(label) > LABEL_CELLS:
        label = set_cell_size(label, LABEL_CELLS - 1) + "…"
    left, top, right, bottom = node.bounds
    words = [
        node.class_name.rpartition(".")[2],
        f"[{left},{top}][{right},{bottom}]",
        f'"{label}"' if label else "",
        *(
            flag
            for flag in ("clickable", "scrollable", "checked", "password")
            if getattr(node, flag)
        ),
        "" if node.enabled else "disabled",
    ]
    return indent + " ".join(word for word in words if word)
