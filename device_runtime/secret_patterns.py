"""Where a label shows a secret: codes, cards, accounts, telephone numbers, addresses, listed texts.

Pure functions of one label, cached. A label is searched in a plain form (compatibility forms of
digits and letters, no invisible characters), and what is found is a span of the label as it was.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterator
from dataclasses import dataclass
from functools import lru_cache
from typing import Final

_EN = (
    r"(?:verification|one[- ]?time|security|log[- ]?in|sign[- ]?in|confirmation|access|auth|"
    r"authenti[a-z]+|authori[sz]ation|activation|2fa|two[- ]factor|sms|recovery|pairing|"
    r"registration)\s+(?:code|password|passcode|pin|number)\b|\botp\b|\bpasscode\b|"
    r"\byour\s+(?!(?:\w+\s+){0,2}(?:voucher|promo|discount|coupon|gift|zip|postal|post|area|"
    r"referral|booking|product|tracking|order)\b)(?:[\w.-]+\s+){0,3}code\b|\bcode\s+is\b"
)
_DE = (
    r"(?:bestätigungs|verifizierungs|verifikations|sicherheits|anmelde|einmal|zugangs|"
    r"aktivierungs|freigabe|authentifizierungs|registrierungs|login|sms)[- ]?"
    r"(?:code|kennwort|passwort|pin|nummer)\b|\b[a-z]*TAN\b|\bcode\s+lautet\b|"
    r"\b(?:ihr|dein)\s+(?!(?:[\w-]+\s+){0,2}(?:gutschein|rabatt|buchungs))(?:[\w-]+\s+){0,2}"
    r"(?:[\w-]+-)?code\b"
)
_JA = (
    r"認証(?:用)?(?:コード|番号|キー)|確認(?:コード|番号)|検証コード|セキュリティ(?:コード|番号)|"
    r"ワンタイム(?:パスワード|コード|パス)?|ログイン(?:コード|番号)|暗証番号|本人確認|パスコード"
)
_AR = (
    r"(?:رمز|كود)\s*(?:ال)?(?:تحقق|ت[أا]كيد|[أا]مان|دخول|تفعيل|مرور|تسجيل|مصادقة)|"
    r"رمزك|كودك|الرمز(?!\s+البريدي)|لمرة واحدة"
)
_WORDS = f"(?:{_EN}|{_DE}|{_JA}|{_AR})"
_DIGITS = (
    r"(?:\d{4,8}|\d{3}[ \u00a0-]\d{3}|\d{2}[ \u00a0-]\d{2}[ \u00a0-]\d{2}|\d{4}[ \u00a0-]\d{4})"
    r"(?!\d|[.,:/-]\d)"
)
_MIXED = r"(?=[A-Z]*\d)(?=\d*[A-Z])[A-Z\d]{5,8}\b"
_BEFORE_DIGITS = r"(?<![\w.,:/+-])(?:[A-Z]{1,3}-)?"
_CODE = re.compile(
    f"{_WORDS}\\D{{0,40}}?(?:(?<=\\D)(?:[A-Z]{{1,3}}-)?)(?P<after>{_DIGITS})"
    f"|{_BEFORE_DIGITS}(?P<before>{_DIGITS})\\D{{1,40}}?{_WORDS}"
    f"|\\b(?:use|enter|type)\\s+(?P<used>{_DIGITS})\\s+(?:to|as)\\b",
    re.IGNORECASE,
)
_MIXED_CODE = re.compile(f"(?i:{_WORDS})(?:\\s+is|\\s+lautet)?\\s*[:：]?\\s*(?P<after>{_MIXED})")
_MIXED_WORDS = re.compile(_WORDS, re.IGNORECASE)
_MORE_WORDS = (
    r"\b(?:votre\s+(?:\w+\s+)?code|code\s+(?:de\s+)?(?:vérification|sécurité|validation|"
    r"confirmation|connexion)|(?:su|tu|seu)\s+c[óo]digo|c[óo]digo\s+de\s+(?:verifica|segur|"
    r"confirma|acces|acesso)\w*|tuo\s+codice|codice\s+di\s+(?:verifica|sicurezza|conferma|"
    r"accesso)|ваш\s+код|код\s+(?:подтверждения|безопасности|доступа)|2fa|(?-i:PIN))\b|\bverification\s*[:#]|"
    r"код\s*:|验证码|驗證碼|校验码|动态码|确认码|安全码|인증\s?번호|인증\s?코드|확인\s?코드|보안\s?코드"
)
_MORE_MIXED_WORDS = re.compile(_MORE_WORDS, re.IGNORECASE)
_MORE_CODES = re.compile(
    f"(?:{_MORE_WORDS})\\D{{0,24}}?(?P<after>{_DIGITS})"
    f"|{_BEFORE_DIGITS}(?P<before>{_DIGITS})\\D{{1,24}}?(?:{_MORE_WORDS})"
    f"|{_BEFORE_DIGITS}(?P<used>{_DIGITS})\\W{{1,4}}use this (?:code )?to"
    f"|\\bG-(?P<google>\\d{{6}})\\b",
    re.IGNORECASE,
)
_PLAIN_CODE = re.compile(
    r"(?:(?P<kind>[^\W\d_]+)[\s-]+)?(?P<word>\bcode\b|[ァ-ヶー一-龠]*コード)"
    r"(?:\s+(?:is|ist|lautet)\b|\s+(?:for|to|für|zur|zum)\b\D{1,40}?)?"
    f"\\s*[:=#は-]?\\s*(?P<after>{_DIGITS})",
    re.IGNORECASE,
)
_OTHER_CODES = re.compile(
    r"(?:voucher|promo|promotion|discount|coupon|gift|zip|postal|post|area|referral|booking|"
    r"product|tracking|order|error|exit|status|bar|qr|source|country|dial|item|article|part|morse|"
    r"class|course|room|invite|invitation|reservation|stop|station|colou?r)",
    re.IGNORECASE,
)
_SHOPPING = re.compile(
    r"\b(?:voucher|discount|coupon|promo|checkout|gutschein|rabatt)|% off|クーポン|割引|خصم",
    re.IGNORECASE,
)
"""Words beside which a "code" is one that everybody may know."""
_ALONE = re.compile(f"(?:[A-Z]{{1,3}}-)?(?P<code>{_DIGITS})")
_DASHES = r"\-\u2010-\u2015"
_CARD = re.compile(rf"(?<![\d+])\d(?:[ \u00a0._/{_DASHES}]{{0,2}}\d){{12,18}}(?!\d)")
_ACCOUNT = re.compile(
    r"\b(?:[A-Z]{2}\d{2}(?:[ -]?[A-Z\d]){11,30}|[a-z]{2}\d{2}[a-z\d]{11,30})(?![A-Za-z\d])"
)
_MAIL = re.compile(
    r"[\w.+%'-]+(?:@| ?[(\[]at[)\]] ?)[\w-]+(?:(?:\.| ?[(\[]dot[)\]] ?)[\w-]+)+", re.IGNORECASE
)
_PHONE = re.compile(
    rf"(?:(?<![\w.,:/+-])[+(]?|(?<!\w)\+)\d[\d \u00a0()/.{_DASHES}]{{5,22}}\d(?![\w]|[.,:/-]\d)"
)
_PHONE_WORD = re.compile(
    r"(?:phone|mobile|cell|\btel|telefon|handy|mobil|rufnummer|電話|携帯|هاتف|جوال|موبايل)"
    rf"[^\d+]{{0,14}}(?P<number>\d[\d \u00a0()/.{_DASHES}]{{5,18}}\d)",
    re.IGNORECASE,
)
_NATIONAL = re.compile(
    rf"\(?0|(?:1[ .{_DASHES}])?\d{{3}}[ .{_DASHES}]\d{{3}}[ .{_DASHES}]\d{{4}}$"
    rf"|(?:\d )?\(\d{{2,4}}\)|1[3-9]\d[ {_DASHES}]\d{{4}}[ {_DASHES}]\d{{4}}$"
)
_DATE = re.compile(r"\d{4}[-/.]\d{1,2}[-/.]\d{1,2}(?!\d)|\d{1,2}[-/.]\d{1,2}[-/.]\d{2,4}(?!\d)")
_CARD_STARTS: Final = frozenset("23456")
_GAP = "[\\s\\-.\u00ad]*"


@dataclass(frozen=True, slots=True, eq=False)
class RedactionRules:
    """What counts as a secret. Compared by identity, so that caches find it at once.

    Attributes:
        password_fields: the text of fields that the platform marks as passwords.
        one_time_codes: digits beside words such as "verification code".
        cards: payment cards' numbers (their check digit decides).
        accounts: bank accounts (IBAN; their check digits decide).
        phone_numbers, mail_addresses: of anybody, but those that the goal itself names.
        owner_secrets: texts that the owner listed; each becomes a slot wherever it is seen.
        thorough: also secrets that stand in several elements, and fields that are known by their
            names only; and no text of a screen may look like a slot.
        goals: whether the goal's own numbers and addresses become slots, too.
    """

    password_fields: bool = True
    one_time_codes: bool = True
    cards: bool = False
    accounts: bool = False
    phone_numbers: bool = False
    mail_addresses: bool = False
    owner_secrets: tuple[str, ...] = ()
    thorough: bool = False
    goals: bool = False


@dataclass(frozen=True, slots=True)
class Secret:
    """A secret in a label.

    Attributes:
        kind: "owner", "card", "account", "code", "mail", "phone" or "password".
        text: as the driver types it.
        start, end: where the label shows it.
    """

    kind: str
    text: str
    start: int = 0
    end: int = 0

    @property
    def key(self) -> str:
        """The same for every way to write the same secret."""
        match self.kind:
            case "card" | "code" | "phone":
                return f"{self.kind} {digits_of(self.text)}"
            case "account":
                return f"account {_compact(self.text)}"
            case "mail":
                return f"mail {self.text.casefold()}"
            case _:
                return f"{self.kind} {self.text}"


@lru_cache(maxsize=32768)
def secrets_in(label: str, rules: RedactionRules) -> tuple[Secret, ...]:
    """The secrets that a label shows, in order; where two overlap, the first kind wins."""
    plain, places = _plain(label)
    taken: list[Secret] = []
    for secret in _candidates(plain, rules):
        start, end = places[secret.start], places[secret.end - 1] + 1
        if all(end <= one.start or one.end <= start for one in taken):
            taken.append(Secret(secret.kind, secret.text, start, end))
    return tuple(sorted(taken, key=lambda one: one.start))


def digits_of(text: str) -> str:
    """The digits in `text`, of whatever script, as ASCII."""
    return "".join(str(unicodedata.digit(one)) for one in text if one.isdecimal())


@lru_cache(maxsize=8192)
def speaks_of_codes(label: str) -> bool:
    """Whether a label is about a one-time code."""
    plain = _plain(label)[0]
    return any(words.search(plain) for words in (_MIXED_WORDS, _MORE_MIXED_WORDS))


@lru_cache(maxsize=8192)
def code_alone(label: str) -> str | None:
    """The code that a label consists of, where it consists of one."""
    found = _ALONE.fullmatch(_plain(label)[0].strip())
    return found["code"] if found else None


def is_card(digits: str) -> bool:
    """Whether the digits are a payment card's number, by length, first and check digit."""
    if not 13 <= len(digits) <= 19 or digits[0] not in _CARD_STARTS or len(set(digits)) == 1:
        return False
    doubled = (sum(divmod(2 * int(one), 10)) for one in digits[-2::-2])
    return (sum(map(int, digits[-1::-2])) + sum(doubled)) % 10 == 0


def _plain(label: str) -> tuple[str, range | list[int]]:
    """`label` as it is searched, and the place in `label` of each of its characters."""
    if label.isascii():
        return label, range(len(label))
    characters, places = [], []
    for place, character in enumerate(label):
        if unicodedata.category(character) == "Cf":
            continue
        form = unicodedata.normalize("NFKC", character)
        form = str(unicodedata.digit(form)) if len(form) == 1 and form.isdecimal() else form
        characters.append(form if len(form) == 1 else character)
        places.append(place)
    return "".join(characters), places


def _candidates(plain: str, rules: RedactionRules) -> Iterator[Secret]:
    for listed in sorted(rules.owner_secrets, key=len, reverse=True):
        for found in _listed(listed).finditer(plain):
            yield Secret("owner", listed, *found.span())
    for wanted, find in (
        (rules.cards, _cards),
        (rules.accounts, _accounts),
        (rules.one_time_codes, _codes),
        (rules.one_time_codes and rules.thorough, _more_codes),
        (rules.mail_addresses, _mails),
        (rules.phone_numbers, _phones),
    ):
        if wanted:
            yield from find(plain)


@lru_cache(maxsize=1024)
def _listed(text: str) -> re.Pattern[str]:
    """A listed text in any case, however it is spaced."""
    plain = _plain(unicodedata.normalize("NFKC", text))[0]
    pieces = [re.escape(one) for one in plain if not one.isspace()]
    pattern = _GAP.join(pieces)
    edge = r"(?<!\w)" if pieces and text.strip()[:1].isalnum() else ""
    return re.compile(edge + pattern if pieces else "(?!)", re.IGNORECASE)


def _cards(plain: str) -> Iterator[Secret]:
    for found in _CARD.finditer(plain):
        if is_card(digits_of(found[0])):
            yield Secret("card", found[0], *found.span())


def _accounts(plain: str) -> Iterator[Secret]:
    for found in _ACCOUNT.finditer(plain):
        end = found.end()
        while end - found.start() >= 15:
            if _checks(plain[found.start() : end]):
                yield Secret("account", plain[found.start() : end], found.start(), end)
                break
            end -= 1


def _compact(account: str) -> str:
    return account.replace(" ", "").replace("-", "").upper()


def _checks(account: str) -> bool:
    """Whether an account's check digits are right (ISO 13616)."""
    compact = _compact(account)
    if not 15 <= len(compact) <= 34 or not account[-1].isalnum():
        return False
    return int("".join(str(int(one, 36)) for one in compact[4:] + compact[:4])) % 97 == 1


def _codes(plain: str) -> Iterator[Secret]:
    for found in _CODE.finditer(plain):
        group = found.lastgroup or "after"
        yield Secret("code", found[group], *found.span(group))
    for found in _MIXED_CODE.finditer(plain):
        yield Secret("code", found["after"], *found.span("after"))


def _more_codes(plain: str) -> Iterator[Secret]:
    """Codes beside words that clones' tasks are about, too, and in more languages."""
    for found in _MORE_CODES.finditer(plain):
        group = found.lastgroup or "after"
        yield Secret("code", found[group], *found.span(group))
    if _SHOPPING.search(plain):
        return
    for found in _PLAIN_CODE.finditer(plain):
        other = _OTHER_CODES.fullmatch(found["kind"] or "")
        if other is None and found["word"].casefold() in {"code", "コード"}:
            yield Secret("code", found["after"], *found.span("after"))


def _mails(plain: str) -> Iterator[Secret]:
    for found in _MAIL.finditer(plain):
        yield Secret("mail", found[0], *found.span())


def _phones(plain: str) -> Iterator[Secret]:
    for found in _PHONE.finditer(plain):
        text = found[0].rstrip(" \u00a0(/.-")
        if _is_phone(text):
            yield Secret("phone", text, found.start(), found.start() + len(text))
    for found in _PHONE_WORD.finditer(plain):
        if len(digits_of(found["number"])) >= 7 and not _DATE.match(found["number"]):
            yield Secret("phone", found["number"], *found.span("number"))


def _is_phone(text: str) -> bool:
    count = len(digits_of(text))
    if not 7 <= count <= 15 or _DATE.match(text):
        return False
    return text.startswith("+") or _NATIONAL.match(text) is not None
