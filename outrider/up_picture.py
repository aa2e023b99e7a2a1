"""The picture of the loop that a person sees, as lines of text: pure, no terminal needed."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from rich.text import Text

from outrider.children import ChildEvent

Fields = dict[str, Any]  # JSON of the parts' own events and of the summary

_PHASES = {
    "demonstrate": "the oracle shows the new app, at most four times per template",
    "warm_up": "the learner imitates what it was shown",
    "evaluate_before": "the test split is played before learning",
    "learn": "the fleet learns by itself",
    "settle": "the last adapter is made and judged",
    "evaluate_after": "the same test instances are played again",
    "show": "the phone over ADB plays one test task",
    "finished": "the campaign is finished",
}
_FIGURES = (
    ("test", "before", "before learning"),
    ("test", "after", "after learning"),
    ("test", "lexical", "lexical policy"),
    ("old_apps", "before", "old apps before"),
    ("old_apps", "after", "old apps after"),
)
_MOST_STEPS = 12
_SPACES = 4  # blank lines of a final picture that has room for them
_FIGURE_WIDTH = 49


@dataclass(slots=True)
class Picture:
    """What is known of the loop.

    Attributes:
        env_steps: training steps that the campaign is to collect.
        counts: numbers by the cloud's own names, from its last report.
        logs: episodes that the phones logged, and of these what they know to be stored.
        gates: validation figures per release, in order.
        installed: release that acts, by device; and how many each device has had.
        steps: of the newest episode of the phone over ADB, in words.
    """

    folder: Path
    env_steps: int
    phase: str = ""
    active_s: float = 0.0
    parts: dict[str, str] = field(default_factory=dict)
    counts: Fields = field(default_factory=dict)
    logs: tuple[int, int] = (0, 0)
    gates: list[Fields] = field(default_factory=list)
    installed: dict[str, str] = field(default_factory=dict)
    reached: dict[str, int] = field(default_factory=dict)
    steps: list[str] = field(default_factory=list)
    task: str = ""
    verdict: str = ""
    news: str = ""
    published: int = 0
    summary: Fields | None = None

    def take(self, event: ChildEvent) -> None:
        """Learn from one event."""
        fields = event.fields
        match event.name:
            case "started":
                where = f" port {fields['port']}" if fields.get("port") else ""
                self.parts[event.role] = f"pid {fields.get('pid')}{where}"
            case "phase" | "progress":
                self._take_progress(event.name, fields)
            case "gate":
                self.gates.append(fields)
            case "release":
                self.published += 1
            case "installed":
                self._take_installed(fields)
            case "step":
                self._take_step(fields)
            case "episode" if event.role == "phone":
                self.verdict = "done" if fields.get("score") == 1.0 else "not done"
            case "restarted":
                self.news = f"{event.role} ended and was started again"
            case "ending":
                self.news = "the parts end, the phones first"

    def take_summary(self, summary: Fields | None) -> None:
        """Learn the campaign's figures."""
        if summary is None:
            return
        self.summary = summary
        self.phase = summary["phase"]
        self.active_s = summary["active_s"]
        self.gates = [
            {"release_id": one["release_id"], "promoted": one["state"] == "promoted"}
            | {"validation": one, "env_steps": one["env_steps"]}
            for one in summary["curve"]
        ]
        self.logs = (summary["episodes"]["logged"], summary["episodes"]["acknowledged"])
        self.counts = {**self.counts, "episodes": summary["episodes"]["stored"]}
        self.counts |= {name: summary[name] for name in ("env_steps", "env_errors")}
        self.published = summary["releases"]["published"]
        self.reached = summary["releases"]["reached"]

    def words(self, event: ChildEvent) -> str:
        """One event in words."""
        fields = event.fields
        match event.name:
            case "started":
                return f"{event.role}  {self.parts[event.role]}"
            case "phase":
                return f"{self.phase}: {_PHASES.get(self.phase, '')}"
            case "gate":
                return f"{fields.get('release_id')}  {_outcome(fields)}  {fields.get('reason')}"
            case "installed":
                return f"{fields.get('device_id')} acts with {fields.get('release_id')}"
            case _:
                return self.news

    def progress_text(self) -> str:
        """How far it is, in one line."""
        logged, acknowledged = self.logs
        return (
            f"episodes  logged {logged}  acknowledged {acknowledged}  "
            f"stored {self.counts.get('episodes', 0)}   "
            f"env_steps {self.counts.get('env_steps', 0):,} of {self.env_steps:,}   "
            f"env_errors {self.counts.get('env_errors', 0)}"
        )

    def _take_progress(self, name: str, fields: Fields) -> None:
        self.phase = str(fields.get("phase", self.phase))
        self.active_s = float(fields.get("active_s", self.active_s))
        if name == "progress":
            self.counts = fields
            self.logs = log_counts(self.folder) or self.logs

    def _take_installed(self, fields: Fields) -> None:
        device, release = str(fields.get("device_id")), str(fields.get("release_id"))
        if self.installed.get(device) != release and fields.get("version"):
            self.reached[device] = self.reached.get(device, 0) + 1
        self.installed[device] = release

    def _take_step(self, fields: Fields) -> None:
        if fields.get("index") == 0:
            self.steps, self.verdict = [], ""
            self.task = f"{fields.get('template')} with {fields.get('policy')}"
        self.steps.append(f"{fields.get('index', 0) + 1:>2}  {fields.get('action')}")


def log_counts(folder: Path) -> tuple[int, int] | None:
    """Episodes in the phones' logs, and how many of them are acknowledged; None if unreadable."""
    from cloud_learner.errors import PhoneLogError
    from cloud_learner.phone_logs import find_logs, read_index

    try:
        logs = [read_index(path) for path in find_logs(folder / "phones")]
    except PhoneLogError:
        return None
    return sum(len(log.logged) for log in logs), sum(len(log.acknowledged) for log in logs)


def drawn(picture: Picture, *, width: int, height: int, fancy: bool) -> list[Text]:
    """The picture while the loop runs, at most `height` lines of `width` cells."""
    lines = [
        *_head(picture, width),
        *_progress(picture, width, fancy=fancy),
        *_devices(picture, width),
    ]
    if picture.news:
        lines.append(Text(picture.news, style="yellow"))
    steps = _steps(picture, _MOST_STEPS) if picture.phase == "show" else []
    room = height - len(lines) - len(steps)
    return [*lines, *_curve(picture, width, room, fancy=fancy), *steps][:height]


def final(picture: Picture, *, width: int, height: int, fancy: bool) -> list[Text]:
    """The picture at the end: curve, figures, and the test task step by step."""
    lines = [*_head(picture, width), *_progress(picture, width, fancy=fancy)]
    figures = _figures(picture, width, fancy=fancy)
    room = height - len(lines) - len(figures)
    curve = _curve(picture, width, max(4, min(room // 2, len(picture.gates) + 1)), fancy=fancy)
    spaced = [Text()] if room - len(curve) > _MOST_STEPS + _SPACES else []
    steps = _steps(picture, max(4, room - len(curve) - _SPACES * len(spaced)))
    parts = (lines, curve, figures, steps)
    return [line for part in parts if part for line in (*part, *spaced)]


def _head(picture: Picture, width: int) -> list[Text]:
    minutes, seconds = divmod(int(picture.active_s), 60)
    title = Text("outrider up", style="bold")
    folder, room = str(picture.folder), width - len(title) - 2
    title.append(f"  {folder if len(folder) <= room else '...' + folder[3 - room :]}", style="dim")
    phase = picture.phase or "starting"
    line = Text(f"{minutes:02d}:{seconds:02d}  ", style="dim")
    line.append(phase.replace("_", " "), style="bold cyan")
    line.append(f"  {_PHASES.get(picture.phase, 'the parts start; the base is exported once')}")
    return [title, line]


def _progress(picture: Picture, width: int, *, fancy: bool) -> list[Text]:
    logged, acknowledged = picture.logs
    errors = picture.counts.get("env_errors", 0)
    episodes = Text(
        f"episodes   logged {logged}  acknowledged {acknowledged}  "
        f"stored {picture.counts.get('episodes', 0)}   "
    )
    episodes.append(f"env_errors {errors}", style="red" if errors else "")
    done = picture.counts.get("env_steps", 0)
    share = min(1.0, done / picture.env_steps) if picture.env_steps else 1.0
    cells = min(40, width - _FIGURE_WIDTH + 10)
    full = round(share * cells)
    steps = Text("env steps  ")
    steps.append(("━" if fancy else "#") * full, style="green")
    steps.append(("─" if fancy else ".") * (cells - full), style="dim")
    steps.append(f"  {done:,} of {picture.env_steps:,}")
    return [episodes, steps]


def _devices(picture: Picture, width: int) -> list[Text]:
    promoted = sum(bool(gate.get("promoted")) for gate in picture.gates)
    acting = [
        f"{device} {release} ({picture.reached.get(device, 0)} installed)"
        for device, release in sorted(picture.installed.items())
    ]
    counts = f"releases   published {picture.published}  promoted {promoted}  "
    counts += f"reverted {len(picture.gates) - promoted}"
    lines = [Text(counts), Text(f"phones     {'  '.join(acting) or 'none yet'}")]
    parts = Text("parts      ", style="dim")
    texts = [f"{role} {what}" for role, what in picture.parts.items()]
    per_line = max(1, (width - 11) // 30)
    for start in range(0, len(texts), per_line):
        lines.append(
            parts.copy().append("  ".join(f"{one:<28}" for one in texts[start:][:per_line]))
        )
        parts = Text(" " * 11, style="dim")
    return lines


def _curve(picture: Picture, width: int, room: int, *, fancy: bool) -> list[Text]:
    if room < 2 or not picture.gates:
        return []
    gates = _thinned(picture.gates, room - 1)
    title = Text("validation success per release, with its 95 % interval", style="bold")
    return [title, *(_gate_line(gate, width, fancy=fancy) for gate in gates)]


def _gate_line(gate: Fields, width: int, *, fancy: bool) -> Text:
    promoted = bool(gate.get("promoted"))
    name = f"{gate.get('release_id')} {_outcome(gate)}"
    style = "green" if promoted else "red"
    return _figure_line(name, gate.get("validation"), width, fancy=fancy, style=style)


def _figures(picture: Picture, width: int, *, fancy: bool) -> list[Text]:
    summary = picture.summary
    if summary is None:
        return [Text("no campaign began; start `outrider up` again")]
    app = summary["test"]["app"]
    lines = [Text(f"test split of {app}, which was new, and of the old apps", style="bold")]
    for part, name, title in _FIGURES:
        style = "cyan" if name != "lexical" else "yellow"
        lines.append(_figure_line(title, summary[part][name], width, fancy=fancy, style=style))
    lines.append(_closing(summary))
    return lines


def _closing(summary: Fields) -> Text:
    reached = ", ".join(f"{name} {n}" for name, n in summary["releases"]["reached"].items())
    text = Text(f"installed {reached or 'none'}; learner CPU {summary['learner_cpu_s']:.0f} s; ")
    if summary["valid"]:
        return text.append("figures valid", style="green")
    reasons = list(summary["notes"]) or _reasons(summary)
    return text.append(f"not valid: {'; '.join(reasons)}", style="red")


def _reasons(summary: Fields) -> list[str]:
    reasons = []
    if summary["phase"] != "finished":
        reasons.append(f"stopped in phase {summary['phase']}; start again to go on")
    if summary["episodes"]["lost"]:
        reasons.append(f"{summary['episodes']['lost']} acknowledged episodes are not stored")
    return reasons or ["a figure is missing or has too many env_errors"]


def _figure_line(name: str, figure: Fields | None, width: int, *, fancy: bool, style: str) -> Text:
    """`name`, n, success, interval, and the same as a bar from 0 to 100 %."""
    line = Text(f"{name:<16} ")
    if not figure or figure.get("success") is None:
        return line.append("not played", style="dim")
    success, (low, high) = float(figure["success"]), figure["ci95"]
    line.append(f"n {figure['n']:<4} ")
    line.append(f"{100 * success:>4.0f} % ", style=f"bold {style}")
    line.append(f" [{100 * low:>2.0f}, {100 * high:>3.0f}]  ")
    cells = max(10, min(50, width - len(line.plain) - 1))
    at, first, last = (round(share * (cells - 1)) for share in (success, low, high))
    blank, rule, dot = ("·", "─", "●") if fancy else (".", "-", "o")
    for cell in range(cells):
        inside = first <= cell <= last
        mark = dot if cell == at else rule if inside else blank
        line.append(mark, style=style if inside else "dim")
    return line


def _steps(picture: Picture, room: int) -> list[Text]:
    if not picture.steps or room < 2:
        return []
    title = Text(f"phone over ADB: {picture.task}", style="bold")
    if picture.verdict:
        title.append(f"  {picture.verdict}", style="green" if picture.verdict == "done" else "red")
    return [title, *(Text(line) for line in picture.steps[-(room - 1) :])]


def _thinned(gates: Sequence[Fields], room: int) -> list[Fields]:
    """At most `room` of them, evenly, with the first and the last."""
    if len(gates) <= room:
        return list(gates)
    if room == 1:
        return [gates[-1]]
    return [gates[round(place * (len(gates) - 1) / (room - 1))] for place in range(room)]


def _outcome(gate: Fields) -> str:
    return "promoted" if gate.get("promoted") else "reverted"
