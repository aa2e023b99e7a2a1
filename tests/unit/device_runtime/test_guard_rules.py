import pytest

from device_runtime.errors import SettingsError
from device_runtime.guard_rules import GuardRules, Then, fits, owned_rules, parse_rules, read_rules

OWNED = owned_rules()


def consequence(rules, name):
    return next(one for one in rules.consequences if one.name == name)


def test_the_shipped_rules_speak_four_languages():
    for one in OWNED.consequences:
        assert {"en", "de", "ja", "ar"} <= set(one.wording.words), one.name
        assert one.then is Then.ASK
    assert {one.name: one.then for one in OWNED.screens} == {
        "secure": Then.DENY,
        "password": Then.DENY,
        "payment": Then.DENY,
    }
    assert not OWNED.types_passwords


def test_a_file_changes_what_it_names_and_nothing_else():
    rules = parse_rules(
        '[guard]\nallowed_packages = ["org.example.*"]\n'
        '[guard.consequential.send]\nthen = "allow"\nen = ["dispatch"]\n'
        '[guard.consequential.feed]\nen = ["feed"]\n'
        "[guard.conditions]\nwifi = true\n",
        base=OWNED,
    )

    send = consequence(rules, "send")
    assert rules.allowed_packages == ("org.example.*",)
    assert send.then is Then.ALLOW
    assert send.wording.words["en"] == ("dispatch",)
    assert send.wording.words["de"] == consequence(OWNED, "send").wording.words["de"]
    assert consequence(rules, "feed").then is Then.ASK
    assert consequence(rules, "pay") == consequence(OWNED, "pay")
    assert rules.conditions.wifi
    assert rules.conditions.battery_percent == OWNED.conditions.battery_percent
    assert rules.screens == OWNED.screens


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("[guard", "no TOML"),
        ("[gaurd]", "no [guard] table"),
        ("guard = 1", "not a table"),
        ("[guard]\nallowed_package = []", "unknown key 'allowed_package'"),
        ("[guard]\nallowed_packages = 'a'", "guard.allowed_packages cannot be 'a'"),
        ("[guard]\nallowed_packages = ['']", "without empty texts"),
        ("[guard]\nunknown = 'maybe'", '"deny", "ask" or "allow"'),
        ("[guard]\ntypes_passwords = 1", "true or false"),
        ("[guard]\nactions_a_minute = -1", "a number from 0 up"),
        ("[guard]\nanswer_within_s = nan", "a number from 0 up"),
        ("[guard]\nscreens = 3", "a table, [guard.screens]"),
        ("[guard.screens.x]\npackage = []", "guard.screens.x has an unknown key 'package'"),
        ("[guard.consequential.send]\nword = ['x']", "unknown key 'word'"),
        ("[guard.consequential.send]\nthen = 'never'", "guard.consequential.send.then"),
        ("[guard.conditions]\nbattery = 3", "guard.conditions has an unknown key 'battery'"),
    ],
)
def test_what_is_no_rule_is_one_line_that_says_where(tmp_path, text, says):
    file = tmp_path / "guard.toml"
    file.write_text(text)

    with pytest.raises(SettingsError) as caught:
        read_rules(file)

    assert str(caught.value).startswith(f"{file}: ")
    assert says in str(caught.value)
    assert "\n" not in str(caught.value)


def test_a_file_that_is_not_there_is_one_line(tmp_path):
    with pytest.raises(SettingsError, match="cannot be read"):
        read_rules(tmp_path / "none.toml")


def test_patterns_ignore_case():
    assert fits("Com.PayPal.Android", ["com.paypal.*"]) == "com.paypal.*"
    assert fits("org.example", ["com.*"]) is None


def test_rules_that_nobody_changed_forbid_nothing():
    assert parse_rules("[guard]", base=GuardRules()) == GuardRules()
