"""The contact sheet: one page with all portraits, which needs nothing but the files beside it."""

from __future__ import annotations

from collections.abc import Sequence
from html import escape
from itertools import groupby
from typing import NamedTuple


class Shot(NamedTuple):
    """One picture of the sheet.

    Attributes:
        path: of the picture, from the sheet.
        caption: what kind of page in what kind of look.
        title: the goal on whose way it was met.
    """

    app: str
    path: str
    caption: str
    title: str
    width_px: int
    height_px: int


_STYLE = """
:root { color-scheme: light dark; --paper: #f4f4f8; --ink: #1b1b20; --faint: #62636e;
  --card: #ffffff; --line: #dedee6; --accent: #1f5fbf; }
@media (prefers-color-scheme: dark) { :root { --paper: #131418; --ink: #e7e5eb; --faint: #a5a3ad;
  --card: #1d1e23; --line: #34353c; --accent: #aac7ff; } }
* { box-sizing: border-box; }
html { scroll-padding-top: 4rem; }
body { margin: 0; background: var(--paper); color: var(--ink);
  font: 16px/1.45 system-ui, sans-serif; }
header { padding: 2rem clamp(1rem, 4vw, 3rem) 1rem; }
h1 { margin: 0; font-size: clamp(1.5rem, 4vw, 2.2rem); letter-spacing: -0.01em; }
header p { margin: 0.3rem 0 0; color: var(--faint); }
nav { position: sticky; top: 0; z-index: 1; display: flex; gap: 0.4rem; overflow-x: auto;
  padding: 0.6rem clamp(1rem, 4vw, 3rem); background: var(--paper);
  border-bottom: 1px solid var(--line); }
nav a { padding: 0.25rem 0.8rem; border: 1px solid var(--line); border-radius: 99px;
  background: var(--card); color: inherit; text-decoration: none; white-space: nowrap; }
nav a:hover, nav a:focus-visible { border-color: var(--accent); color: var(--accent); }
section { padding: 1.2rem clamp(1rem, 4vw, 3rem); }
h2 { margin: 0 0 0.8rem; font-size: 1.25rem; text-transform: capitalize; }
h2 small { color: var(--faint); font-weight: 400; text-transform: none; }
.shots { display: grid; gap: 1.2rem 1rem; align-items: start;
  grid-template-columns: repeat(auto-fill, minmax(min(44%, 190px), 1fr)); }
figure { margin: 0; min-width: 0; }
figure a { display: block; overflow: hidden; border: 1px solid var(--line); border-radius: 16px;
  background: var(--card); box-shadow: 0 2px 10px rgb(0 0 0 / 8%); }
figure a:hover, figure a:focus-visible { border-color: var(--accent); }
img { display: block; width: 100%; height: auto; }
figcaption { padding: 0.4rem 0.2rem 0; font-size: 0.82rem; overflow-wrap: anywhere; }
figcaption span { display: block; color: var(--faint); }
"""


def sheet_html(shots: Sequence[Shot], *, title: str = "Clones") -> str:
    """The page, with a section for each app in the order of the shots."""
    by_app = [(app, list(group)) for app, group in groupby(shots, key=lambda shot: shot.app)]
    links = "".join(f'<a href="#{escape(app)}">{escape(app.capitalize())}</a>' for app, _ in by_app)
    sections = "".join(_section(app, group) for app, group in by_app)
    return (
        '<!doctype html>\n<html lang="en">\n<head>\n<meta charset="utf-8">\n'
        '<meta name="viewport" content="width=device-width, initial-scale=1">\n'
        f"<title>{escape(title)}</title>\n<style>{_STYLE}</style>\n</head>\n<body>\n"
        f"<header><h1>{escape(title)}</h1>"
        f"<p>{len(by_app)} apps, {len(shots)} screens</p></header>\n"
        f"<nav>{links}</nav>\n<main>\n{sections}</main>\n</body>\n</html>\n"
    )


def _section(app: str, shots: Sequence[Shot]) -> str:
    figures = "".join(_figure(shot) for shot in shots)
    return (
        f'<section id="{escape(app)}"><h2>{escape(app)} <small>{len(shots)} screens</small></h2>\n'
        f'<div class="shots">\n{figures}</div></section>\n'
    )


def _figure(shot: Shot) -> str:
    path, caption = escape(shot.path, quote=True), escape(shot.caption, quote=True)
    goal = f'<span dir="auto">{escape(shot.title)}</span>' if shot.title else ""
    return (
        f'<figure><a href="{path}"><img src="{path}" alt="{escape(shot.app)}: {caption}" '
        f'width="{shot.width_px}" height="{shot.height_px}" loading="lazy"></a>'
        f"<figcaption>{caption}{goal}</figcaption></figure>\n"
    )
