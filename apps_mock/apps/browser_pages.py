"""The pages of the browser's web, as their sites show them."""

from __future__ import annotations

from collections.abc import Callable

from apps_mock.app import Page
from apps_mock.apps.browser import GUESTS, BrowserData, user_of
from apps_mock.apps.browser_web import (
    REMARKS,
    headline_of,
    paragraphs_of,
    stations_of,
    title_of,
)
from apps_mock.look import Look, wording
from apps_mock.mixing import mixed
from apps_mock.records import find
from apps_mock.widgets import (
    Button,
    Card,
    Event,
    Field,
    Image,
    Link,
    Option,
    Picker,
    Row,
    Text,
    Widget,
)

LOG_IN = wording("Log in", "Sign in", held_out=("Enter the forum",))
LOG_OUT = wording("Log out", "Sign out", held_out=("Leave the forum",))
REPLY = wording("Send reply", "Post reply", held_out=("Answer",))
RESERVE = wording("Reserve", "Reserve a table", held_out=("Book this table",))
DOWNLOAD = wording("Download file", "Get file", held_out=("Fetch",))


def body_of(data: BrowserData, page: Page, look: Look) -> list[Widget]:
    """What a page of the web says."""
    site, _, part = page.argument.partition("/")
    show = _SHOWN.get(site)
    return show(data, page, part, look) if show is not None else [_gone(look)]


def _gone(look: Look) -> Widget:
    return Text(look.say("This page does not exist"))


def link_to(data: BrowserData, path: str, look: Look) -> Link:
    """A link to a page of the web."""
    return Link(title_of(data, path, look.say), Event("visit", path))


def _weather(data: BrowserData, _page: Page, part: str, look: Look) -> list[Widget]:
    if not part:
        links = look.ordered(data.forecasts, lambda each: each.id)
        return [
            Image("Weather", look.say("Weather")),
            Text(look.say("Choose a city"), heading=True),
            *(link_to(data, f"weather/{each.id}", look) for each in links),
        ]
    shown = find(data.forecasts, part)
    if shown is None:
        return [_gone(look)]
    lines = (
        ("Highest", f"{shown.high} °C"),
        ("Lowest", f"{shown.low} °C"),
        ("Chance of rain", f"{shown.rain} %"),
    )
    others = [each for each in data.forecasts if each.id != part][:2]
    return [
        Image("Weather", look.say("Weather")),
        Text(look.say("Temperature now"), heading=True),
        Text(f"{shown.now} °C", copyable=True),
        *(Row(look.say(label), text) for label, text in lines),
        Text(look.say("More cities"), heading=True),
        *(link_to(data, f"weather/{each.id}", look) for each in others),
    ]


def _news(data: BrowserData, _page: Page, part: str, look: Look) -> list[Widget]:
    if not part:
        return [
            Card(
                headline_of(each, look.say),
                (look.say(_opening(each.id)),),
                on_tap=Event("visit", f"news/{each.id}"),
                image="News",
            )
            for each in look.ordered(data.articles, lambda each: each.id)
        ]
    shown = find(data.articles, part)
    if shown is None:
        return [_gone(look)]
    others = [each for each in data.articles if each.id != part][:2]
    return [
        Text(headline_of(shown, look.say), heading=True),
        Image("News", look.say("Latest news")),
        *(Text(text, copyable=True) for text in paragraphs_of(shown, look.say)),
        Text(look.say("Read more"), heading=True),
        *(link_to(data, f"news/{each.id}", look) for each in others),
    ]


def _opening(article_id: str) -> str:
    return ("Read the whole story", "What is known so far")[mixed(article_id) % 2]


def _recipes(data: BrowserData, _page: Page, part: str, look: Look) -> list[Widget]:
    if not part:
        return [
            Card(
                each.dish,
                (look.say("{minutes} minutes").format(minutes=each.minutes),),
                on_tap=Event("visit", f"recipes/{each.id}"),
                image="Recipe",
            )
            for each in look.ordered(data.recipes, lambda each: each.id)
        ]
    shown = find(data.recipes, part)
    if shown is None:
        return [_gone(look)]
    minutes = look.say("{minutes} minutes").format(minutes=shown.minutes)
    return [
        Image("Recipe", shown.dish),
        Row(look.say("Time to cook"), minutes),
        Row(look.say("Servings"), str(shown.servings)),
        Text(look.say("Ingredients"), heading=True),
        Text(", ".join(shown.ingredients), copyable=True),
        Text(look.say("Preparation"), heading=True),
        Text(look.say("Wash and cut everything into small pieces")),
        Text(look.say("Heat it slowly and stir now and then")),
        Text(look.say("Serve it while it is warm")),
    ]


def _trains(data: BrowserData, _page: Page, part: str, look: Look) -> list[Widget]:
    if not part:
        return [
            Text(look.say("Choose a station"), heading=True),
            *(link_to(data, f"trains/{each}", look) for each in stations_of(data.departures)),
        ]
    train = find(data.departures, part)
    if train is not None:
        return [
            Text(look.say("Leaves at"), heading=True),
            Text(train.time, copyable=True),
            Row(look.say("Platform {number}").format(number=train.platform)),
            link_to(data, f"trains/{train.station}", look),
        ]
    own = sorted(
        (each for each in data.departures if each.station == part), key=lambda each: each.time
    )
    platform = look.say("Platform {number}")
    return [
        Text(look.say("Departures"), heading=True),
        *(
            Row(
                each.time,
                each.destination,
                badge=platform.format(number=each.platform),
                on_tap=Event("visit", f"trains/{each.id}"),
            )
            for each in own
        ),
    ]


def _forum(data: BrowserData, page: Page, part: str, look: Look) -> list[Widget]:
    user = user_of(data)
    if part:
        return _thread(data, page, part, look)
    if not user:
        return [
            Text(look.say("Only members can write here"), heading=True),
            Field("user", look.say("User name"), page.draft("user")),
            Field("password", look.say("Password"), page.draft("password"), password=True),
            Button(look.word(LOG_IN), Event("log_in"), primary=True),
            *_threads(data, look),
        ]
    return [
        Text(look.say("Welcome {name}").format(name=user), heading=True),
        *_threads(data, look),
        Button(look.word(LOG_OUT), Event("log_out")),
    ]


def _threads(data: BrowserData, look: Look) -> list[Widget]:
    ordered = look.ordered(data.threads, lambda each: each.id)
    return [
        Row(
            title_of(data, f"forum/{each.id}", look.say),
            each.author,
            on_tap=Event("visit", f"forum/{each.id}"),
        )
        for each in ordered
    ]


def _thread(data: BrowserData, page: Page, part: str, look: Look) -> list[Widget]:
    own = [post for post in data.posts if post.thread == part]
    body: list[Widget] = [
        Row(post.author, post.text or look.say(REMARKS[mixed(post.id) % len(REMARKS)]))
        for post in own
    ]
    if not user_of(data):
        return [*body, Link(look.word(LOG_IN), Event("visit", "forum"))]
    return [
        *body,
        Field("reply", look.say("Your reply"), page.draft("reply"), lines=2),
        Button(look.word(REPLY), Event("reply", part), primary=True),
    ]


def _table(data: BrowserData, page: Page, _part: str, look: Look) -> list[Widget]:
    text = look.say("Guests: {count}")
    guests = tuple(Option(number, text.format(count=number)) for number in GUESTS)
    rows = [
        Row(each.name, f"{look.day(each.day)}, {each.time}, {each.guests}")
        for each in data.reservations
    ]
    return [
        Image("Restaurant", look.say("Restaurant")),
        Text(look.say("Reserve a table"), heading=True),
        Field("name", look.say("Your name"), page.draft("name")),
        Picker("day", look.say("Day"), page.draft("day"), kind="date"),
        Picker("time", look.say("Time"), page.draft("time"), kind="time"),
        Picker("guests", look.say("Guests"), page.draft("guests", "2"), options=guests),
        Button(look.word(RESERVE), Event("reserve"), primary=True),
        *rows,
        Text(look.say("Our kitchen is open until ten in the evening")),
    ]


def _papers(data: BrowserData, _page: Page, _part: str, look: Look) -> list[Widget]:
    body: list[Widget] = [Text(look.say("Forms of the town hall"), heading=True)]
    for paper in look.ordered(data.documents, lambda each: each.id):
        label = f"{look.word(DOWNLOAD)} {paper.name}"
        body += [
            Text(f"{paper.name} ({paper.size_kb} kB)"),
            Button(label, Event("download", paper.id)),
        ]
    return body


_SHOWN: dict[str, Callable[[BrowserData, Page, str, Look], list[Widget]]] = {
    "weather": _weather,
    "news": _news,
    "recipes": _recipes,
    "trains": _trains,
    "forum": _forum,
    "table": _table,
    "papers": _papers,
}
