"""The small web that the browser shows: what its sites know, and what their pages are called.

A page has a path, such as `weather/f2`: the site, then a record of it. Names of sites and what they
write about are entities; all else is said in the look's locale.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from apps_mock.entities import ALARM_LABELS, Draw
from apps_mock.records import find

SITE_KINDS = {
    "weather": "Weather",
    "news": "Latest news",
    "recipes": "Recipes",
    "trains": "Timetable",
    "forum": "Forum",
    "table": "Restaurant",
    "papers": "Town hall",
}
"""What each site is."""

HEADLINES = (
    "{person} opens a library in {city}",
    "{person} wins the race through {city}",
    "{person} leaves the council of {city}",
    "{person} plants a thousand trees in {city}",
    "{person} rescues a dog near {city}",
)
PARAGRAPHS = (
    "People in {city} had waited for this for a long time",
    "It was the talk of the day all over {city} and far beyond",
    "Everybody who was there says that it went well",
    "{person} thanked all who had helped and went home early",
    "The mayor of {city} did not want to say anything",
    "Some neighbours would have liked to hear of it sooner",
    "There will be more about it in the evening edition",
    "Nobody in {city} expects that it will stay like this",
    "Our reporter spoke with a dozen people about it",
    "Pictures of the day can be seen in the town hall of {city}",
)
REMARKS = (
    "Thank you for this",
    "I have the same question",
    "That worked for me",
    "Has anybody tried it yet",
    "I would not do that again",
)

SITE_NAMES = tuple(
    "Ampelio Aurikel Bandola Biberon Calypta Cirrus Dattela Distelo Efeura Enziano "
    "Fennello Fjordia Ginsterio Glimmera Habichta Helioso Iltisa Kabinetto Kamillo "
    "Kolibra Kranicha Lavendula Libellio Lorbero Malvina Marillo Merlino Milano "
    "Mistralo Morcheli Nachtigal Narzissa Nelkano Oleandra Orchidor Palisandra Pirola "
    "Platano Primelia Quellana Rapunzia Resedano Ringelo Safranor Salbeia Sanddorna "
    "Seerosia Silberta Sperbera Tamariska Thymiana Tulpano Ulmenia Veilchena Vogelio "
    "Wacholda Weidena Wermuta Ysopia Zaunkona Zimtera Abelia Alpina Ambrosia Arnika "
    "Azalea Belladonna Erika Gerbera Ingwera".split()
)
DISHES = tuple(
    "Goulash Risotto Paella Ramen Tajine Falafel Pierogi Borscht Lasagne Moussaka "
    "Ceviche Poutine Raclette Fondue Strudel Tiramisu Baklava Halva Crumble Focaccia "
    "Gazpacho Quiche Ratatouille Tempura Udon Gyoza Bibimbap Kimchi Laksa Rendang Satay "
    "Samosa Korma Biryani Minestrone Gnocchi Shakshuka Tortilla Enchilada Burrito "
    "Chowder Jambalaya Gumbo Brioche Pavlova Macaron Churros Empanada Arepa Feijoada "
    "Pastilla Pilaf Manti Dolma Cacik Tzatziki Souvlaki Spanakopita Clafoutis "
    "Bouillabaisse Carbonara Ossobuco Panzanella Caponata Arancini Polenta".split()
)
INGREDIENTS = tuple(
    "Basil Saffron Cumin Tahini Mozzarella Parmesan Couscous Tofu Miso Nori Mirin "
    "Chorizo Pancetta Ricotta Feta Halloumi Quinoa Bulgur Cardamom Paprika Chili Ginger "
    "Oregano Thyme Rosemary Sesame Coconut Mango Avocado Papaya Pesto Harissa Wasabi "
    "Tempeh Seitan Kefir Tarragon Sumac Turmeric Nutmeg Vanilla Cinnamon Almonds "
    "Walnuts Pistachios Raisins Lentils Chickpeas Spelt Millet Fennel Leek Celery "
    "Spinach Pumpkin Shallots Capers Olives Anchovies Mussels Trout Salmon Coriander "
    "Sorrel Anise Radish Cauliflower Honey Rhubarb".split()
)


@dataclass(frozen=True, slots=True)
class Site:
    """A web site; its id is the first part of its pages' paths."""

    id: str
    name: str


@dataclass(frozen=True, slots=True)
class Forecast:
    """The weather of a city, in degrees Celsius and per cent."""

    id: str
    city: str
    now: int
    high: int
    low: int
    rain: int


@dataclass(frozen=True, slots=True)
class Article:
    """A piece of news; `headline` and `paragraphs` are places in the lists above."""

    id: str
    headline: int
    person: str
    city: str
    paragraphs: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class Recipe:
    """How to cook a dish."""

    id: str
    dish: str
    minutes: int
    servings: int
    ingredients: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Departure:
    """A train at a station."""

    id: str
    station: str
    destination: str
    time: str
    platform: int


@dataclass(frozen=True, slots=True)
class Thread:
    """Something that a forum talks about."""

    id: str
    subject: str
    author: str


@dataclass(frozen=True, slots=True)
class Document:
    """A paper that can be downloaded."""

    id: str
    name: str
    size_kb: int


@dataclass(frozen=True, slots=True)
class Web:
    """What was drawn of the web, before it becomes tables of the browser's data."""

    sites: tuple[Site, ...]
    forecasts: tuple[Forecast, ...]
    articles: tuple[Article, ...]
    recipes: tuple[Recipe, ...]
    departures: tuple[Departure, ...]
    threads: tuple[Thread, ...]
    documents: tuple[Document, ...]


def draw_web(draw: Draw) -> Web:
    """A web of seven sites."""
    cities = [draw.city() for _ in range(6)]
    return Web(
        sites=tuple(Site(kind, draw.of(SITE_NAMES, pseudo=True)) for kind in SITE_KINDS),
        forecasts=tuple(_forecast(draw, f"f{index}", city) for index, city in enumerate(cities)),
        articles=_articles(draw, cities),
        recipes=_recipes(draw),
        departures=_departures(draw, cities),
        threads=tuple(
            Thread(f"t{index}", draw.of(ALARM_LABELS, pseudo=True), draw.first_name())
            for index in range(4)
        ),
        documents=tuple(_document(draw, f"d{index}") for index in range(5)),
    )


def _document(draw: Draw, document_id: str) -> Document:
    name = f"form-{draw.code('0123456789', 4)}"
    return Document(document_id, name, draw.random.randrange(90, 900))


def _forecast(draw: Draw, forecast_id: str, city: str) -> Forecast:
    now = draw.random.randrange(2, 34)
    high, low = now + draw.random.randrange(1, 5), now - draw.random.randrange(3, 9)
    return Forecast(forecast_id, city, now, high, low, draw.random.randrange(36, 99))


def _articles(draw: Draw, cities: list[str]) -> tuple[Article, ...]:
    random = draw.random
    return tuple(
        Article(
            id=f"a{index}",
            headline=headline,
            person=draw.name(),
            city=random.choice(cities),
            paragraphs=tuple(random.sample(range(len(PARAGRAPHS)), 6)),
        )
        for index, headline in enumerate(random.sample(range(len(HEADLINES)), 4))
    )


def _recipes(draw: Draw) -> tuple[Recipe, ...]:
    random = draw.random
    pantry = [draw.of(INGREDIENTS, pseudo=True) for _ in range(6)]
    minutes = random.sample(range(10, 90, 5), 4)
    return tuple(
        Recipe(
            id=f"r{index}",
            dish=draw.of(DISHES, pseudo=True),
            minutes=minutes[index],
            servings=random.randrange(2, 7),
            ingredients=tuple(random.sample(pantry, 3)),
        )
        for index in range(4)
    )


def _departures(draw: Draw, cities: list[str]) -> tuple[Departure, ...]:
    times = sorted(draw.time() for _ in range(10))
    stations = [cities[index % 2] for index in range(10)]
    ends = [cities[2 + index // 2 % 4] for index in range(8)] + [cities[1], cities[0]]
    platforms = [draw.random.randrange(1, 15) for _ in range(10)]
    order = draw.random.sample(range(10), 10)
    return tuple(
        Departure(f"z{index}", stations[index], ends[index], times[order[index]], platforms[index])
        for index in range(10)
    )


def stations_of(departures: tuple[Departure, ...]) -> tuple[str, ...]:
    """The stations that have a page."""
    return tuple(dict.fromkeys(each.station for each in departures))


def paths(web: Web) -> tuple[str, ...]:
    """All pages that a search can find."""
    return (
        *(site.id for site in web.sites),
        *(f"weather/{each.id}" for each in web.forecasts),
        *(f"news/{each.id}" for each in web.articles),
        *(f"recipes/{each.id}" for each in web.recipes),
        *(f"trains/{station}" for station in stations_of(web.departures)),
        *(f"forum/{each.id}" for each in web.threads),
    )


def title_of(web: Web, path: str, say: Callable[[str], str] = lambda text: text) -> str:
    """What a page is called; `say` translates."""
    site, _, part = path.partition("/")
    match site if part else "":
        case "weather":
            forecast = find(web.forecasts, part)
            return say("Weather in {city}").format(city=forecast.city if forecast else part)
        case "news":
            article = find(web.articles, part)
            return headline_of(article, say) if article else part
        case "recipes":
            recipe = find(web.recipes, part)
            return say("Recipe for {dish}").format(dish=recipe.dish if recipe else part)
        case "trains":
            train = find(web.departures, part)
            if train is not None:
                return say("Train to {city}").format(city=train.destination)
            return say("Trains from {city}").format(city=part)
        case "forum":
            thread = find(web.threads, part)
            return say("Talk about {subject}").format(subject=thread.subject if thread else part)
        case _:
            known = find(web.sites, site)
            return known.name if known else path


def headline_of(article: Article, say: Callable[[str], str] = lambda text: text) -> str:
    """What stands above an article."""
    return say(HEADLINES[article.headline]).format(person=article.person, city=article.city)


def paragraphs_of(article: Article, say: Callable[[str], str] = lambda text: text) -> list[str]:
    """An article's text."""
    return [
        say(PARAGRAPHS[index]).format(person=article.person, city=article.city)
        for index in article.paragraphs
    ]


def address_of(web: Web, path: str) -> str:
    """What stands in the address bar."""
    site, slash, part = path.partition("/")
    known = find(web.sites, site)
    return f"{known.name.lower() if known else site}.example{slash}{part.lower()}"


def found(web: Web, query: str, say: Callable[[str], str] = lambda text: text) -> tuple[str, ...]:
    """Paths of the pages whose titles have words that begin with each word of the query."""
    wanted = query.casefold().split()
    return tuple(
        path
        for path in paths(web)
        if all(
            any(word.startswith(part) for word in title_of(web, path, say).casefold().split())
            for part in wanted
        )
    )


def count_of(texts: list[str], word: str) -> int:
    """How often a word stands in texts."""
    wanted = word.casefold()
    return sum(text.casefold().split().count(wanted) for text in texts)
