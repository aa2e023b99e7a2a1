"""What `outrider up` shows: JSON lines, lines of text, or a live picture of the loop."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Protocol

from outrider.children import ChildEvent
from outrider.output import Output
from outrider.up_picture import Picture, drawn, final

if TYPE_CHECKING:
    from rich.console import Console
    from rich.live import Live

_JSON_EVENTS = {
    "preparing",
    "started",
    "release",
    "gate",
    "phase",
    "restarted",
    "installed",
    "step",
}
_TEXT_EVENTS = {"started", "gate", "phase", "restarted", "installed"}
_PLAIN_PROGRESS = 10  # reports of progress for one line of text
Summary = dict[str, object]


class View(Protocol):
    """Somewhere to show what happens in the loop."""

    def show(self, event: ChildEvent) -> None:
        """One event of a part."""
        ...

    def finish(self, summary: Summary | None) -> None:
        """What came of it; None where no campaign began."""
        ...


@contextmanager
def view(out: Output, *, folder: Path, env_steps: int) -> Iterator[View]:
    """Shows events while the block runs: for a program, for a file, or for a person's terminal."""
    if out.json_lines:
        yield _JsonView(out)
        return
    from rich.console import Console

    picture = Picture(folder=folder, env_steps=env_steps)
    console = Console(file=out.console.file, highlight=False)
    if not console.is_terminal:
        yield _TextView(console, picture)
        return
    from rich.live import Live

    with Live(console=console, auto_refresh=False, redirect_stdout=False) as live:
        yield _LiveView(live, picture)


class _JsonView:
    def __init__(self, out: Output) -> None:
        self._out = out

    def show(self, event: ChildEvent) -> None:
        if event.name in _JSON_EVENTS:
            fields = {key: value for key, value in event.fields.items() if key != "event"}
            self._out.event(event.name, **{"role": event.role, **fields})

    def finish(self, summary: Summary | None) -> None:
        if summary is not None:
            self._out.summary(**summary)


class _TextView:
    """One line per event that matters, and the final picture; no control codes."""

    def __init__(self, console: Console, picture: Picture) -> None:
        self._console = console
        self._picture = picture
        self._reports = 0

    def show(self, event: ChildEvent) -> None:
        self._picture.take(event)
        if event.name == "progress":
            self._reports += 1
            if self._reports % _PLAIN_PROGRESS == 1:
                self._print(self._picture.progress_text())
        elif event.name in _TEXT_EVENTS:
            self._print(f"{event.name}  {self._picture.words(event)}")
        elif event.name == "step" and self._picture.phase == "show":
            self._print(f"step  {self._picture.steps[-1]}")

    def finish(self, summary: Summary | None) -> None:
        self._picture.take_summary(summary)
        for line in final(self._picture, width=100, height=40, fancy=False):
            self._print(line.plain)

    def _print(self, text: str) -> None:
        self._console.file.write(f"{text.rstrip()}\n")
        self._console.file.flush()


class _LiveView:
    """The picture, drawn anew with every event; the final one stays on the screen."""

    def __init__(self, live: Live, picture: Picture) -> None:
        self._live = live
        self._picture = picture

    def show(self, event: ChildEvent) -> None:
        self._picture.take(event)
        self._draw(ended=False)

    def finish(self, summary: Summary | None) -> None:
        self._picture.take_summary(summary)
        self._draw(ended=True)

    def _draw(self, *, ended: bool) -> None:
        from rich.text import Text

        console = self._live.console
        make = final if ended else drawn
        lines = make(
            self._picture,
            width=console.width,
            height=console.height - 1,
            fancy=console.encoding.lower().startswith("utf"),
        )
        whole = Text("\n", no_wrap=True, overflow="ellipsis").join(lines)
        self._live.update(whole, refresh=True)
