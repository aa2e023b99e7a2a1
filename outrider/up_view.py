"""What `outrider up` shows: events as JSON lines, or a live picture of the loop for a person."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from outrider.children import ChildEvent
from outrider.output import Output

if TYPE_CHECKING:
    from rich.console import RenderableType

_JSON_EVENTS = {"started", "release", "gate", "phase", "restarted", "installed", "step"}
_PHASES = {
    "demonstrate": "the oracle shows the new app, at most four times per template",
    "warm_up": "the learner imitates what it was shown",
    "evaluate_before": "the test split is played before learning",
    "learn": "the fleet learns by itself",
    "settle": "the last adapter is made and judged",
    "evaluate_after": "the same test instances are played again",
    "show": "the phone over ADB plays one test task",
    "finished": "finished",
}


@dataclass(slots=True)
class _Picture:
    """What is known of the loop."""

    phase: str = ""
    parts: dict[str, str] = field(default_factory=dict)
    counts: dict[str, Any] = field(default_factory=dict)  # numbers by the cloud's own names
    gates: list[dict[str, Any]] = field(default_factory=list)
    installed: dict[str, str] = field(default_factory=dict)
    steps: list[str] = field(default_factory=list)
    published: int = 0

    def take(self, event: ChildEvent) -> None:
        fields = event.fields
        match event.name:
            case "started":
                where = f" port {fields['port']}" if fields.get("port") else ""
                self.parts[event.role] = f"pid {fields['pid']}{where}"
            case "phase":
                self.phase = str(fields.get("phase", ""))
            case "progress":
                self.phase = str(fields.get("phase", self.phase))
                self.counts = fields
            case "gate":
                self.gates.append(fields)
            case "release":
                self.published += fields.get("state") == "canary"
            case "installed":
                self.installed[str(fields.get("device_id"))] = str(fields.get("release_id"))
            case "step" if self.phase in {"show", "evaluate_after", "finished"}:
                self.steps.append(f"{fields.get('index')}  {fields.get('action')}")


@contextmanager
def view(out: Output, *, folder: Path) -> Iterator[Callable[[ChildEvent], None]]:
    """A function that shows events while the block runs."""
    if out.json_lines:
        yield lambda event: _as_json(out, event)
        return
    from rich.live import Live

    picture = _Picture()
    with Live(console=out.console, refresh_per_second=4, transient=False) as live:

        def show(event: ChildEvent) -> None:
            picture.take(event)
            live.update(_drawn(picture, folder))

        yield show


def _as_json(out: Output, event: ChildEvent) -> None:
    if event.name in _JSON_EVENTS:
        fields = {key: value for key, value in event.fields.items() if key != "event"}
        out.event(event.name, **{"role": event.role, **fields})


def _drawn(picture: _Picture, folder: Path) -> RenderableType:
    from rich.console import Group
    from rich.table import Table
    from rich.text import Text

    counts = picture.counts
    head = Text(f"outrider up  {folder}\n", style="bold")
    head.append(f"{picture.phase or 'starting'}: {_PHASES.get(picture.phase, '')}", style="cyan")
    facts = Table.grid(padding=(0, 2))
    facts.add_row("episodes stored", str(counts.get("episodes", 0)), "env steps", _number(counts))
    facts.add_row(
        "releases published", str(picture.published), "env_errors", str(counts.get("env_errors", 0))
    )
    for device, release in sorted(picture.installed.items()):
        facts.add_row(f"{device} acts with", release)
    curve = Table(title="validation success per release", title_justify="left", box=None)
    for column in ("release", "n", "success", "95 %", ""):
        curve.add_column(column)
    for gate in picture.gates[-10:]:
        curve.add_row(*_gate_row(gate))
    lines = [Text(line, overflow="ellipsis") for line in picture.steps[-14:]]
    return Group(head, facts, curve, *lines)


def _number(counts: dict[str, Any]) -> str:
    return f"{counts.get('env_steps', 0):,}"


def _gate_row(gate: dict[str, Any]) -> list[str]:
    validation = gate.get("validation") or {}
    low, high = validation.get("ci95") or (0.0, 0.0)
    return [
        str(gate.get("release_id")),
        str(validation.get("n")),
        f"{100 * (validation.get('success') or 0.0):.0f} %",
        f"{100 * low:.0f}-{100 * high:.0f}",
        "promoted" if gate.get("promoted") else "reverted",
    ]
