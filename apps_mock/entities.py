"""The names, places, times and codes that tasks are about, apart by split.

Every entity belongs to one split by its hash (70 % train, 15 % validation, 15 % test), with the
noise around a task as much as what the goal speaks of. In training most of the open-ended ones are
pseudo-words, so that a policy learns to copy what stands in the goal instead of what it knows.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable
from datetime import date, timedelta
from functools import lru_cache
from random import Random

from apps_mock.errors import TaskDrawError
from sync.vocabulary import Split

PSEUDO_WORD_SHARE = 0.7
"""Share of the open-ended entity strings of the train split that are pseudo-words."""

FIRST_NAMES = tuple(
    (
        "Ada Alba Anton Arlo Aron Asta Basil Bela Bruno Carla Casper Celia Cora Dalia Dario "
        "Dina Edda Egon Elias Ella Emil Enid Erik Esme Fabio Flora Freya Gerta Gideon Gilda "
        "Hanna Hector Hilda Hugo Ida Igor Ilse Ingrid Ivo Jana Jasper Jonas Judith Kaspar "
        "Katja Kilian Lara Leander Lena Linus Lotte Luca Magda Malik Mara Marek Milo Mina "
        "Nadia Nestor Nils Nora Odin Olga Orla Oskar Paula Pavel Petra Quentin Ralf Ramona "
        "Rita Roman Rosa Ruben Runa Samir Sanna Selma Silas Simon Sonja Stella Sven Tamara "
        "Tessa Theo Tilda Timo Ulla Uma Valentin Vera Viktor Wanda Wilma Xenia Yara Yusuf "
        "Zelda Zora Agnes Albin Alma Amos Anika Arvid August Beata Benno Birgit Boris Britta "
        "Carl Clara Cyril Dagmar David Diana Doris Edgar Edith Elena Elvira Emma Erwin Eva "
        "Felix Frida Georg Greta Gustav Harald Heidi Helga Henrik Iris Jakob Jutta Karin "
        "Klara Knut Konrad Laura Leo Liesel Lukas Maja Marlene Martin Mathis Nele Norbert "
        "Otto Philipp Renate Robert Sabine Sigrid Sofia Stefan Sybille Tabea Thea Tobias "
        "Ursula Verena Walter Yvonne"
    ).split()
)
LAST_NAMES = tuple(
    (
        "Adler Albrecht Amsel Arendt Bader Becker Berger Birk Blum Bosch Brandt Busch Castell "
        "Conrad Dahl Decker Dorn Eberle Eder Engel Falk Feld Fink Frank Fuchs Gabler Geiger "
        "Glas Graf Gruber Haas Hahn Hartmann Heller Hirsch Holm Huber Jansen Kaiser Keller "
        "Kern Klein Koch Kolb Kraus Lang Lindner Lorenz Maier Marten Metzger Moser Nagel "
        "Neumann Nolte Olsen Ott Pauls Peters Pohl Quandt Rademacher Reiter Richter Roth "
        "Sander Sauer Schade Seidel Stark Stein Sturm Tauber Thiel Ullmann Urban Vogel Voss "
        "Wagner Weber Wendt Winter Wirth Zander Ziegler Zoller Ackermann Bach Bauer Baum Beck "
        "Berg Bischof Brand Braun Brenner Burger Cramer Dietz Ebert Ernst Esser Fiedler "
        "Franke Frey Fuhrmann Gaertner Gross Hagen Harder Heine Herzog Horn Jahn Jung Kessler "
        "Kirsch Kramer Kuhn Lehmann Linke Ludwig Mayer Meister Nowak Pfeiffer Rabe Raabe "
        "Reich Riedel Ritter Rose Sachs Schenk Schubert Seiler Simon Sommer Speer Stahl "
        "Straub Tesch Trapp Voigt Wachter Walther Weiss Werner Witt Wolf Zeller Zimmer"
    ).split()
)
CITIES = tuple(
    "Aarberg Alderon Altena Ansbach Arden Avalen Bellmar Bergun Birkenau Brackel Bremen Calden "
    "Castrop Corvin Dalheim Delmen Dornach Eibergen Elmira Emden Erlach Farnach Felden Fulda "
    "Garding Gleisdorf Goslar Grenna Halden Hameln Harwick Hollern Ilmenau Immen Jever Kaldor "
    "Kempten Kirnau Krems Landau Lauben Lindau Lorrach Lunden Marburg Melle Merano Minden Murten "
    "Neuwied Norden Olden Opava Orsova Passau Pirna Plauen Quedlin Rastatt Ravens Rheda Rinteln "
    "Salem Sargans Selb Soltau Stade Sulz Tarven Telgte Thun Torgau Uelzen Ulm Varel Velden "
    "Verden Vilsen Wangen Weimar Wesel Worms Xanten Yverdon Zeven Zwettl".split()
)
ALARM_LABELS = tuple(
    "Gym Swim Yoga School Market Medicine Breakfast Laundry Piano Garden Meeting Airport Dentist "
    "Bakery Choir Library Chess Football Painting Rehearsal Shopping Cleaning Lunch Walk Run Bus "
    "Ferry Lecture Exam Nap Prayer Tea Soup Plants Dog Cat Kids Guitar Violin Ballet Judo Rowing "
    "Sauna Theatre Cinema Post Bank Clinic Haircut Vet Paint Study Homework Reading Stretch "
    "Workshop Seminar Picnic Barbecue Concert Opera Museum Gallery Auction Fair Parade Festival "
    "Wedding Birthday Reunion Dinner Supper Brunch Banquet Tasting Baking Cooking Ironing Mending "
    "Sewing Knitting Weaving Pottery Sculpture Drawing Origami Calligraphy Drums Flute Harp Cello "
    "Trumpet Tennis Squash Hockey Cricket Rugby Golf Archery Fencing Boxing Climbing Hiking "
    "Cycling Sailing Surfing Skating Skiing Fishing Gardening Pruning Mowing Raking Watering "
    "Recycling Delivery Repair Inspection Audit Interview Training Briefing Review Deadline "
    "Payment Invoice Insurance Passport Visa Embassy Station Harbour Terminal Checkout".split()
)
APP_NAMES = tuple(
    "Notes Camera Gallery Music Podcasts Weather Maps Calculator Recorder Translator Scanner "
    "Compass Wallet Fitness Recipes Radio Books Chess Sudoku Drawing Tasks Journal Torch Magnifier "
    "Keyboard News Sports Stocks Videos Messages Mail Browser Files Parking Bikes Taxi Meditation "
    "Language Piano Tuner Diary Budget".split()
)
DEVICE_NAMES = tuple(
    "Falcon Heron Osprey Kestrel Raven Magpie Robin Wren Finch Sparrow Dolphin Otter Badger Lynx "
    "Marten Bison Walrus Puffin Gecko Newt Salmon Trout Maple Cedar Birch Alder Hazel Rowan "
    "Juniper Willow Comet Meteor Nebula Quasar Pulsar Orion Vega Rigel Altair Deneb".split()
)
MONTHS = (
    "January", "February", "March", "April", "May", "June", "July", "August", "September",
    "October", "November", "December",
)  # fmt: skip

_ONSETS = "b br d dr f fl g gr h k kl l m n p pr r s st t tr v w z sk".split()
_VOWELS = "a e i o u ae ou ia".split()
_CODAS = ["", "", "", "l", "n", "r", "s", "x", "m", "nd", "rk"]
_KNOWN = {
    *FIRST_NAMES, *LAST_NAMES, *CITIES, *ALARM_LABELS, *APP_NAMES, *DEVICE_NAMES, *MONTHS,
}  # fmt: skip


@lru_cache(maxsize=65536)
def split_of(entity: str) -> Split:
    """The split that an entity belongs to, by its hash."""
    share = int.from_bytes(hashlib.sha256(entity.encode()).digest()[:4], "big") / 2**32
    if share < 0.7:
        return Split.TRAIN
    return Split.VALIDATION if share < 0.85 else Split.TEST


@lru_cache(maxsize=256)
def members(pool: tuple[str, ...], split: Split) -> tuple[str, ...]:
    """The entities of a pool that belong to a split."""
    return tuple(entity for entity in pool if split_of(entity) is split)


def _times() -> tuple[str, ...]:
    return tuple(f"{hour:02}:{minute:02}" for hour in range(24) for minute in range(0, 60, 5))


TIMES = _times()
MINUTES = tuple(str(minutes) for minutes in range(2, 100))


class Draw:
    """One task's stream of entities; never the same entity twice within a task.

    Args:
        random: the task's own generator.
        split: whose entities are drawn.
        pseudo_words: share of the train split's open-ended strings that are pseudo-words.
    """

    def __init__(
        self, random: Random, split: Split, *, pseudo_words: float = PSEUDO_WORD_SHARE
    ) -> None:
        self.random = random
        self.split = split
        self.pseudo_words = pseudo_words
        self._used: set[str] = set()

    def of(self, pool: tuple[str, ...], *, pseudo: bool = False) -> str:
        """An entity of a pool, or a pseudo-word in its place where the split wants that."""
        if pseudo and self.split is Split.TRAIN and self.random.random() < self.pseudo_words:
            return self._fresh(self._pseudo_word)
        own = members(pool, self.split)
        if not own:
            raise TaskDrawError(f"the {self.split} split has no entity of this kind; add some")
        return self._fresh(lambda: self.random.choice(own))

    def _fresh(self, source: Callable[[], str]) -> str:
        for _ in range(200):
            entity = source()
            if entity not in self._used:
                self._used.add(entity)
                return entity
        raise TaskDrawError(f"the {self.split} split has too few entities for this task; add some")

    def _pseudo_word(self) -> str:
        choose = self.random.choice
        while True:
            syllables = self.random.choice((2, 2, 3))
            word = "".join(choose(_ONSETS) + choose(_VOWELS) for _ in range(syllables))
            word = (word + choose(_CODAS)).capitalize()
            if word not in _KNOWN:
                return word

    def name(self) -> str:
        """A person: first and last name, both new to this task."""
        return f"{self.of(FIRST_NAMES, pseudo=True)} {self.of(LAST_NAMES, pseudo=True)}"

    def first_name(self) -> str:
        """A first name."""
        return self.of(FIRST_NAMES, pseudo=True)

    def city(self) -> str:
        """A city."""
        return self.of(CITIES, pseudo=True)

    def time(self) -> str:
        """A time of day in steps of five minutes, as `07:45`."""
        return self.of(TIMES)

    def code(self, alphabet: str, length: int) -> str:
        """A code of the split, such as a phone number or a voucher."""

        def make() -> str:
            while True:
                text = "".join(self.random.choice(alphabet) for _ in range(length))
                if split_of(text) is self.split:
                    return text

        return self._fresh(make)

    def phone(self) -> str:
        """A phone number of eight digits."""
        return self.code("0123456789", 8)

    def day(self) -> str:
        """A day of 2025 as `2025-03-14`; as `14 March` it belongs to the split."""

        def make() -> str:
            while True:
                day = date(2025, 1, 1) + timedelta(days=self.random.randrange(365))
                if split_of(spelled(day)) is self.split:
                    return day.isoformat()

        return self._fresh(make)

    def days(self, count: int) -> tuple[tuple[str, ...], int]:
        """Consecutive days as `14 May`, and the index (not 0) of one that belongs to the split."""
        while True:
            start = date(2025, 1, 1) + timedelta(days=self.random.randrange(365))
            days = tuple(spelled(start + timedelta(days=offset)) for offset in range(count))
            own = [index for index in range(1, count) if split_of(days[index]) is self.split]
            if own:
                return days, self.random.choice(own)


def spelled(day: date) -> str:
    """A day as goals and screens write it, such as `14 May`."""
    return f"{day.day} {MONTHS[day.month - 1]}"
