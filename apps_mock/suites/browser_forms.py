"""Tasks on pages of the browser's web that take something in: log-in, replies, forms, files."""

from __future__ import annotations

from dataclasses import replace

from apps_mock.apps import files
from apps_mock.apps.browser import GUESTS, BrowserData, fixture
from apps_mock.apps.browser_web import title_of
from apps_mock.catalogue import Term
from apps_mock.entities import ALARM_LABELS, Draw
from apps_mock.plans import Entry, Fill, Plan, Stage
from apps_mock.records import changed
from apps_mock.suites.browser_paths import VISITS, downloading, from_site, saved
from apps_mock.suites.notes_plans import moment
from apps_mock.templates import Instance, Template
from apps_mock.wanted import Change
from apps_mock.widgets import Event


def _logging_in(data: BrowserData) -> tuple[Plan, Change]:
    """The way to log in at the forum, and what it changes."""
    account = data.accounts[0]
    plan = from_site("forum")
    plan["web", "forum"] = Fill(
        (Entry("user", account.user), Entry("password", account.password)), Event("log_in")
    )
    return plan, Change("accounts", account.id, (("signed_in", True),))


def _log_in(draw: Draw) -> Instance:
    data = fixture(draw)
    account = data.accounts[0]
    plan, change = _logging_in(data)
    words = {
        "site": title_of(data, "forum"),
        "user": account.user,
        "password": account.password,
    }
    return Instance(words, data, plan, (change,), free=VISITS)


def _reply(draw: Draw) -> Instance:
    """The owner is signed in already."""
    data = fixture(draw)
    account = data.accounts[0]
    data = replace(data, accounts=changed(data.accounts, account.id, signed_in=True))
    thread, text = draw.random.choice(data.threads), draw.of(ALARM_LABELS, pseudo=True)
    path = f"forum/{thread.id}"
    plan = from_site(path)
    plan["web", path] = Fill((Entry("reply", text),), Event("reply", thread.id))
    values = (("thread", thread.id), ("author", account.user), ("text", text))
    words = {"site": title_of(data, "forum"), "subject": thread.subject, "text": text}
    return Instance(words, data, plan, (Change("posts", None, values),), free=VISITS)


def _log_in_and_reply(draw: Draw) -> Instance:
    data = fixture(draw)
    account = data.accounts[0]
    thread, text = draw.random.choice(data.threads), draw.of(ALARM_LABELS, pseudo=True)
    path = f"forum/{thread.id}"
    first, signed_in = _logging_in(data)
    plan = from_site(path)
    plan["web", path] = Fill((Entry("reply", text),), Event("reply", thread.id))
    values = (("thread", thread.id), ("author", account.user), ("text", text))
    words = {
        "user": account.user,
        "password": account.password,
        "subject": thread.subject,
        "text": text,
        "site": title_of(data, "forum"),
    }
    return Instance(
        words,
        data,
        plan,
        (signed_in, Change("posts", None, values)),
        free=VISITS,
        stages=(Stage("browser", first, changes=(signed_in,)),),
    )


def _reserve(draw: Draw) -> Instance:
    data = fixture(draw)
    name, time, month = draw.name(), draw.time(), draw.random.randrange(1, 13)
    today = draw.random.randrange(1, 15)
    day = f"2025-{month:02}-{draw.random.randrange(today + 1, 29):02}"
    guests = draw.random.choice([number for number in GUESTS if number != "2"])
    plan = from_site("table")
    plan["web", "table"] = Fill(
        (
            Entry("name", name),
            Entry("day", day, picker="date"),
            Entry("time", time, picker="time"),
            Entry("guests", guests, default="2", picker="choice"),
        ),
        Event("reserve"),
    )
    values = (("name", name), ("day", day), ("time", time), ("guests", guests))
    words: dict[str, str | Term] = {
        "site": title_of(data, "table"),
        "name": name,
        "day": Term(day, "day"),
        "time": time,
        "guests": guests,
    }
    change = Change("reservations", None, values)
    now = f"2025-{month:02}-{today:02}T10:15"
    return Instance(words, data, plan, (change,), free=VISITS, now=now)


def _download(draw: Draw) -> Instance:
    data = fixture(draw)
    paper = draw.random.choice(data.documents)
    plan, change = downloading(paper)
    now = moment(draw)
    return Instance(
        words={"name": paper.name, "site": title_of(data, "papers")},
        data=data,
        plan=plan,
        changes=(change, saved(paper, paper.name, now)),
        free=VISITS,
        others={"files": files.fixture_of(draw, 5)},
        now=now,
    )


FORM_TEMPLATES = (
    Template(
        name="browser_log_in",
        app="browser",
        oracle_steps=12,
        phrasings=(
            "Log in to the forum {site} in the browser as {user} with the password {password}",
            "Sign in at {site} on the web as {user} whose password is {password}",
        ),
        set_up=_log_in,
        tags=("scrolls",),
        held_out=("Enter {site} on the web with the name {user} and the password {password}",),
    ),
    Template(
        name="browser_reply",
        app="browser",
        oracle_steps=10,
        phrasings=(
            "Reply {text} to the talk about {subject} in the web forum {site}",
            "In the forum {site} on the web write {text} in the talk about {subject}",
        ),
        set_up=_reply,
        tags=("scrolls",),
        held_out=("Tell those who talk about {subject} on {site} my opinion {text}",),
    ),
    Template(
        name="browser_log_in_reply",
        app="browser",
        oracle_steps=18,
        phrasings=(
            (
                "Log in to {site} as {user} with {password} and reply {text} to the talk about "
                "{subject}"
            ),
            "Sign in at {site} as {user} with {password} and write {text} in {subject}",
        ),
        set_up=_log_in_and_reply,
        tags=("scrolls",),
        held_out=("As {user} with {password} say {text} about {subject} on the forum {site}",),
    ),
    Template(
        name="browser_reserve",
        app="browser",
        oracle_steps=18,
        phrasings=(
            "Reserve a table at {site} for {name} on {day} at {time} for {guests} guests",
            "On the web site {site} book a table for {guests} guests on {day} at {time} for {name}",
        ),
        set_up=_reserve,
        tags=("scrolls",),
        held_out=("{name} wants to eat with {guests} guests at {site} on {day} at {time}",),
    ),
    Template(
        name="browser_download",
        app="browser",
        oracle_steps=7,
        phrasings=(
            "Download {name} from the web site {site}",
            "Get the file {name} from {site} in the browser",
        ),
        set_up=_download,
        tags=("scrolls",),
        held_out=("I need {name} which {site} offers on the web",),
    ),
)
