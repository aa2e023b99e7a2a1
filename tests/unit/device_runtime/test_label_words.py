from pathlib import Path

import pytest

from device_runtime.guard import Allowed, decide
from device_runtime.guard_rules import owned_rules
from device_runtime.label_words import WordList, is_disguised, is_picture, scripts
from sync.vocabulary import Element, Observation, tap

RULES = owned_rules()


def kinds(label):
    harmless = RULES.harmless.in_labels
    return {
        one.name for one in RULES.consequences if one.wording.in_labels.found_in(label, harmless)
    }


@pytest.mark.parametrize(
    ("label", "kind"),
    [
        ("Send", "send"),
        ("SEND MESSAGE", "send"),
        ("Pay €12.40", "pay"),
        ("Call Alice", "call"),
        ("Move to trash", "delete"),
        ("Factory reset", "reset"),
        ("Absenden", "send"),
        ("Jetzt kaufen", "buy"),
        ("LÖSCHEN", "delete"),
        ("Loeschen", "delete"),
        ("UEBERWEISUNG AUSFÜHREN", "pay"),
        ("振り込む", "pay"),
        ("وللحذف", "delete"),
        ("Slide to order", "order"),
        ("Losche", "delete"),
        ("Kostenpflichtig bestellen", "order"),
        ("Auf Werkseinstellungen zurücksetzen", "reset"),
        ("送信する", "send"),
        ("今すぐ購入", "buy"),
        ("アンインストール", "uninstall"),
        ("注文を確定する", "order"),
        ("إرسال", "send"),
        ("ارسل", "send"),
        ("والدفع الآن", "pay"),
        ("للإرسال", "send"),
        ("تأكيد الطلب", "order"),
        ("إلغاء التثبيت", "uninstall"),
        ("اتصل", "call"),
    ],
)
def test_consequences_are_found_in_four_languages(label, kind):
    assert kind in kinds(label)


@pytest.mark.parametrize(
    "label",
    [
        "S e n d",
        "Sen d",
        "Se\u200bnd",
        "S\u00adend",
        "Ｓｅｎｄ",
        "𝗦𝗲𝗻𝗱",
        "ⓢⓔⓝⓓ",
        "🅢🅔🅝🅓",
        "🇸🇪🇳🇩",
        "s̶e̶n̶d̶",
        "ꜱᴇɴᴅ",
        "Ѕend",
        "Ѕеnԁ",
        "S3nd",
        "$end",
        "sEnD",
        "SendNow",
        "SENDNOW",
        "send_now",
        "\u202edneS\u202c Send",
        "\u200fSend",
        "Se\u2066nd\u2069",
        "puǝS",
        "ᗡNƎS puǝs",
        "S.e.n.d",
        "そうしん",
        "ソウシン",
        "ｿｳｼﾝ",
        "そ う し ん",
        "Please, send!",
        "送 信",
        "إِرْسَال",
        "ارســال",
        "ﺇﺭﺳﺎﻝ",
    ],
)
def test_a_disguised_send_is_a_send(label):
    assert "send" in kinds(label)


@pytest.mark.parametrize(
    "label",
    [
        "Sender",
        "Resend period",
        "Postcode",
        "Order history",
        "Payment history",
        "Call log",
        "Calendar",
        "Shared with me",
        "Don't allow",
        "Don’t allow",
        "Not now",
        "Cancel",
        "Buyer protection",
        "Absender",
        "Ordner",
        "Teilnehmer",
        "Postfach",
        "Nicht zulassen",
        "送信済み",
        "購入履歴",
        "電話番号",
        "許可しない",
        "المرسل",
        "عدم السماح",
        "سجل الطلبات",
        "",
    ],
)
def test_words_that_only_look_like_one_are_not(label):
    assert kinds(label) == set()


def test_a_harmless_wording_hides_nothing_beside_it():
    assert kinds("Order history · Buy again") == {"buy"}
    assert kinds("Clear call log") == {"delete"}
    assert kinds("Don't allow. Send now") == {"send"}
    assert "send" in kinds("送信済みを送信")


def lines_of(name):
    return (Path(__file__).parent / "labels" / name).read_text("utf-8").splitlines()


def asked_about(label):
    """Whether the shipped rules ask about a button that says this and nothing else."""
    button = Element("android.widget.Button", (0, 0, 100, 50), text=label, clickable=True)
    shown = Observation(100, 100, (button,), package="org.example")
    return not isinstance(decide(tap(0.5, 0.2), shown, RULES), Allowed)


def test_what_a_person_wants_to_be_asked_about_is_asked_in_every_language_and_disguise():
    assert [label for label in lines_of("sensitive.txt") if not asked_about(label)] == []


def test_what_is_harmless_is_not_asked_about():
    assert [label for label in lines_of("harmless.txt") if asked_about(label)] == []


@pytest.mark.parametrize(
    ("own_id", "expected"),
    [
        ("btn_pay", "pay"),
        ("paybtn", "pay"),
        ("ic_send", "send"),
        ("icForward", "send"),
        ("action_reply", "send"),
        ("fab_call", "call"),
        ("deleteicon", "delete"),
        ("imgShare", "share"),
        ("button_block", "block"),
        ("placeOrder", "order"),
        ("payload", None),
        ("sender_name", None),
        ("block_size", None),
        ("order_history", None),
        ("call_log_list", None),
        ("buttonPanel", None),
        ("ic_menu", None),
        ("publisher", None),
    ],
)
def test_an_icon_is_known_by_its_id(own_id, expected):
    icon = Element(
        "android.widget.ImageButton", (0, 0, 100, 50), resource_id=f"a:id/{own_id}", clickable=True
    )
    ruling = decide(tap(0.5, 0.2), Observation(100, 100, (icon,), package="org.example"), RULES)

    if expected is None:
        assert isinstance(ruling, Allowed)
    else:
        assert ruling.rule.startswith(f"guard.consequential.{expected}: ")


def test_a_word_for_the_beginning_of_a_label_counts_there_and_after_a_mark():
    assert kinds("Call Anna") == {"call"}
    assert kinds("Anna Moss, call") == {"call"}
    assert kinds("Anna · CALL NOW") == {"call"}
    assert kinds("Debate call") == set()


def test_a_word_for_whole_labels_counts_alone_only():
    assert "order" in kinds("Order")
    assert kinds("Order 672565") == set()


def test_letters_of_two_alphabets_in_one_word_are_a_disguise():
    assert is_disguised("Ѕend")
    assert not is_disguised("Send в Москву")
    assert not is_disguised("送信Send")


def test_letters_shown_backwards_are_a_disguise():
    assert is_disguised("\u202edneS")
    assert is_disguised("ʎɐԀ")
    assert not is_disguised("\u2067إرسال\u2069")


@pytest.mark.parametrize(
    ("text", "expected"),
    [("🗑️", True), ("👍🏽", True), ("🗑 3", True), ("+", False), ("21°", False), ("4/5 ★", False)],
)
def test_pictures_say_nothing(text, expected):
    assert is_picture(text) is expected
    assert not is_picture(text + " Wi-Fi")


def test_scripts_of_a_label_are_those_of_its_letters():
    assert scripts("Отправить 5") == {"CYRILLIC"}
    assert scripts("送るＡ") == {"JAPANESE", "LATIN"}
    assert scripts("12 €") == frozenset()


def test_a_list_without_words_finds_nothing():
    assert WordList.of([]).found_in("Send") is None
