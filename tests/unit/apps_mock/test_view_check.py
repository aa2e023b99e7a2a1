from __future__ import annotations

import pytest

from apps_mock.errors import ViewError
from apps_mock.layout import lay_out
from apps_mock.look import draw_look
from apps_mock.places import Window
from apps_mock.view_check import view_fault
from apps_mock.widgets import Button, Chip, Chips, Event, Field, Option, Picker, Row, Screen, Text
from sync.vocabulary import Split

LOOK = draw_look(Split.TRAIN, 1)
WINDOW = Window("org.example.app", LOOK.width_px, LOOK.height_px, 0, "", keyboard=False)


@pytest.mark.parametrize(
    ("screen", "said"),
    [
        (Screen("Home", (Row(None),)), "the screen 'Home': Row.title is None; it has to be str"),
        (Screen("Home", [Text("a")]), "Screen.body is [Text("),
        (Screen("Home", (Field("a", "A", 3),)), "Field.text is 3; it has to be str"),
        (Screen("Home", ("words",)), "Screen.body is ('words',)"),
        (
            Screen("Home", (Chips((Chip("All", selected=True, on_tap="go"),)),)),
            "Chip.on_tap is 'go'; it has to be Event",
        ),
        (
            Screen("Home", (Picker("p", "P", "", options=[Option("a", "A")]),)),
            "Picker.options is [Option(",
        ),
        (
            Screen("Home", (Picker("p", "P", "", kind="colour"),)),
            "it has to be 'choice' or 'date' or 'time'",
        ),
        (Screen("Home", (), Button("Save", Event("save"))), "Screen.actions is Button("),
        (None, "the view gave None; it has to give a Screen"),
    ],
)
def test_the_first_fault_is_named_with_widget_field_and_what_it_needs(screen, said):
    assert said in view_fault(screen)


def test_a_view_without_faults_says_nothing():
    body = (Row("a", on_tap=Event("go")), Chips((Chip("b", selected=True, on_tap=Event("x")),)))

    assert view_fault(Screen("Home", body, (Button("Save", Event("save")),))) == ""


@pytest.mark.parametrize("body", [(Row(None),), [Text("a")], (Text(["a"]),)])
def test_a_layout_that_fails_says_why(body):
    with pytest.raises(ViewError, match="it has to be"):
        lay_out(Screen("Home", body), LOOK, WINDOW)
