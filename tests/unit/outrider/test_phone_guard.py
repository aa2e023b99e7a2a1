"""`outrider phone guard`: what a person sees of the rules."""

import json
import tomllib

import pytest

from device_runtime.actions_as_text import read_action
from outrider import cli
from sync.vocabulary import (
    ActionKind,
    Element,
    Key,
    Observation,
    SlotRef,
    open_app,
    press,
    tap,
    tap_element,
    type_text,
)

DUMP = """<hierarchy rotation="0">
<node class="FrameLayout" package="a.mail" bounds="[0,0][1000,2000]">
<node class="TextView" text="Draft" package="a.mail" bounds="[0,0][1000,100]"/>
<node class="View" clickable="true" package="a.mail" bounds="[0,200][1000,300]">
<node class="TextView" text="Absenden" package="a.mail" bounds="[400,220][600,280]"/>
</node>
<node class="Button" text="Open" clickable="true" package="a.mail" bounds="[0,400][1000,500]"/>
</node></hierarchy>"""


@pytest.fixture
def dump(tmp_path):
    file = tmp_path / "screen.xml"
    file.write_text(DUMP)
    return file


def run(capsys, *words):
    code = cli.run(["phone", "guard", *map(str, words)])
    captured = capsys.readouterr()
    return code, captured.out, captured.err


def explain(capsys, dump, action, *more):
    code, out, err = run(capsys, "explain", "--screen", dump, "--action", action, *more, "--json")
    assert (code, err) == (0, "")
    return json.loads(out.splitlines()[-1])


def test_what_is_shown_is_a_file_that_can_be_used(capsys, tmp_path):
    code, out, _ = run(capsys, "show")
    assert code == 0
    assert tomllib.loads(out)["guard"]["consequential"]["send"]["then"] == "ask"
    file = tmp_path / "guard.toml"
    file.write_text(out)

    code, out, _ = run(capsys, "check", file, "--json")

    assert code == 0
    assert json.loads(out)["valid"] is True


def test_a_wrong_file_is_misuse_that_names_the_key(capsys, tmp_path):
    file = tmp_path / "guard.toml"
    file.write_text("[guard.consequential.send]\nthen = 'never'")

    code, out, err = run(capsys, "check", file)

    assert (code, out) == (2, "")
    assert err.count("\n") == 1
    assert "guard.consequential.send.then cannot be 'never': write \"deny\"" in err


def test_it_says_what_would_happen_and_which_rule_and_element_made_it_so(capsys, dump):
    found = explain(capsys, dump, "tap:500,250")

    assert found["ruling"] == "ask"
    assert found["rule"] == "guard.consequential.send: absenden"
    assert found["element"]["text"] == "Absenden"
    assert found["reason"] == "May I touch “Absenden”?"


@pytest.mark.parametrize(
    ("action", "more", "ruling"),
    [
        ("tap:500,450", [], "allow"),
        ("tap:0.5,0.125", [], "ask"),
        ('{"kind": "long_press", "x": 20, "y": 250}', [], "ask"),
        ('{"kind": "tap", "element": 2}', [], "ask"),
        ("tap:500,1900", [], "ask"),
        ("key:enter", [], "ask"),
        ("key:back", ["--secure"], "allow"),
        ("tap:500,450", ["--secure"], "deny"),
        ("tap:500,450", ["--activity", "org.example.PaymentActivity"], "deny"),
        ("tap:500,450", ["--package", "com.paypal.android"], "deny"),
        ("open_app:com.paypal.android", [], "deny"),
    ],
)
def test_every_kind_of_action_can_be_asked_about(capsys, dump, action, more, ruling):
    assert explain(capsys, dump, action, *more)["ruling"] == ruling


def test_rules_of_ones_own_decide(capsys, dump, tmp_path):
    rules = tmp_path / "guard.toml"
    rules.write_text('[guard.consequential.send]\nthen = "deny"')

    assert explain(capsys, dump, "tap:500,250", "--rules", rules)["ruling"] == "deny"


@pytest.mark.parametrize(
    ("action", "says"),
    [
        ("tap:1", "write tap:X,Y"),
        ("fly", "no action is called 'fly'"),
        ("{", "no JSON"),
        ("[1]", "no action is called"),
        ('{"kind": "tap"}', "needs x, y"),
        ('{"kind": "tap", "z": 1}', "has no z"),
        ("tap:#77", "has no element 77"),
        ("tap:9999,5", "outside the screen"),
        ("key:power", "power"),
    ],
)
def test_an_action_that_is_none_is_misuse(capsys, dump, action, says):
    code, out, err = run(capsys, "explain", "--screen", dump, "--action", action)

    assert (code, out) == (2, "")
    assert says in err


def test_a_screen_that_is_none_is_misuse(capsys, tmp_path):
    file = tmp_path / "screen.xml"
    file.write_text("ERROR: null root node")

    code, _, err = run(capsys, "explain", "--screen", file, "--action", "key:back")

    assert code == 2
    assert "is no screen" in err
    assert run(capsys, "explain", "--action", "key:back")[0] == 2


SHOWN = Observation(1000, 2000, (Element("Button", (0, 0, 100, 100)),))


@pytest.mark.parametrize(
    ("text", "action"),
    [
        ("tap:500,1000", tap(0.5, 0.5)),
        ("tap:0.5,0.5", tap(0.5, 0.5)),
        ("long_press:#0", tap_element(SHOWN, 0, ActionKind.LONG_PRESS)),
        ("type:a: b", type_text("a: b", clear=False)),
        ("key:enter", press(Key.ENTER)),
        ("open_app:Notes", open_app("Notes")),
        (
            '{"kind": "type", "text": {"slot": "card_1"}}',
            type_text(SlotRef("card_1"), clear=False),
        ),
    ],
)
def test_actions_are_read_as_they_are_typed(text, action):
    assert read_action(text, SHOWN) == action
