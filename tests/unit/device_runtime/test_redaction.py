import pytest

from device_runtime.redaction import CLONE_REDACTION, redact, resolve
from device_runtime.secret_patterns import RedactionRules
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
