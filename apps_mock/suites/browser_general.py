"""The general suite: looking things up in the browser, and opening what is asked for."""

from __future__ import annotations

from apps_mock.apps.browser import BrowserData, fixture
from apps_mock.apps.browser_view import texts_of
from apps_mock.apps.browser_web import count_of, title_of
from apps_mock.entities import Draw
from apps_mock.plans import Entry, Fill, GiveAnswer, GiveUp, Plan, Press
from apps_mock.suites.browser_paths import VISITS, from_site, search, search_page
from apps_mock.templates import Instance, Template
from apps_mock.wanted import Answer, PageGoal
from apps_mock.widgets import Event


def _weather(draw: Draw) -> Instance:
    data = fixture(draw)
    shown = draw.random.choice(data.forecasts)
    plan = search_page(shown.city, f"weather/{shown.id}")
    plan["web", f"weather/{shown.id}"] = GiveAnswer()
    answer = Answer("number", str(shown.now), shown=f"{shown.now} °C")
    return Instance({"city": shown.city}, data, plan, answer=answer, free=VISITS)


def _rain(draw: Draw) -> Instance:
    data = fixture(draw)
    shown = draw.random.choice(data.forecasts)
    plan = from_site(f"weather/{shown.id}")
    plan["web", f"weather/{shown.id}"] = GiveAnswer()
    answer = Answer("number", str(shown.rain), shown=f"{shown.rain} %")
    return Instance({"city": shown.city}, data, plan, answer=answer, free=VISITS)


def _show_weather(draw: Draw) -> Instance:
    data = fixture(draw)
    shown = draw.random.choice(data.forecasts)
    path = f"weather/{shown.id}"
    plan = search_page(shown.city, path)
    return Instance({"city": shown.city}, data, plan, page=PageGoal("web", path), free=VISITS)


def _private(draw: Draw) -> Instance:
    return Instance({}, fixture(draw), _to_private(), page=PageGoal("private"))


def _to_private() -> Plan:
    return {("home", ""): Press(Event("go", "private"))}


def _private_search(draw: Draw) -> Instance:
    data, query = fixture(draw), draw.city()
    plan = _to_private()
    plan["private", ""] = Fill((Entry("address", query),), Event("search"))
    return Instance({"query": query}, data, plan, page=PageGoal("private_results", query))


def _search(draw: Draw) -> Instance:
    data = fixture(draw)
    query = draw.random.choice([*(each.city for each in data.forecasts), draw.city()])
    return Instance({"query": query}, data, search(query), page=PageGoal("results", query))


def _site(draw: Draw) -> Instance:
    data = fixture(draw)
    site = draw.random.choice(data.sites)
    plan = from_site(site.id)
    return Instance({"site": site.name}, data, plan, page=PageGoal("web", site.id), free=VISITS)


def _article(draw: Draw) -> Instance:
    data = fixture(draw)
    shown = draw.random.choice(data.articles)
    path = f"news/{shown.id}"
    words = {"person": shown.person, "site": _name(data, "news")}
    return Instance(words, data, from_site(path), page=PageGoal("web", path), free=VISITS)


def _name(data: BrowserData, site: str) -> str:
    return title_of(data, site)


def _train(draw: Draw) -> Instance:
    data = fixture(draw)
    train = draw.random.choice(data.departures)
    path = f"trains/{train.station}"
    plan = from_site(path)
    plan["web", path] = GiveAnswer()
    own = [each for each in data.departures if each.station == train.station]
    first = min(each.time for each in own if each.destination == train.destination)
    words = {"station": train.station, "destination": train.destination}
    return Instance(words, data, plan, answer=Answer("time", first), free=VISITS)


def _ingredients(draw: Draw) -> Instance:
    data = fixture(draw)
    recipe = draw.random.choice(data.recipes)
    path = f"recipes/{recipe.id}"
    plan = search_page(recipe.dish, path)
    plan["web", path] = GiveAnswer()
    names = recipe.ingredients
    answer = Answer("list", "\n".join(names), shown=", ".join(names))
    return Instance({"dish": recipe.dish}, data, plan, answer=answer, free=VISITS)


def _minutes(draw: Draw) -> Instance:
    data = fixture(draw)
    recipe = draw.random.choice(data.recipes)
    path = f"recipes/{recipe.id}"
    plan = from_site(path)
    plan["web", path] = GiveAnswer()
    words = {"dish": recipe.dish, "site": _name(data, "recipes")}
    return Instance(words, data, plan, answer=Answer("number", str(recipe.minutes)), free=VISITS)


def _count_word(draw: Draw) -> Instance:
    """How often a word stands on a page is asked for: the browser counts."""
    data = fixture(draw)
    article = draw.random.choice(data.articles)
    path, word = f"news/{article.id}", article.city
    plan = from_site(path)
    plan["web", path] = Press(Event("find", path))
    plan["find", path] = Fill((Entry("find", word),), Event("find_word"))
    plan["found", f"{path}|{word}"] = GiveAnswer()
    count = str(count_of(texts_of(data, path), word))
    words = {"word": word, "person": article.person, "site": _name(data, "news")}
    return Instance(words, data, plan, answer=Answer("number", count), free=VISITS)


def _missing(draw: Draw) -> Instance:
    data, query = fixture(draw), draw.city()
    plan = search(query)
    plan["results", query] = GiveUp()
    return Instance({"city": query}, data, plan, infeasible=True, free=VISITS)


GENERAL_TEMPLATES = (
    Template(
        name="general_weather",
        app="browser",
        oracle_steps=6,
        phrasings=(
            "What is the temperature in {city} now according to the web",
            "Search the web for the weather in {city} and say how many degrees it has",
        ),
        set_up=_weather,
        tags=("answer", "scrolls"),
        held_out=("How warm is it in {city} according to the browser",),
        suite="general",
    ),
    Template(
        name="general_rain",
        app="browser",
        oracle_steps=9,
        phrasings=(
            "What is the chance of rain in {city} in per cent according to the web",
            "Look in the browser how likely rain is in {city} in per cent",
        ),
        set_up=_rain,
        tags=("answer", "scrolls"),
        held_out=("With how many per cent does the web expect rain in {city}",),
        suite="general",
    ),
    Template(
        name="general_show_weather",
        app="browser",
        oracle_steps=6,
        phrasings=(
            "Show the weather in {city} in the browser",
            "Search the web for the weather in {city} and open it",
        ),
        set_up=_show_weather,
        tags=("scrolls",),
        held_out=("Open the page about the weather in {city}",),
        suite="general",
    ),
    Template(
        name="general_private",
        app="browser",
        oracle_steps=4,
        phrasings=("Open a private tab in the browser", "Start a new private tab"),
        set_up=_private,
        tags=("no_parameters",),
        held_out=("I want to browse without leaving traces",),
        suite="general",
    ),
    Template(
        name="general_private_search",
        app="browser",
        oracle_steps=7,
        phrasings=(
            "Search for {query} in a private tab of the browser",
            "Open a private tab and look for {query} on the web",
        ),
        set_up=_private_search,
        held_out=("Look for {query} on the web without leaving traces",),
        suite="general",
    ),
    Template(
        name="general_search",
        app="browser",
        oracle_steps=5,
        phrasings=("Search the web for {query}", "Look for {query} in the browser"),
        set_up=_search,
        held_out=("What does the web know about {query}",),
        suite="general",
    ),
    Template(
        name="general_site",
        app="browser",
        oracle_steps=6,
        phrasings=("Go to the web site {site}", "Open {site} in the browser"),
        set_up=_site,
        tags=("scrolls",),
        held_out=("Take me to {site} on the web",),
        suite="general",
    ),
    Template(
        name="general_news",
        app="browser",
        oracle_steps=7,
        phrasings=(
            "Open the news about {person} on the web site {site}",
            "Show what {site} reports about {person} in the browser",
        ),
        set_up=_article,
        tags=("scrolls",),
        held_out=("Read on {site} what {person} has done",),
        suite="general",
    ),
    Template(
        name="general_train",
        app="browser",
        oracle_steps=6,
        phrasings=(
            "When does the first train from {station} to {destination} leave according to the web",
            (
                "Look in the web timetable at what time the first train goes from {station} to "
                "{destination}"
            ),
        ),
        set_up=_train,
        tags=("answer", "scrolls"),
        held_out=("At what time can one leave {station} for {destination} says the web",),
        suite="general",
    ),
    Template(
        name="general_ingredients",
        app="browser",
        oracle_steps=9,
        phrasings=(
            "Which ingredients does the recipe for {dish} on the web need",
            "Search the web for {dish} and list the ingredients",
        ),
        set_up=_ingredients,
        tags=("answer", "scrolls"),
        held_out=("What do I have to buy to cook {dish} as the web says",),
        suite="general",
    ),
    Template(
        name="general_minutes",
        app="browser",
        oracle_steps=7,
        phrasings=(
            "How many minutes does {dish} take according to the web site {site}",
            "Look on {site} how long one cooks {dish} in minutes",
        ),
        set_up=_minutes,
        tags=("answer", "scrolls"),
        held_out=("For how many minutes is {dish} cooked says {site}",),
        suite="general",
    ),
    Template(
        name="general_count",
        app="browser",
        oracle_steps=12,
        phrasings=(
            "How often does the word {word} stand in the news about {person} on {site}",
            "Open what {site} reports about {person} and count the word {word} on the page",
        ),
        set_up=_count_word,
        tags=("answer", "scrolls"),
        held_out=("Find out how many times {site} writes {word} when it reports about {person}",),
        suite="general",
    ),
    Template(
        name="general_missing",
        app="browser",
        oracle_steps=5,
        phrasings=(
            "Open the page about {city} that a web search finds",
            "Search the web for {city} and open the first page",
        ),
        set_up=_missing,
        tags=("infeasible",),
        held_out=("Show a page of the web that is about {city}",),
        suite="general",
    ),
)
