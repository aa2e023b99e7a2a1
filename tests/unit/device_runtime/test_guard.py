from dataclasses import replace

import pytest

from device_runtime.errors import HierarchyError
from device_runtime.guard import (
    ALLOWED,
    AskOwner,
    Denied,
    decide,
)
from device_runtime.guard_rules import PERMISSIVE, GuardRules, owned_rules, parse_rules
from device_runtime.ui_tree import elements_of, parse
from sync.vocabulary import (
    Action,
    ActionKind,
    Direction,
    Element,
    Key,
    Observation,
    ScreenMark,
    SlotRef,
    finish,
    open_app,
    press,
    scroll,
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


def ruling(action, shown, rules=OWNED):
    found = decide(action, shown, rules)
    return {"Allowed": "allow", "Denied": "deny", "AskOwner": "ask"}[type(found).__name__]


def at(element):
    left, top, right, bottom = element.bounds
    return tap((left + right) / 2000, (top + bottom) / 4000)


def text(said, bounds, **more):
    return Element("android.widget.TextView", bounds, text=said, **more)


def field(said="", *, top=0, **more):
    return Element(
        "android.widget.EditText",
        (0, top, 1000, top + 100),
        text=said,
        editable=True,
        clickable=True,
        focused=True,
        **more,
    )


def test_words_in_a_child_speak_for_the_button_around_them():
    outer = Element("android.view.View", (100, 100, 900, 300), clickable=True)
    inner = text("Pay now", (700, 180, 800, 220))

    assert ruling(tap(0.15, 0.06), screen(outer, inner)) == "ask"


def test_words_of_an_outer_row_count_for_what_lies_in_it():
    row = Element(BUTTON, (0, 0, 1000, 200), description="Delete account", clickable=True)
    icon = Element("android.widget.ImageView", (900, 50, 980, 150), clickable=True)

    assert ruling(at(icon), screen(row, icon)) == "ask"


def test_a_silent_icon_is_named_by_the_text_beside_it():
    icon = Element("android.widget.ImageView", (400, 1800, 600, 1900), clickable=True)
    below = text("Send", (450, 1910, 550, 1950))

    assert ruling(at(icon), screen(icon, below)) == "ask"


@pytest.mark.parametrize(
    ("changes", "expected"),
    [
        ({"description": "Send"}, "ask"),
        ({"resource_id": "org.example:id/send_button"}, "ask"),
        ({"resource_id": "org.example:id/btnSend"}, "ask"),
        ({"resource_id": "org.example:id/sender_name"}, "allow"),
        ({"description": "Attach a file"}, "allow"),
        ({}, "ask"),
    ],
)
def test_an_icon_is_what_its_description_or_id_says_and_a_silent_one_is_asked_about(
    changes, expected
):
    icon = Element("android.widget.ImageButton", (900, 900, 990, 990), clickable=True, **changes)

    assert ruling(at(icon), screen(icon)) == expected


def test_an_overlay_does_not_hide_what_it_covers():
    pay = button("Pay", top=500)
    cover = Element("android.view.View", (0, 0, 1000, 2000), text="Play a game", clickable=True)

    assert ruling(at(pay), screen(pay, cover)) == "ask"


def test_an_overlay_of_a_forbidden_app_is_denied():
    rules = GuardRules(forbidden_packages=("org.evil.*",))
    cover = Element("android.view.View", (0, 0, 1000, 2000), text="x", package="org.evil.overlay")

    assert ruling(tap(0.5, 0.5), screen(cover), rules) == "deny"


def test_a_background_does_not_speak_for_all_that_lies_on_it():
    root = Element("android.view.View", (0, 0, 1000, 2000), clickable=True)
    shown = screen(root, button("Open", top=100), text("Please send money", (0, 900, 900, 950)))

    assert ruling(tap(0.5, 0.075), shown) == "allow"


def test_a_touch_on_nothing_is_asked_about():
    assert ruling(tap(0.5, 0.9), screen(button("Open"))) == "ask"


@pytest.mark.parametrize("label", ["🗑", "➤", "\u202edneS"])
def test_a_picture_or_a_word_written_backwards_is_asked_about(label):
    assert ruling(tap(0.5, 0.02), screen(button(label))) == "ask"


@pytest.mark.parametrize("kind", [ActionKind.LONG_PRESS, ActionKind.DOUBLE_TAP])
def test_every_kind_of_touch_counts(kind):
    assert ruling(Action(kind, x=0.5, y=0.02), screen(button("Delete"))) == "ask"


def test_a_drag_to_the_trash_and_a_slide_to_pay_are_touches():
    shown = screen(button("Photo"), button("Trash", top=1800), button("Slide to pay", top=900))

    dropped = Action(ActionKind.DRAG, x=0.5, y=0.02, x2=0.5, y2=0.92)
    slid = Action(ActionKind.SWIPE, x=0.1, y=0.47, x2=0.9, y2=0.47)
    harmless = Action(ActionKind.SWIPE, x=0.5, y=0.02, x2=0.6, y2=0.03)
    assert ruling(dropped, shown) == "ask"
    assert ruling(slid, shown) == "ask"
    assert ruling(harmless, shown) == "allow"


def test_scrolling_is_harmless_but_not_across_a_slider():
    slider = Element(BUTTON, (0, 900, 1000, 1000), text="Slide to pay", clickable=True)
    page = Element("android.widget.ListView", (0, 0, 1000, 2000), scrollable=True)

    assert ruling(scroll(Direction.DOWN), screen(slider, page)) == "allow"
    assert ruling(scroll(Direction.DOWN, 1), screen(slider, page)) == "allow"
    assert ruling(scroll(Direction.RIGHT, 0), screen(slider, page)) == "ask"


def test_a_dialogs_ok_is_as_sensitive_as_what_it_agrees_to():
    question = text("Delete “Holiday”?", (0, 500, 1000, 600))
    agree = Element(BUTTON, (500, 700, 900, 800), text="OK", clickable=True)
    back = Element(BUTTON, (100, 700, 480, 800), text="Cancel", clickable=True)

    assert ruling(at(agree), screen(question, agree, back)) == "ask"
    assert ruling(at(back), screen(question, agree, back)) == "allow"
    assert ruling(at(agree), screen(text("All done", (0, 500, 1000, 600)), agree)) == "allow"


@pytest.mark.parametrize(
    ("shown", "expected"),
    [
        (screen(field("hello", resource_id="a:id/message_input")), "ask"),
        (screen(field("", resource_id="a:id/search_src_text")), "allow"),
        (screen(field("", description="Search settings")), "allow"),
        (screen(field("Search")), "allow"),
        (screen(field("find me at noon")), "ask"),
        (screen(), "ask"),
        (screen(Element(BUTTON, (0, 0, 9, 9), text="Pay", focused=True)), "ask"),
        (screen(Element(BUTTON, (0, 0, 9, 9), text="Next", focused=True)), "allow"),
    ],
)
def test_enter_is_asked_about_unless_it_only_searches(shown, expected):
    assert ruling(press(Key.ENTER), shown) == expected


def test_a_line_break_and_the_keyboards_lowest_row_are_enter():
    shown = replace(screen(field("hello")), keyboard_shown=True)

    assert ruling(type_text("hello\n"), shown) == "ask"
    assert ruling(tap(0.95, 0.97), shown) == "ask"
    assert ruling(type_text("hello"), shown) == "allow"


def test_what_was_typed_into_a_field_is_no_button_but_a_field_that_says_pay_is():
    assert ruling(at(field("Send a message")), screen(field("Send a message"))) == "allow"
    assert ruling(at(field("Pay")), screen(field("Pay"))) == "ask"


@pytest.mark.parametrize("said", ["Удалить файл", "Отправить", "Ѕend", "Αποστολή", "שלח", "ส่ง"])
def test_what_nobody_can_read_is_asked_about(said):
    assert ruling(at(button(said)), screen(button(said))) == "ask"


@pytest.mark.parametrize(
    "shown",
    [
        replace(screen(button("Open")), marks=(ScreenMark.SECURE,)),
        screen(button("Open"), text("Card number", (0, 500, 1000, 600))),
        screen(button("Open"), text("Kartennummer", (0, 500, 1000, 600))),
        screen(button("Open"), text("カード番号", (0, 500, 1000, 600))),
        screen(button("Open"), text("رقم البطاقة", (0, 500, 1000, 600))),
        screen(button("Open"), Element(BUTTON, (0, 500, 9, 600), resource_id="a:id/cvv_field")),
        screen(button("Open"), field(top=500, password=True)),
        screen(button("Open"), field(top=500, resource_id="a:id/password_visible")),
        replace(screen(button("Open")), activity="org.example.CheckoutActivity"),
        screen(button("Open"), package="com.paypal.android.p2pmobile"),
    ],
)
def test_a_forbidden_screen_can_only_be_left(shown):
    assert ruling(at(button("Open")), shown) == "deny"
    assert ruling(type_text("x"), shown) == "deny"
    assert ruling(press(Key.BACK), shown) == "allow"
    assert ruling(press(Key.HOME), shown) == "allow"


def test_a_slot_goes_where_it_belongs():
    rules = replace(OWNED, screens=())
    plain, secret = screen(field()), screen(field(password=True))

    assert ruling(type_text(SlotRef("password_1")), secret, rules) == "allow"
    assert ruling(type_text("⟨password_1⟩"), secret, rules) == "allow"
    assert ruling(type_text("⟨password_1⟩"), plain, rules) == "deny"
    assert ruling(type_text("my password: ⟨password_1⟩"), plain, rules) == "deny"
    assert ruling(type_text(SlotRef("card_1")), plain, rules) == "ask"
    assert ruling(type_text(SlotRef("owner_1")), plain, rules) == "ask"
    assert ruling(type_text(SlotRef("phone_1")), plain, rules) == "allow"


@pytest.mark.parametrize("typed", ["*2767*3855#", "*#06#", "##002#", "＊＃06＃"])
def test_a_service_code_is_asked_about(typed):
    assert ruling(type_text(typed), screen(field())) == "ask"


def test_an_app_may_be_named_by_its_label():
    rules = GuardRules(allowed_packages=("org.example.notes",), forbidden_packages=("com.bank.*",))

    assert ruling(open_app("Notes"), screen(), rules) == "allow"
    assert ruling(open_app("Bank"), screen(), rules) == "deny"
    assert ruling(open_app("Chess"), screen(), rules) == "deny"
    assert ruling(open_app("ORG.EXAMPLE.NOTES"), screen(), rules) == "allow"


def test_the_strictest_rule_wins_where_several_apply():
    rules = parse_rules('[guard.consequential.pay]\nthen = "deny"', base=OWNED)

    assert ruling(at(button("Send and pay")), screen(button("Send and pay")), rules) == "deny"


def test_a_ruling_names_its_rule_and_element():
    shown = screen(button("Open"), button("Absenden", top=100))

    assert decide(tap_element(shown, 1), shown, OWNED) == AskOwner(
        "May I touch “Absenden”?", "guard.consequential.send: absenden", 1
    )


def test_real_screens_can_always_be_decided(shared_data):
    decided = 0
    for file in sorted((shared_data / "ui_dumps").glob("*.xml")):
        try:
            roots = parse(file.read_bytes()).roots
        except HierarchyError:
            continue
        width = max((root.bounds[2] for root in roots), default=0) or 1080
        height = max((root.bounds[3] for root in roots), default=0) or 1920
        elements = elements_of(roots, width, height)[:80]
        shown = Observation(width, height, elements, package="org.example")
        found = {ruling(tap_element(shown, index), shown) for index in range(len(elements))}
        assert found <= {"allow", "ask", "deny"}, file
        decided += len(elements)
    assert decided > 300
