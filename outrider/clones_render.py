"""`outrider clones render`: pictures of all apps in several looks, and a page that shows them."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from outrider.errors import CommandError, MisuseError
from outrider.options import Json
from outrider.output import Output
from outrider.own_apps import AppFile, take_in

if TYPE_CHECKING:
    from apps_mock.contact_sheet import Shot
    from apps_mock.portraits import Portrait

WIDTH_PX = 540
"""Width of the pictures."""

SHEET = "index.html"


def render(
    *,
    app: Annotated[str, typer.Option("--app", help="Only this app (or phone).")] = "",
    out: Annotated[Path, typer.Option("--out", help="Folder for pictures and page.")] = Path(
        "clones-pictures"
    ),
    looks: Annotated[int, typer.Option("--looks", help="In how many looks.")] = 8,
    app_file: AppFile = None,
    json: Json = False,
) -> None:
    """Write pictures of the clones in several looks, and a page that shows them all.

    With an app of one's own and no --app, that app alone.
    """
    from apps_mock.contact_sheet import sheet_html
    from apps_mock.portraits import PORTRAYED, portrait_looks

    own = tuple(dict.fromkeys(template.app for template in take_in(app_file)))
    known = (*PORTRAYED, *own)
    if app and app not in known:
        raise MisuseError(f"no app is called {app!r}; there are {', '.join(known)}")
    if not 1 <= looks <= 200:
        raise MisuseError(f"--looks is {looks}; give a number from 1 to 200")
    _make_folder(out)
    output = Output(json_lines=json)
    names = [app] if app else list(own or PORTRAYED)
    jobs = [(name, look) for name in names for look in portrait_looks(looks)]
    shots: list[Shot] = []
    for portrait, index in _with_progress(jobs):
        shot = _drawn(portrait, index % looks, out)
        shots.append(shot)
        output.line(_line(shot, portrait))
    sheet = out / SHEET
    sheet.write_text(sheet_html(shots), encoding="utf-8")
    output.summary(pictures=len(shots), apps=len(names), looks=looks, out=out, sheet=sheet)


def _make_folder(out: Path) -> None:
    try:
        out.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        reason = error.strerror or error
        raise CommandError(f"{out} cannot hold pictures ({reason}); name another --out") from error


def _with_progress(jobs: list[tuple[str, int]]) -> Iterator[tuple[Portrait, int]]:
    """All portraits with the place of their job, and a bar on stderr meanwhile."""
    from rich.console import Console
    from rich.progress import Progress

    from apps_mock.portraits import portraits

    with Progress(console=Console(stderr=True), transient=True) as progress:
        bar = progress.add_task("drawing", total=len(jobs))
        for index, (name, look) in enumerate(jobs):
            progress.update(bar, description=f"drawing {name}")
            for portrait in portraits(name, look):
                yield portrait, index
            progress.advance(bar)


def _drawn(portrait: Portrait, look_index: int, out: Path) -> Shot:
    """The portrait as a file below `out`."""
    from apps_mock.contact_sheet import Shot
    from apps_mock.render import draw

    look = portrait.look
    folder = out / portrait.app
    folder.mkdir(exist_ok=True)
    darkness = "dark" if look.dark else "light"
    name = f"{look_index:02}-{look.locale}-{darkness}-{portrait.page}.png"
    image = draw(portrait.scene, width_px=WIDTH_PX)
    image.save(folder / name, format="PNG", compress_level=6)
    caption = (
        f"{portrait.page} · {look.locale} · {look.scheme} {darkness} · "
        f"{look.width_px}×{look.height_px} · text {look.font_scale:g}"
    )
    path = f"{portrait.app}/{name}"
    return Shot(portrait.app, path, caption, portrait.title, image.width, image.height)


def _line(shot: Shot, portrait: Portrait) -> dict[str, object]:
    look = portrait.look
    return {
        "event": "picture",
        "app": shot.app,
        "page": portrait.page,
        "locale": look.locale,
        "scheme": look.scheme,
        "dark": look.dark,
        "screen_px": [look.width_px, look.height_px],
        "font_scale": look.font_scale,
        "path": shot.path,
        "width_px": shot.width_px,
        "height_px": shot.height_px,
        "goal": shot.title,
    }
