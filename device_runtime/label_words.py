"""Words in labels, however a label writes them: what the guard's rules about words rest on.

A label is folded before it is compared: compatibility forms (fullwidth, mathematical, circled
letters), case, accents, invisible characters, letters of other alphabets that look like Latin
ones. Then it is cut into words by its script: Latin words at spaces and capitals, Japanese by
containment (it has no spaces), Arabic with its attached articles and prepositions. A word that was
pulled apart ("S e n d", "Sen d") or glued ("SENDNOW") is found too.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import lru_cache
from typing import Final

_LONGEST_RUN: Final = 12
"""How many pieces of a word that was pulled apart are put together again."""
_SHORT_PIECE: Final = 3
_ALONE: Final = "="

_CAMEL = re.compile(r"(?<=[a-zäöüß])(?=[A-ZÄÖÜ])")
_JAPANESE = "\u3040-\u30ff\u3400-\u9fff\uf900-\ufaff々"
_ARABIC = "\u0600-\u06ff"
_TOKENS = re.compile(f"[{_JAPANESE}]+|[{_ARABIC}]+|[^\\W_{_JAPANESE}{_ARABIC}]+")
_JAPANESE_GAP = re.compile(f"(?<=[{_JAPANESE}])\\s+(?=[{_JAPANESE}])")
_JAPANESE_RUN = re.compile(f"[{_JAPANESE}]+")
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
_BACKWARDS: Final = "\u202e"
"""Shows what follows it from right to left, so that "dneS" reads "Send"."""
_PICTURES: Final = frozenset({"So", "Sk", "Mn", "Me", "Cf", "Zs"})
"""Categories of signs, and of what changes them or stands between them."""
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
    plain = unicodedata.normalize("NFKD", _APOSTROPHES.sub("", plain).casefold())
    bare = "".join(one for one in plain if unicodedata.category(one) not in {"Mn", "Me", "Cf"})
    bare = bare.translate(_LOOKALIKES).replace(_TATWEEL, "")
    return _JAPANESE_GAP.sub("", bare)


@lru_cache(maxsize=8192)
def scripts(text: str) -> frozenset[str]:
    """The scripts of the letters in `text`, such as "LATIN", "JAPANESE" and "ARABIC"."""
    return frozenset(_script(one) for one in visible(text) if one.isalpha())


def _script(letter: str) -> str:
    name = unicodedata.name(letter, "UNKNOWN").partition(" ")[0]
    return _TOGETHER.get(name, name)


@lru_cache(maxsize=8192)
def is_disguised(text: str) -> bool:
    """Whether a word of `text` mixes alphabets that no language mixes, or is written backwards."""
    return _BACKWARDS in text or any(
        len(_ONE_ALPHABET & {_script(one) for one in word if one.isalpha()}) > 1
        for word in re.findall(r"\w+", visible(text))
    )


@lru_cache(maxsize=8192)
def is_picture(text: str) -> bool:
    """Whether `text` is pictures only, such as "🗑": it says nothing that a rule could read."""
    kinds = {unicodedata.category(one) for one in text}
    return "So" in kinds and kinds <= _PICTURES


@dataclass(frozen=True, slots=True, eq=False)
class WordList:
    """Words and phrases of several languages, folded, ready to be found.

    Attributes:
        phrases: each a tuple of folded words; Japanese ones are not among them.
        alone: phrases that count only where a label says nothing else; written "=order".
        contained: folded Japanese words, which count wherever they stand.
        glued: every phrase without its spaces.
    """

    phrases: frozenset[tuple[str, ...]] = frozenset()
    alone: frozenset[tuple[str, ...]] = frozenset()
    contained: tuple[str, ...] = ()
    glued: frozenset[str] = frozenset()
    longest: int = 0

    @classmethod
    def of(cls, words: Iterable[str]) -> WordList:
        """The list of `words`, as they are written in the rules."""
        phrases: set[tuple[str, ...]] = set()
        alone: set[tuple[str, ...]] = set()
        contained: set[str] = set()
        for word in (written for one in words for written in {one, one.translate(_UMLAUTS)}):
            form = folded(word)
            if _JAPANESE_RUN.search(form):
                contained.add("".join(form.split()))
            elif tokens := tuple(_TOKENS.findall(form)):
                (alone if word.startswith(_ALONE) else phrases).add(tokens)
        return cls(
            frozenset(phrases),
            frozenset(alone),
            tuple(sorted(contained, key=len, reverse=True)),
            frozenset("".join(phrase) for phrase in phrases),
            max((len(phrase) for phrase in phrases), default=0),
        )

    def found_in(self, label: str, harmless: WordList | None = None) -> str | None:
        """The word of this list that `label` says, folded; None where it says none.

        Args:
            harmless: wordings that are taken out of the label first.
        """
        return _found_in(self, label, harmless)

    def is_all_of(self, label: str) -> bool:
        """Whether `label` says one of these words or phrases and nothing else."""
        form = folded(label)
        tokens = tuple(_TOKENS.findall(form))
        return tokens in self.phrases or tokens in self.alone or form.strip() in self.contained

    def found_in_folded(self, form: str) -> str | None:
        """The word of this list in a label that was folded."""
        for word in self.contained:
            if word in form:
                return word
        tokens = [token for token in _TOKENS.findall(form) if not _JAPANESE_RUN.match(token)]
        if tuple(tokens) in self.alone:
            return " ".join(tokens)
        for start in range(len(tokens)):
            if found := self._at(tokens, start) or self._put_together(tokens, start):
                return found
        return None

    def _at(self, tokens: list[str], start: int) -> str | None:
        """The phrase that begins at one word, the longest first."""
        if tokens[start] in self.glued:
            return tokens[start]
        forms = [forms_of(token) for token in tokens[start : start + self.longest]]
        for phrase in _phrases(forms):
            if phrase in self.phrases:
                return " ".join(phrase)
        return None

    def _put_together(self, tokens: list[str], start: int) -> str | None:
        """The word that pieces from `start` on make, where it was pulled apart."""
        pieces = tokens[start : start + _LONGEST_RUN]
        for count in range(2, len(pieces) + 1):
            if min(map(len, pieces[:count])) <= _SHORT_PIECE:
                word = "".join(pieces[:count])
                if word in self.glued:
                    return word
        return None

    def taken_out(self, form: str) -> str:
        """A folded label without this list's wordings."""
        for word in self.contained:
            form = form.replace(word, "\n")
        tokens = list(_TOKENS.finditer(form))
        kept, position, index = [], 0, 0
        while index < len(tokens):
            length = self._covers([token[0] for token in tokens[index : index + self.longest]])
            if length:
                kept.append(form[position : tokens[index].start()])
                position = tokens[index + length - 1].end()
            index += max(length, 1)
        return "\n".join((*kept, form[position:]))

    def _covers(self, tokens: list[str]) -> int:
        for length in range(len(tokens), 0, -1):
            if tuple(tokens[:length]) in self.phrases:
                return length
        return 0


@lru_cache(maxsize=65536)
def _found_in(words: WordList, label: str, harmless: WordList | None) -> str | None:
    form = folded(label)
    for variant in dict.fromkeys((form, *_unleeted(form))):
        rest = variant if harmless is None else harmless.taken_out(variant)
        if found := words.found_in_folded(rest):
            return found
    return None


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


def _phrases(forms: list[tuple[str, ...]]) -> Iterator[tuple[str, ...]]:
    """Every phrase that the words' forms make, from the first on, the longest first."""
    made: list[list[tuple[str, ...]]] = [[()]]
    for alternatives in forms:
        made.append([(*phrase, form) for phrase in made[-1] for form in alternatives])
    for phrases in reversed(made[1:]):
        yield from phrases


def _unleeted(form: str) -> Iterator[str]:
    """`form` with digits and signs read as the letters that they stand in for."""
    for table in _LEET:
        yield "".join(
            part.translate(table) if index % 2 else part
            for index, part in enumerate(_LEET_CHARACTERS.split(form))
        )
