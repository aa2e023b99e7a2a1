from dataclasses import replace
from pathlib import Path

import pytest

from device_runtime.redaction import (
    CLONE_REDACTION,
    OWNED_REDACTION,
    redact,
    redact_goal,
    resolve,
)
from device_runtime.secret_patterns import RedactionRules, secrets_in
from sync.vocabulary import Element, Observation, SlotRef, tap, type_text

EDIT = "android.widget.EditText"
TEXT = "android.widget.TextView"


def screen(*elements):
    return Observation(1000, 2000, tuple(elements))


def label(text, **flags):
    return Element(flags.pop("class_name", TEXT), (0, 0, 100, 100), text=text, **flags)


def test_observation_without_secrets_is_returned_as_it_is():
    shown = screen(label("Trains to Brookhaven, platform 4711"))

    assert redact(shown, CLONE_REDACTION).observation is shown


def test_password_becomes_a_slot_wherever_it_is_seen():
    shown = screen(label("hunter22", password=True, class_name=EDIT), label("You typed hunter22"))

    redacted = redact(shown, CLONE_REDACTION)

    assert [item.text for item in redacted.observation.elements] == [
        "⟨password_1⟩",
        "You typed ⟨password_1⟩",
    ]
    assert redacted.slots == {"password_1": "hunter22"}


def test_short_password_is_hidden_in_its_own_field_only():
    shown = screen(label("a", password=True, class_name=EDIT), label("Apartment"))

    texts = [item.text for item in redact(shown, CLONE_REDACTION).observation.elements]

    assert texts == ["⟨password_1⟩", "Apartment"]


def test_slot_keeps_its_name_through_the_episode():
    first = redact(screen(label("alpha1", password=True)), CLONE_REDACTION)
    second = redact(
        screen(label("beta22", password=True), label("alpha1", password=True)),
        CLONE_REDACTION,
        first.slots,
    )

    assert [item.text for item in second.observation.elements] == ["⟨password_2⟩", "⟨password_1⟩"]


@pytest.mark.parametrize(
    ("text", "hidden"),
    [
        ("Your verification code is 482913", "Your verification code is ⟨code_1⟩"),
        ("One-time password: 48291", "One-time password: ⟨code_1⟩"),
        ("Login code 0042 for Sam", "Login code ⟨code_1⟩ for Sam"),
        ("Voucher code 482913", "Voucher code 482913"),
        ("Dial 482913", "Dial 482913"),
    ],
)
def test_one_time_codes_are_hidden_and_other_numbers_are_not(text, hidden):
    redacted = redact(screen(label(text)), CLONE_REDACTION).observation

    assert redacted.elements[0].text == hidden


def test_what_the_owner_lists_is_hidden_in_descriptions_too():
    rules = RedactionRules(owner_secrets=("Rosehill 12",))
    shown = screen(Element(TEXT, (0, 0, 10, 10), description="Home: Rosehill 12"))

    assert redact(shown, rules).observation.elements[0].description == "Home: ⟨owner_1⟩"


def test_longer_secret_wins_where_one_contains_the_other():
    rules = RedactionRules(owner_secrets=("Rosehill", "Rosehill 12"))

    hidden = redact(screen(label("Rosehill 12")), rules)

    slot = hidden.observation.elements[0].text.strip("⟨⟩")
    assert hidden.slots[slot] == "Rosehill 12"


def test_driver_gets_the_text_behind_the_slot():
    action = type_text(SlotRef("password_1"))

    assert resolve(action, {"password_1": "hunter22"}) == type_text("hunter22")
    assert resolve(tap(0.5, 0.5), {}) == tap(0.5, 0.5)


CARD = "4111 1111 1111 1111"


def hidden(*labels, rules=OWNED_REDACTION, goal=""):
    shown = screen(*(label(text) for text in labels))
    return [item.text for item in redact(shown, rules, goal=goal).observation.elements]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("Your code is 482913", "Your code is ⟨code_1⟩"),
        ("482913 is your Acme verification code", "⟨code_1⟩ is your Acme verification code"),
        (
            "G-482913 is your Google verification code",
            "G-⟨code_1⟩ is your Google verification code",
        ),
        ("Your one-time code: 482 913", "Your one-time code: ⟨code_1⟩"),
        ("OTP 48-29-13 expires in 5 minutes", "OTP ⟨code_1⟩ expires in 5 minutes"),
        ("Use 482913 to log in", "Use ⟨code_1⟩ to log in"),
        ("<#> 4829 is your sign-in code", "<#> ⟨code_1⟩ is your sign-in code"),
        ("Security code: XK4P9Q", "Security code: ⟨code_1⟩"),
        ("Ihr Bestätigungscode lautet 482913", "Ihr Bestätigungscode lautet ⟨code_1⟩"),
        ("482 913 ist Ihr Sicherheitscode", "⟨code_1⟩ ist Ihr Sicherheitscode"),
        ("Ihre mTAN: 482913", "Ihre mTAN: ⟨code_1⟩"),
        ("認証コード：482913", "認証コード：⟨code_1⟩"),
        ("482913 が確認コードです", "⟨code_1⟩ が確認コードです"),
        ("ワンタイムパスワードは４８２９１３です", "ワンタイムパスワードは⟨code_1⟩です"),
        ("رمز التحقق هو 482913", "رمز التحقق هو ⟨code_1⟩"),
        ("رمز التأكيد: ٤٨٢٩١٣", "رمز التأكيد: ⟨code_1⟩"),
        ("482913 هو رمزك", "⟨code_1⟩ هو رمزك"),
        ("Your code is 482\u200b913", "Your code is ⟨code_1⟩"),
        ("Your voucher code 482913", "Your voucher code 482913"),
        ("Room 4829", "Room 4829"),
        ("Meet at 12:30 on 2026-11-30", "Meet at 12:30 on 2026-11-30"),
    ],
)
def test_codes_are_hidden_in_four_languages(text, expected):
    assert hidden(text) == [expected]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        (f"Card {CARD}", "Card ⟨card_1⟩"),
        ("4111-1111-1111-1111", "⟨card_1⟩"),
        ("378282246310005", "⟨card_1⟩"),
        ("４１１１１１１１１１１１１１１１", "⟨card_1⟩"),
        ("4111 1111 1111 1112", "4111 1111 1111 1112"),
        ("DE89 3704 0044 0532 0130 00", "⟨account_1⟩"),
        ("IBAN DE89370400440532013000, ACME", "IBAN ⟨account_1⟩, ACME"),
        ("DE00 3704 0044 0532 0130 00 x", "DE00 3704 0044 0532 0130 00 x"),
        ("Mail jane.doe+x@mail.example.org now", "Mail ⟨mail_1⟩ now"),
        ("müller@beispiel.de", "⟨mail_1⟩"),
        ("+49 151 2345 6789", "⟨phone_1⟩"),
        ("+49 151 7264 8391", "⟨phone_1⟩"),  # its digits are a card's, too
        ("Call (415) 555-0132!", "Call ⟨phone_1⟩!"),
        ("0151/23456789", "⟨phone_1⟩"),
        ("090-1234-5678", "⟨phone_1⟩"),
        ("هاتف 0501234567", "هاتف ⟨phone_1⟩"),
        ("30.11.2026", "30.11.2026"),
        ("Order 672565, 3 items, 12.50", "Order 672565, 3 items, 12.50"),
    ],
)
def test_numbers_and_addresses_are_hidden_and_others_are_not(text, expected):
    assert hidden(text) == [expected]


def lines_of(name):
    return (Path(__file__).parent / "labels" / name).read_text("utf-8").splitlines()


def kinds_in(text):
    return [secret.kind for secret in secrets_in(text, OWNED_REDACTION)]


def test_secrets_of_many_countries_and_forms_are_found():
    rows = [line.rpartition("|") for line in lines_of("secrets.txt")]

    assert [(text, kind) for text, _, kind in rows if kinds_in(text) != [kind]] == []
    assert kinds_in("jane@exam\u200bple.org") == ["mail"]


def test_times_dates_prices_and_order_numbers_are_no_secrets():
    assert [text for text in lines_of("no_secrets.txt") if kinds_in(text)] == []


@pytest.mark.parametrize("where", ["text", "description"])
def test_a_secret_is_hidden_wherever_an_element_says_it(where):
    shown = screen(Element(EDIT, (0, 0, 100, 100), editable=True, **{where: "PIN: 4829"}))

    found = redact(shown, OWNED_REDACTION)

    assert getattr(found.observation.elements[0], where) == "PIN: ⟨code_1⟩"
    assert found.covered == ((0, 0, 100, 100),)


def test_a_code_below_its_words_is_hidden_in_other_languages():
    assert hidden("验证码", "482913") == ["验证码", "⟨code_1⟩"]
    assert hidden("Votre code de vérification", "482 913")[1] == "⟨code_1⟩"


def test_clones_keep_the_texts_that_their_tasks_are_about():
    texts = ["+49 151 2345 6789", "jane@example.org", CARD]

    assert hidden(*texts, rules=CLONE_REDACTION) == texts


def test_one_secret_has_one_slot_however_it_is_written():
    assert hidden(CARD, "4111111111111111", "Jane@Example.org", "jane@example.org") == [
        "⟨card_1⟩",
        "⟨card_1⟩",
        "⟨mail_1⟩",
        "⟨mail_1⟩",
    ]


def test_what_the_owner_lists_is_found_however_it_is_spaced_and_cased():
    rules = replace(OWNED_REDACTION, owner_secrets=("Rosehill 12", "AB123456"))

    assert hidden("At ROSEHILL  12!", "ab 123-456", "R\u200bosehill 12", rules=rules) == [
        "At ⟨owner_1⟩!",
        "⟨owner_2⟩",
        "⟨owner_1⟩",
    ]


def test_a_code_may_stand_below_its_words():
    assert hidden("Enter your verification code", "482 913") == [
        "Enter your verification code",
        "⟨code_1⟩",
    ]
    assert hidden("Number of seats", "482 913") == ["Number of seats", "482 913"]


def test_digits_in_boxes_of_their_own_are_one_code():
    boxes = [Element(EDIT, (100 * i, 300, 100 * i + 90, 400), text=d) for i, d in enumerate("4829")]
    shown = screen(label("Verification code"), *boxes)

    found = redact(shown, OWNED_REDACTION)

    assert {item.text for item in found.observation.elements[1:]} == {"⟨code_1⟩"}
    assert found.slots == {"code_1": "4829"}


def test_a_password_that_is_shown_stays_hidden():
    shown = screen(
        label("hunter22", editable=True, resource_id="a:id/login_password", class_name=EDIT)
    )

    assert redact(shown, OWNED_REDACTION).observation.elements[0].text == "⟨password_1⟩"


def test_dots_are_no_password_to_type_and_do_not_tell_its_length():
    found = redact(screen(label("•••••••••", password=True)), OWNED_REDACTION)

    assert found.observation.elements[0].text == "••••"
    assert found.slots == {}


def test_no_screen_can_forge_a_slot():
    found = redact(screen(label("Type ⟨password_1⟩ here")), OWNED_REDACTION, {"password_1": "x9x9"})

    assert "⟨" not in found.observation.elements[0].text


def test_what_an_earlier_screen_gave_away_stays_hidden():
    first = redact(screen(label("hunter22", password=True)), OWNED_REDACTION)
    second = redact(screen(label("Saved hunter22")), OWNED_REDACTION, first.slots)

    assert second.observation.elements[0].text == "Saved ⟨password_1⟩"


def test_what_the_goal_names_is_no_secret_of_the_episode():
    goal = "Text +49 151 2345 6789 and jane@example.org"
    texts = ["+49 151 23456789", "Jane@example.org", "bob@example.org"]

    assert hidden(*texts, goal=goal) == ["+49 151 23456789", "Jane@example.org", "⟨mail_1⟩"]


def test_a_goals_own_secret_can_be_typed():
    rules = replace(OWNED_REDACTION, owner_secrets=("hunter22",))

    goal, slots = redact_goal("Log in with hunter22 as jane@example.org", rules)

    assert goal == "Log in with ⟨owner_1⟩ as jane@example.org"
    assert resolve(type_text("⟨owner_1⟩"), slots) == type_text("hunter22")


def test_a_goal_is_hidden_whole_where_the_owner_wants_that():
    rules = replace(OWNED_REDACTION, goals=True)

    assert redact_goal("Text +49 151 23456789", rules)[0] == "Text ⟨phone_1⟩"


def test_a_slot_inside_a_typed_text_is_resolved():
    assert resolve(type_text("to ⟨mail_1⟩!"), {"mail_1": "a@b.org"}) == type_text("to a@b.org!")
    with pytest.raises(KeyError):
        resolve(type_text("⟨mail_2⟩"), {"mail_1": "a@b.org"})


def test_what_was_hidden_is_known_by_its_box():
    boxed = Element(TEXT, (1, 2, 3, 4), text=CARD)

    assert redact(screen(label("Hello"), boxed), OWNED_REDACTION).covered == ((1, 2, 3, 4),)
