"""Ways through the browser's web that several tasks take."""

from __future__ import annotations

from apps_mock.apps.browser_web import Document
from apps_mock.apps.files import DOWNLOAD
from apps_mock.plans import Entry, Fill, Plan, Press
from apps_mock.wanted import Change
from apps_mock.widgets import Event

VISITS = (("browser", "history"),)
"""What browsing leaves behind, which no task is about."""


def search(query: str) -> Plan:
    """The way to what a search finds."""
    return {("home", ""): Fill((Entry("address", query),), Event("search"))}


def search_page(query: str, path: str) -> Plan:
    """The way to a page by a search that finds it."""
    plan = search(query)
    plan["results", query] = Press(Event("visit", path))
    return plan


def from_site(path: str) -> Plan:
    """The way to a page through its site, which the start page shows."""
    site = path.partition("/")[0]
    plan: Plan = {("home", ""): Press(Event("visit", site))}
    if path != site:
        plan["web", site] = Press(Event("visit", path))
    return plan


def downloading(paper: Document) -> tuple[Plan, Change]:
    """The way to download a paper, and what that changes in the browser."""
    plan = from_site("papers")
    plan["web", "papers"] = Press(Event("download", paper.id))
    return plan, Change("downloads", None, (("name", paper.name),), app="browser")


def saved(paper: Document, name: str, now: str) -> Change:
    """The file that a download leaves in the files app, under a name."""
    values = {
        "folder": DOWNLOAD,
        "name": name,
        "kind": "PDF",
        "size_kb": paper.size_kb,
        "day": now[:10],
    }
    return Change("files", None, tuple(values.items()), app="files")
