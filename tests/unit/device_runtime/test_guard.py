import pytest

from device_runtime.guard import (
    ALLOWED,
    AskOwner,
    Denied,
    decide,
)
from device_runtime.guard_rules import PERMISSIVE, GuardRules, owned_rules
from sync.vocabulary import (
    Element,
    Key,
    Observation,
    SlotRef,
    finish,
    open_app,
    press,
    tap,
    tap_element,
    type_text,
    wait,
)

BUTTON = "android.widget.Button"
OWNED = owned_rules()


def screen(*elements, package="org.example.shop"):
    return Observation(1000, 2000, tuple(elements), package=package)


def button(text, top=0):
    return Element(BUTTON, (0, top, 1000, top + 100), text=text, clickable=True)


def test_clone_rules_let_everything_pass():
    assert decide(tap(0.5, 0.01), screen(button("Delete")), PERMISSIVE) is ALLOWED


def test_stopped_phone_allows_nothing_but_ending():
    rules = GuardRules(stopped=True)

    assert isinstance(decide(press(Key.HOME), screen(), rules), Denied)
    assert decide(finish(), screen(), rules) is ALLOWED
    assert decide(wait(), screen(), rules) is ALLOWED


@pytest.mark.parametrize(
    "rules",
    [
        GuardRules(forbidden_packages=("org.example.shop",)),
        GuardRules(allowed_packages=("org.example.notes",)),
    ],
)
def test_app_that_may_not_be_used_can_only_be_left(rules):
    assert isinstance(decide(tap(0.5, 0.5), screen(), rules), Denied)
    assert decide(press(Key.BACK), screen(), rules) is ALLOWED
    assert decide(press(Key.HOME), screen(), rules) is ALLOWED


def test_unknown_foreground_app_is_not_an_allowed_one():
    rules = GuardRules(allowed_packages=("org.example.notes",))

    assert isinstance(decide(tap(0.5, 0.5), screen(package=""), rules), Denied)


def test_forbidden_app_is_not_opened():
    rules = GuardRules(forbidden_packages=("org.example.bank",))

    assert isinstance(decide(open_app("org.example.bank"), screen(), rules), Denied)
    assert decide(open_app("Notes"), screen(), rules) is ALLOWED


def test_consequential_touch_asks_the_owner():
    shown = screen(button("Delete contact"), button("Cancel", top=100))

    asked = decide(tap_element(shown, 0), shown, OWNED)
    assert asked == AskOwner(
        "May I touch “Delete contact”?", "guard.consequential.delete: delete", 0
    )
    assert decide(tap_element(shown, 1), shown, OWNED) is ALLOWED


def test_position_decides_what_is_touched_not_the_index_that_is_claimed():
    shown = screen(button("Pay"), button("Cancel", top=100))

    assert isinstance(decide(tap(0.5, 0.01, element=1), shown, OWNED), AskOwner)


def test_literal_text_never_goes_into_a_password_field():
    field = Element("android.widget.EditText", (0, 0, 100, 100), password=True, focused=True)
    rules = GuardRules()

    assert isinstance(decide(type_text("hunter22"), screen(field), rules), Denied)
    assert decide(type_text(SlotRef("password_1")), screen(field), rules) is ALLOWED
