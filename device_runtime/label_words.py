"""Words in labels, however a label writes them: what the guard's rules about words rest on.

A label is folded before it is compared: compatibility forms (fullwidth, mathematical, circled
letters), case, accents, invisible characters, letters of other alphabets that look like Latin
ones. Then it is cut into words by its script: Latin words at spaces and capitals, Japanese, Chinese
and Korean by containment (katakana reads as hiragana), Arabic with its attached articles and
prepositions. A word that was pulled apart ("S e n d", "Sen d"), glued ("SENDNOW") or turned upside
down ("puǝS") is found too.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from typing import Final

Span = tuple[int, int]
"""Where something begins and ends in a label."""
_LONGEST_RUN: Final = 12
"""How many pieces of a word that was pulled apart are put together again."""
_SHORT_PIECE: Final = 3
_ALONE: Final = "="
_LEADING: Final = "^"

_CAMEL = re.compile(r"(?<=[a-zäöüß])(?=[A-ZÄÖÜ])")
_CONTAINED = "\u3040-\u30ff\u3400-\u9fff\uf900-\ufaff々\u1100-\u11ff"
"""Letters of Japanese, Chinese and Korean (folded to parts): words count wherever they stand."""
_ARABIC = "\u0600-\u06ff"
_TOKENS = re.compile(f"[{_CONTAINED}]+|[{_ARABIC}]+|[^\\W_{_CONTAINED}{_ARABIC}]+")
_CONTAINED_GAP = re.compile(f"(?<=[{_CONTAINED}])\\s+(?=[{_CONTAINED}])")
_CONTAINED_RUN = re.compile(f"[{_CONTAINED}]+")
_NOTHING = re.compile("(?!)")
_APOSTROPHES = re.compile("['’ʼ`´]")
_ARABIC_WORD = re.compile(f"[{_ARABIC}]+")
_ARABIC_PREFIXES: Final = ("وال", "ولل", "فال", "بال", "كال", "لل", "ال", "و", "ف", "ب", "ل", "س")
_ARABIC_SUFFIXES: Final = ("ها", "ه", "هم")
_SHORTEST_ARABIC: Final = 3

_LOOKALIKES: Final = str.maketrans(
    # Cyrillic, then Greek, then small capitals and others; all after case was folded.
    "авеһіјкмнорѕтухԁԛԝгпьɡαβεζηικμνορτυχγᴀʙᴄᴅᴇꜰɢʜɪᴊᴋʟᴍɴᴏᴘʀꜱᴛᴜᴠᴡʏᴢɑıȷօսհոցіةىـ",
    "abehijkmhopstyxdqwrnbgabezhikmvoptuxyabcdefghijklmnoprstuvwyzaijouhngiهيـ",
)
_UMLAUTS: Final = str.maketrans({"ä": "ae", "ö": "oe", "ü": "ue", "Ä": "Ae", "Ö": "Oe", "Ü": "Ue"})
_PART = re.compile(r"[^\w\s'’-]|\n|\s[-–—]\s")
"""Between two words it begins a new part of a label, as in "Anna Moss, call"."""
_KATAKANA: Final = {code: code - 0x60 for code in range(ord("ァ"), ord("ヶ") + 1)}
_TURNED: Final = str.maketrans(
    "ɐǝɔɟƃᵷɥᴉɾʞɯɹʇʌʍʎƆƎℲ⅁⅂⅄Ԁᴚ∀⊥∩Λbqdpnu", "aecfgghijkmrtvwycefglypratuvqbpdun"
)
_ONLY_TURNED: Final = frozenset("ɐǝɔɟƃᵷɥᴉɾʞɯɹʇʌʍʎƆƎℲ⅁⅂⅄ᴚ")
"""Letters that labels hold only where a word stands upside down."""
_BACKWARDS: Final = "\u202e"
"""Shows what follows it from right to left, so that "dneS" reads "Send"."""
_PICTURES: Final = frozenset({"So", "Sk", "Mn", "Me", "Cf", "Zs"})
"""Categories of signs, and of what changes them or stands between them."""
_EMOJI: Final = "\U0001f000"
"""From here on there are pictures; before it stands "★", which ratings hold beside a number."""
_SIGNS: Final = frozenset("°©®™℗℠№℃℉")
"""Signs of texts, not pictures."""
_TATWEEL: Final = "ـ"
_LEET: Final = (
    str.maketrans("013457@$€¥!|", "oleastasey" + "il"),
    str.maketrans("013457@$€¥!|", "oieastasey" + "il"),
)
_LEET_CHARACTERS = re.compile(r"((?<=[a-z])[013457@$€¥!|]+|[013457@$€¥!|]+(?=[a-z]))")
_LETTER_TILES: Final = ((0x1F150, 26), (0x1F170, 26), (0x1F1E6, 26))
"""First code point and count of letters in tiles that compatibility forms do not resolve."""
_ONE_ALPHABET: Final = frozenset({"LATIN", "CYRILLIC", "GREEK", "CHEROKEE", "ARMENIAN", "LISU"})
_TOGETHER: Final = {
    "CJK": "JAPANESE",
    "HIRAGANA": "JAPANESE",
    "KATAKANA": "JAPANESE",
    "KATAKANA-HIRAGANA": "JAPANESE",
    "IDEOGRAPHIC": "JAPANESE",
    "FULLWIDTH": "LATIN",
    "HALFWIDTH": "JAPANESE",
}


@lru_cache(maxsize=8192)
def visible(text: str) -> str:
    """`text` without format characters, in compatibility form, controls as spaces."""
    if text.isascii() and text.isprintable():
        return text
    kept = (
        " " if category == "Cc" else _tile(character)
        for character in text
        if (category := unicodedata.category(character)) != "Cf"
    )
    return unicodedata.normalize("NFKC", "".join(kept))


def _tile(character: str) -> str:
    code = ord(character)
    for first, count in _LETTER_TILES:
        if first <= code < first + count:
            return chr(ord("a") + code - first)
    return character


@lru_cache(maxsize=8192)
def folded(text: str) -> str:
    """`text` as it is compared: what looks alike is alike."""
    plain = _CAMEL.sub(" ", visible(text))
    if plain.isascii():
        return _APOSTROPHES.sub("", plain).casefold()
    plain = unicodedata.normalize("NFKD", _APOSTROPHES.sub("", plain).casefold())
    bare = "".join(one for one in plain if unicodedata.category(one) not in {"Mn", "Me", "Cf"})
    bare = bare.translate(_LOOKALIKES).translate(_KATAKANA).replace(_TATWEEL, "")
    return _CONTAINED_GAP.sub("", bare)


@lru_cache(maxsize=8192)
def scripts(text: str) -> frozenset[str]:
    """The scripts of the letters in `text`, such as "LATIN", "JAPANESE" and "ARABIC"."""
    return frozenset(_script(one) for one in visible(text) if one.isalpha())


def _script(letter: str) -> str:
    name = unicodedata.name(letter, "UNKNOWN").partition(" ")[0]
    return _TOGETHER.get(name, name)


@lru_cache(maxsize=8192)
def is_disguised(text: str) -> bool:
    """Whether `text` mixes alphabets in a word, as no language does, or is turned round."""
    return bool(_BACKWARDS in text or _ONLY_TURNED.intersection(text)) or any(
        len(_ONE_ALPHABET & {_script(one) for one in word if one.isalpha()}) > 1
        for word in re.findall(r"\w+", visible(text))
    )


@lru_cache(maxsize=8192)
def is_picture(text: str) -> bool:
    """Whether `text` is pictures without a word, such as "🗑 3": no rule could read it."""
    kinds = {unicodedata.category(one) for one in text if one not in _SIGNS}
    if "So" not in kinds or any(kind[0] == "L" for kind in kinds):
        return False
    return kinds <= _PICTURES or any(one >= _EMOJI for one in text)


@dataclass(frozen=True, slots=True)
class _Phrase:
    """Folded words in a row; `leads` where they count only at the beginning of a part."""

    words: tuple[str, ...]
    leads: bool


@dataclass(frozen=True, slots=True, eq=False)
class WordList:
    """Words and phrases of several languages, folded, ready to be found.

    Attributes:
        phrases: by their first word, the longest first; "^call" counts only where a label, or a
            part of it, begins.
        alone: phrases that count only where a label says nothing else; written "=order".
        contained: words of scripts without spaces, which count wherever they stand.
        glued, leading_glued: every phrase without its spaces.
    """

    phrases: Mapping[str, tuple[_Phrase, ...]] = field(default_factory=dict)
    alone: frozenset[tuple[str, ...]] = frozenset()
    contained: frozenset[str] = frozenset()
    glued: frozenset[str] = frozenset()
    leading_glued: frozenset[str] = frozenset()
    longest: int = 0
    """Letters of the longest that is glued."""
    anywhere: re.Pattern[str] = _NOTHING
    """Finds what `contained` holds, the longest at each place."""

    @classmethod
    def of(cls, words: Iterable[str]) -> WordList:
        """The list of `words`, as they are written in the rules."""
        phrases: dict[str, set[_Phrase]] = {}
        alone: set[tuple[str, ...]] = set()
        contained: set[str] = set()
        for word in (written for one in words for written in {one, one.translate(_UMLAUTS)}):
            form = folded(word)
            tokens = tuple(_TOKENS.findall(form))
            if word.startswith(_ALONE):
                alone.add(tokens)
            elif _CONTAINED_RUN.search(form):
                contained.add("".join(form.split()))
            elif tokens:
                phrase = _Phrase(tokens, word.startswith(_LEADING))
                phrases.setdefault(tokens[0], set()).add(phrase)
        every = [one for some in phrases.values() for one in some]
        glued = frozenset("".join(one.words) for one in every if not one.leads)
        leading = frozenset("".join(one.words) for one in every if one.leads)
        by_length = {
            first: tuple(sorted(some, key=lambda one: len(one.words), reverse=True))
            for first, some in phrases.items()
        }
        longest = max(map(len, glued | leading), default=0)
        wanted = "|".join(map(re.escape, sorted(contained, key=len, reverse=True)))
        return cls(
            by_length,
            frozenset(alone),
            frozenset(contained),
            glued,
            leading,
            longest,
            re.compile(f"(?=({wanted}))") if contained else _NOTHING,
        )

    def found_in(self, label: str, harmless: WordList | None = None) -> str | None:
        """The word of this list that `label` says, folded; None where it says none.

        Args:
            harmless: wordings inside of which a word says nothing.
        """
        return _found_in(self, label, harmless)

    def is_all_of(self, label: str) -> bool:
        """Whether `label` says one of these words or phrases and nothing else."""
        form = folded(label)
        tokens = tuple(_TOKENS.findall(form))
        listed = any(one.words == tokens for one in self.phrases.get("".join(tokens[:1]), ()))
        return listed or tokens in self.alone or form.strip() in self.contained

    def found_in_folded(self, form: str, spared: Sequence[Span] = ()) -> str | None:
        """The word of this list in a label that was folded, where no spared span holds it."""
        for word, start, end in self._hits(form):
            if not any(first <= start and end <= last for first, last in spared):
                return word
        return None

    def spans_in(self, form: str) -> tuple[Span, ...]:
        """Where a folded label says one of these wordings."""
        return tuple((start, end) for _, start, end in self._hits(form))

    def _hits(self, form: str) -> Iterator[tuple[str, int, int]]:
        """Every word that a folded label says, and where it begins and ends."""
        if self.contained and _CONTAINED_RUN.search(form):
            for seen in self.anywhere.finditer(form):
                yield seen[1], seen.start(1), seen.end(1)
        every = list(_TOKENS.finditer(form))
        if (said := tuple(one[0] for one in every)) in self.alone:
            yield " ".join(said), every[0].start(), every[-1].end()
        found = [one for one in every if not _CONTAINED_RUN.match(one[0])]
        tokens = [one[0] for one in found]
        end = 0
        for place, one in enumerate(found):
            begins = not place or _PART.search(form, end, one.start()) is not None
            end = one.end()
            for word, count in self._at(tokens[place:], begins=begins):
                yield word, one.start(), found[place + count - 1].end()

    def _at(self, tokens: list[str], *, begins: bool) -> Iterator[tuple[str, int]]:
        """The phrases that the first tokens are, the longest first, and of how many they are made.

        Args:
            begins: a part of the label begins here.
        """
        if self._is_glued(tokens[0], begins=begins):
            yield tokens[0], 1
        for first in forms_of(tokens[0]):
            for phrase in self.phrases.get(first, ()):
                if (begins or not phrase.leads) and _says(tokens, phrase.words):
                    yield " ".join(phrase.words), len(phrase.words)
        word, is_apart = tokens[0], len(tokens[0]) <= _SHORT_PIECE
        for count, piece in enumerate(tokens[1:_LONGEST_RUN], start=2):
            word, is_apart = word + piece, is_apart or len(piece) <= _SHORT_PIECE
            if len(word) > self.longest:
                return
            if is_apart and self._is_glued(word, begins=begins):
                yield word, count

    def _is_glued(self, word: str, *, begins: bool) -> bool:
        return word in self.glued or (begins and word in self.leading_glued)


@lru_cache(maxsize=65536)
def _found_in(words: WordList, label: str, harmless: WordList | None) -> str | None:
    for variant in _variants(label):
        spared = () if harmless is None else _spared(harmless, variant)
        if found := words.found_in_folded(variant, spared):
            return found
    return None


@lru_cache(maxsize=8192)
def _spared(harmless: WordList, form: str) -> tuple[Span, ...]:
    return harmless.spans_in(form)


@lru_cache(maxsize=8192)
def forms_of(token: str) -> tuple[str, ...]:
    """A word, and for Arabic what is left without its attached articles and pronouns."""
    if not _ARABIC_WORD.fullmatch(token):
        return (token,)
    stems = [token, *(_cut(token, prefix, "") for prefix in _ARABIC_PREFIXES)]
    found = [*stems, *(_cut(stem, "", end) for stem in stems if stem for end in _ARABIC_SUFFIXES)]
    return tuple(dict.fromkeys(form for form in found if form))


def _cut(word: str, prefix: str, suffix: str) -> str:
    """`word` without them; empty where it does not have them, or is too short then."""
    if not (word.startswith(prefix) and word.endswith(suffix)):
        return ""
    rest = word[len(prefix) : len(word) - len(suffix)]
    return rest if len(rest) >= _SHORTEST_ARABIC else ""


def _says(tokens: Sequence[str], words: Sequence[str]) -> bool:
    """Whether tokens begin with words; the first is known to."""
    if len(words) > len(tokens):
        return False
    pairs = zip(tokens[1:], words[1:], strict=False)
    return all(word in forms_of(token) for token, word in pairs)


@lru_cache(maxsize=8192)
def _variants(label: str) -> tuple[str, ...]:
    """A label as it is compared, also with its signs and turned letters read as letters."""
    form = folded(label)
    return tuple(dict.fromkeys((form, *_unleeted(form), *_turned_back(label))))


def _turned_back(label: str) -> Iterator[str]:
    """A label that stands upside down, as one reads it with the phone turned."""
    if _ONLY_TURNED.intersection(label):
        yield folded(label[::-1].translate(_TURNED))


def _unleeted(form: str) -> Iterator[str]:
    """`form` with digits and signs read as the letters that they stand in for."""
    for table in _LEET:
        yield "".join(
            part.translate(table) if index % 2 else part
            for index, part in enumerate(_LEET_CHARACTERS.split(form))
        )
