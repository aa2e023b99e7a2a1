"""Looks: one seeded draw of how the clones look, per episode, with the same meaning underneath.

A look decides wording, order, density, widget classes and places. It never decides what an app can
do, nor the names of things that goals speak of.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from random import Random
from typing import Literal, NamedTuple, TypeVar

from apps_mock.catalogue import LOCALES, RIGHT_TO_LEFT, Locale, Term, day_text, say
from apps_mock.errors import WordingError
from apps_mock.mixing import mixed
from apps_mock.seeded_random import SeededRandom
from apps_mock.theme import SCHEMES
from sync.vocabulary import Split

T = TypeVar("T")


class ScreenSize(NamedTuple):
    """A phone's screen; `density` is pixels per density-independent pixel (dpi / 160)."""

    width_px: int
    height_px: int
    density: float


SCREEN_SIZES = (
    ScreenSize(720, 1280, 2.0),
    ScreenSize(1080, 2400, 2.625),
    ScreenSize(1440, 3120, 3.5),
)
FONT_SCALES = (0.85, 1.0, 1.15, 1.3)
WORDINGS: dict[str, tuple[str, ...]] = {
    "add": ("Add", "New", "Create"),
    "alarms": ("Alarms", "My alarms"),
    "alerts": ("Price alerts", "Alerts"),
    "back": ("Navigate up", "Back"),
    "book": ("Book", "Book ticket", "Buy ticket"),
    "cancel_order": ("Cancel order", "Cancel booking"),
    "change_date": ("Change date", "New date"),
    "class": ("Class", "Travel class"),
    "clear": ("Reset", "Clear"),
    "date": ("Date", "Day", "Travel date"),
    "delete": ("Delete", "Remove"),
    "edit": ("Edit", "Change"),
    "favourite": ("Favourite", "Add to favourites"),
    "from": ("From", "Departure"),
    "keep": ("No", "Keep"),
    "label": ("Label", "Alarm name"),
    "minutes": ("Minutes", "Duration in minutes"),
    "name": ("Name", "Full name"),
    "order": ("Order", "Order details"),
    "orders": ("Orders", "My orders", "Your orders"),
    "passenger": ("Passenger", "Passenger details"),
    "passengers": ("Passengers", "My passengers"),
    "phone": ("Phone", "Phone number"),
    "receipt": ("Receipt", "Show receipt"),
    "route": ("{} – {}", "{} → {}", "{} to {}"),
    "save": ("Save", "Done", "Store"),
    "search_contacts": ("Search contacts", "Find a contact"),
    "search": ("Search", "Find trains", "Show trains"),
    "start": ("Start", "Start timer"),
    "stop": ("Stop", "Stop timer"),
    "stopwatch": ("Stopwatch", "Stop watch"),
    "time": ("Time", "Alarm time"),
    "timer": ("Timer", "Countdown timer"),
    "to": ("To", "Destination"),
    "voucher": ("Voucher", "Voucher code"),
    "yes": ("Yes", "Confirm", "OK"),
}
"""Ways to write what leads around in an app; which one shows is the look's decision."""

HELD_OUT_WORDINGS: dict[str, tuple[str, ...]] = {
    "add": ("Insert",),
    "delete": ("Erase",),
    "edit": ("Modify",),
    "favourite": ("Mark as favourite",),
    "keep": ("Go back",),
    "label": ("Tag",),
    "name": ("Called",),
    "orders": ("Bookings",),
    "passengers": ("Travellers",),
    "phone": ("Number",),
    "save": ("Apply",),
    "search": ("Look up",),
    "search_contacts": ("Look for a person",),
    "start": ("Begin",),
    "stop": ("Halt",),
    "timer": ("Count down",),
    "voucher": ("Discount code",),
    "yes": ("Proceed",),
}
"""Further ways to write the same, for held-out looks (see `Look.held_out`) alone."""


@dataclass(frozen=True, slots=True)
class Wording:
    """Ways to write one thing that leads around in an app; which one shows is the look's decision.

    Attributes:
        texts: for every split.
        held_out: further ones that only looks of the test split use, reported apart.
    """

    texts: tuple[str, ...]
    held_out: tuple[str, ...] = ()


def wording(*texts: str, held_out: tuple[str, ...] = ()) -> Wording:
    """Ways to write one thing (see `Wording`)."""
    return Wording(texts, held_out)


NOISE = (
    "Tips and help",
    "What is new",
    "Rate this app",
    "Privacy notice",
    "You are up to date",
    "Version 4.2",
)
"""Lines that mean nothing for any task."""


@dataclass(frozen=True, slots=True)
class Look:
    """How the clones look in one episode.

    Attributes:
        width_px, height_px: the screen.
        density: pixels per density-independent pixel.
        font_scale: how much larger than usual texts are.
        dark, scheme: which of `theme`'s themes it is drawn in.
        held_out: a look of the test split with wordings and layouts that no other look has.
        row_px: height of a row with one line of text.
        boxed_rows: rows are clickable containers around plain texts, instead of clickable texts.
        whole_row_toggles: a row whose only function is its switch is touched anywhere.
        switch_class, radio_class, button_class: Android classes of the widgets.
        action_place, primary_place, place_for_places: where buttons go.
        icon_actions: toolbar actions are pictures that only have a content description.
        field_style: the field's name stands above it, in it while it is empty, or describes it.
        noise_rows: how many lines without meaning lists get.
    """

    seed: str
    row_px: int
    boxed_rows: bool
    whole_row_toggles: bool
    switch_class: str
    radio_class: str
    button_class: str
    action_place: Literal["top", "inline"]
    primary_place: Literal["top", "bottom", "inline", "floating"]
    place_for_places: Literal["bottom", "rows", "top", "tabs"]
    icon_actions: bool
    field_style: Literal["above", "hint", "described", "beside"]
    noise_rows: int
    resource_ids: bool
    wording: dict[str, str]
    locale: Locale = "en"
    width_px: int = 1080
    height_px: int = 2400
    density: float = 2.625
    font_scale: float = 1.0
    dark: bool = False
    scheme: str = SCHEMES[0]
    held_out: bool = False

    def __hash__(self) -> int:
        """Looks that were drawn differ in seed or locale."""
        return hash((self.seed, self.locale))

    @property
    def right_to_left(self) -> bool:
        """Whether everything lies mirrored."""
        return self.locale in RIGHT_TO_LEFT

    def px(self, dp: float) -> int:
        """Density-independent pixels in pixels."""
        return round(dp * self.density)

    def word(self, key: str | Wording) -> str:
        """How this look writes a thing, in its locale: one of `WORDINGS`, or an app's own.

        Raises: WordingError: there is no such wording.
        """
        if isinstance(key, Wording):
            texts = key.held_out if self.held_out and key.held_out else key.texts
            return say(texts[mixed(f"{self.seed}|{key.texts[0]}") % len(texts)], self.locale)
        text = self.wording.get(key)
        if text is None:
            raise WordingError(
                f"look.word has no {key!r}; use a key of look.WORDINGS, or a wording(...) of your "
                "own"
            )
        return say(text, self.locale)

    def say(self, text: str) -> str:
        """A text that every look writes alike, in this look's locale."""
        return say(text, self.locale)

    def day(self, iso: str) -> str:
        """A day such as `2025-03-14` as people write it: `14 March`."""
        return day_text(iso, self.locale)

    def spoken(self, word: str | Term) -> str:
        """What stands in a goal's gap."""
        if isinstance(word, str):
            return word
        return self.day(word.text) if word.kind == "day" else self.say(word.text)

    def ordered(self, items: Sequence[T], name_of: Callable[[T], str]) -> list[T]:
        """The items in this look's order."""
        seed = self.seed
        return sorted(items, key=lambda item: mixed(f"{seed}|{name_of(item)}"))

    def noise(self, page: str) -> tuple[str, ...]:
        """Lines without meaning for a page."""
        if not self.noise_rows:
            return ()
        start = mixed(f"{self.seed}|{page}")
        lines = range(start, start + self.noise_rows)
        return tuple(self.say(NOISE[line % len(NOISE)]) for line in lines)


LOCALE_STRIDE = 2**40
"""Look numbers below it are English; each further stretch of this length is the next locale's."""


HELD_OUT_LOOK, HELD_OUT_PHRASING = 2**39, 2**38
"""Bits of a look's number that the test split alone heeds: wordings and layouts, or phrasings of
goals, that appear nowhere else. Without them a test instance has held-out entities only."""


def look_number(
    locale: Locale,
    number: int,
    *,
    held_out_look: bool = False,
    held_out_phrasing: bool = False,
) -> int:
    """The number of a locale's look `number` (below 2**38)."""
    bits = HELD_OUT_LOOK * held_out_look + HELD_OUT_PHRASING * held_out_phrasing
    return LOCALES.index(locale) * LOCALE_STRIDE + bits + number


def says_held_out(split: Split, number: int) -> bool:
    """Whether goals are said in a way that training never has, in the look of that number."""
    return split is Split.TEST and bool(number & HELD_OUT_PHRASING)


@lru_cache(maxsize=4096)
def draw_look(split: Split, seed: int) -> Look:
    """The look number `seed` of a split; the same arguments give the same object."""
    place, seed = divmod(seed, LOCALE_STRIDE)
    locale = LOCALES[place % len(LOCALES)]
    held_out = split is Split.TEST and bool(seed & HELD_OUT_LOOK)
    seed %= HELD_OUT_PHRASING
    random = SeededRandom(f"look|{split}|{seed}")
    drawn = Look(
        seed=f"{split}|{seed}",
        row_px=random.choice(_ROWS_DP),
        boxed_rows=random.random() < 0.6,
        whole_row_toggles=random.random() < 0.5,
        switch_class=random.choice(("android.widget.Switch", "android.widget.CheckBox")),
        radio_class=random.choice(("android.widget.RadioButton", "android.widget.CheckedTextView")),
        button_class=random.choice(("android.widget.Button", "android.widget.TextView")),
        action_place=random.choice(("top", "inline")),
        primary_place=random.choice(("top", "bottom", "inline")),
        place_for_places=random.choice(("bottom", "rows", "top")),
        icon_actions=random.random() < 0.4,
        field_style=random.choice(("above", "hint", "described")),
        noise_rows=random.choice((0, 0, 1, 2)),
        resource_ids=random.random() < 0.5,
        wording={key: random.choice(words) for key, words in WORDINGS.items()},
        locale=locale,
        **random.choice(SCREEN_SIZES)._asdict(),
        font_scale=random.choice(FONT_SCALES),
        dark=random.random() < 0.4,
        scheme=random.choice(SCHEMES),
        held_out=held_out,
    )
    if drawn.held_out:
        drawn = _held_out(drawn, random)
    return replace(drawn, row_px=drawn.px(drawn.row_px))


_ROWS_DP = (50, 56, 64)
_HELD_OUT_ROWS_DP = (72, 80)


def _held_out(look: Look, random: Random) -> Look:
    words = {key: random.choice(texts) for key, texts in HELD_OUT_WORDINGS.items()}
    return replace(
        look,
        row_px=random.choice(_HELD_OUT_ROWS_DP),
        primary_place="floating",
        place_for_places="tabs",
        field_style="beside",
        wording={**look.wording, **words},
    )
