"""The files that a new app begins with: a working app with one task that passes every gate."""

from __future__ import annotations

import keyword
from pathlib import Path

from apps_mock.errors import AppNameError
from apps_mock.registry import APPS

_APP = '''"""The __NAME__ app: people with a number each, pages to add and remove them."""

from __future__ import annotations

from dataclasses import dataclass, replace

from apps_mock.app import App, AppState, Page
from apps_mock.entities import Draw
from apps_mock.look import Look, wording
from apps_mock.plans import Entry, Fill, Press
from apps_mock.records import find, fresh_id, without
from apps_mock.templates import Instance, Template
from apps_mock.wanted import Change
from apps_mock.widgets import Button, Event, Field, Row, Screen, Text, Widget

NUMBER = wording("Number", "Member number", held_out=("No. of the member",))
"""What the look may write in one way or another; texts that never vary go through `look.say`."""


@dataclass(frozen=True, slots=True)
class Member:
    """A record: frozen, with an `id`."""

    id: str
    name: str
    number: str


@dataclass(frozen=True, slots=True)
class __CLASS__Data:
    """All that the app keeps: tables of records. Verifiers compare it as a whole."""

    members: tuple[Member, ...]


def fixture(draw: Draw) -> __CLASS__Data:
    """What is in the app before a task is set up; `draw` keeps the splits' names apart."""
    count = draw.random.randrange(4, 8)
    return __CLASS__Data(
        tuple(Member(f"m{index}", draw.name(), draw.phone()) for index in range(count))
    )


def update(state: AppState[__CLASS__Data], event: Event) -> AppState[__CLASS__Data]:
    """The state after an event; going to pages, going back and typing are done elsewhere."""
    members = state.data.members
    match event.name:
        case "save":
            return _saved(state)
        case "delete":
            return state.with_data(__CLASS__Data(without(members, event.value))).popped(2)
        case _:
            return state


def _saved(state: AppState[__CLASS__Data]) -> AppState[__CLASS__Data]:
    members, page = state.data.members, state.page
    name, number = page.draft("name").strip(), page.draft("number").strip()
    if not name:
        return state
    member = Member(fresh_id(members, "m"), name, number)
    return state.with_data(replace(state.data, members=(*members, member))).popped()


def view(state: AppState[__CLASS__Data], look: Look) -> Screen:
    """What the page on top shows."""
    page = state.page
    match page.name:
        case "home":
            return _home(state.data, look)
        case "add":
            return _form(page, look)
        case "delete":
            return _question(state.data, page, look)
        case _:
            return _member(state.data, page, look)


def _home(data: __CLASS__Data, look: Look) -> Screen:
    rows: list[Widget] = [
        Row(member.name, member.number, on_tap=Event("go", "member", member.id))
        for member in look.ordered(data.members, lambda member: member.id)
    ]
    if not rows:
        rows.append(Text(look.say("Nobody is here yet")))
    rows += [Text(line) for line in look.noise("__NAME__")]
    add = Button(look.word("add"), Event("go", "add"), primary=True)
    return Screen(look.say("__LABEL__"), tuple(rows), (add,), back=False)


def _form(page: Page, look: Look) -> Screen:
    fields = (
        Field("name", look.word("name"), page.draft("name")),
        Field("number", look.word(NUMBER), page.draft("number")),
    )
    save = Button(look.word("save"), Event("save"), primary=True)
    return Screen(look.word("add"), fields, (save,))


def _member(data: __CLASS__Data, page: Page, look: Look) -> Screen:
    member = find(data.members, page.argument)
    if member is None:
        return Screen(look.say("__LABEL__"), (Text(look.say("Nobody is here yet")),))
    delete = Button(look.word("delete"), Event("go", "delete", member.id))
    return Screen(member.name, (Row(look.word(NUMBER), member.number),), (delete,))


def _question(data: __CLASS__Data, page: Page, look: Look) -> Screen:
    member = find(data.members, page.argument)
    actions = (
        Button(look.word("keep"), Event("back")),
        Button(look.word("yes"), Event("delete", page.argument), primary=True),
    )
    body = (Text(member.name if member else ""),)
    return Screen(look.word("delete"), body, actions, dialog=True)


APP: App[__CLASS__Data] = App(
    name="__NAME__",
    label="__LABEL__",
    package="org.outrider.clones.__NAME__",
    update=update,
    view=view,
)


def _add(draw: Draw) -> Instance:
    """One task: start state, goal, verifier and oracle plan from one draw."""
    data, name, number = fixture(draw), draw.name(), draw.phone()
    return Instance(
        words={"name": name, "number": number},
        data=data,
        plan={
            ("home", ""): Press(Event("go", "add")),
            ("add", ""): Fill((Entry("name", name), Entry("number", number)), Event("save")),
        },
        changes=(Change("members", None, (("name", name), ("number", number))),),
    )


TEMPLATES: tuple[Template, ...] = (
    Template(
        name="__NAME___add",
        app="__NAME__",
        oracle_steps=8,
        phrasings=(
            "Add {name} with the number {number} in __LABEL__",
            "In __LABEL__ create an entry for {name} whose number is {number}",
        ),
        held_out=("__LABEL__ lacks {name} with the number {number} so put this in",),
        set_up=_add,
    ),
)
'''

_TEXTS = """# What the __NAME__ app says, in other languages: replace what is not translated yet.

["__LABEL__"]
de = "__LABEL__"
ja = "__LABEL__"
ar = "__LABEL__"

["Number"]
de = "Nummer"
ja = "番号"
ar = "الرقم"

["Member number"]
de = "Mitgliedsnummer"
ja = "会員番号"
ar = "رقم العضو"

["No. of the member"]
de = "Nr. des Mitglieds"
ja = "会員の番号"
ar = "رقم عضوية"

["Nobody is here yet"]
de = "Noch ist niemand hier"
ja = "まだ誰もいません"
ar = "لا أحد هنا بعد"

["Add {name} with the number {number} in __LABEL__"]
de = "Füge {name} mit der Nummer {number} in __LABEL__ hinzu"
ja = "__LABEL__ に {name} を番号 {number} で追加して"
ar = "أضف {name} بالرقم {number} في __LABEL__"

["In __LABEL__ create an entry for {name} whose number is {number}"]
de = "Lege in __LABEL__ einen Eintrag für {name} mit der Nummer {number} an"
ja = "__LABEL__ で番号が {number} の {name} を登録して"
ar = "أنشئ في __LABEL__ مدخلا باسم {name} ورقمه {number}"

["__LABEL__ lacks {name} with the number {number} so put this in"]
de = "In __LABEL__ fehlt {name} mit der Nummer {number} also trage das ein"
ja = "__LABEL__ に番号 {number} の {name} がないので入れて"
ar = "ينقص {name} بالرقم {number} في __LABEL__ فأدخله"
"""


def write_app(name: str, folder: Path) -> tuple[Path, Path]:
    """Write a new app's file and its translations into a folder; returns both paths.

    Raises: AppNameError: the name cannot be used, or a file of that name is there already.
    """
    if keyword.iskeyword(name):
        raise AppNameError(
            f"{name!r} is a word of Python's own and cannot be an app's name: choose another, such "
            f"as {name}_app"
        )
    if not (name.isidentifier() and name.islower() and name.isascii()):
        raise AppNameError(
            f"{name!r} cannot be an app's name: use small letters, digits and _, such as pantry"
        )
    if name in APPS:
        raise AppNameError(f"there is an app called {name!r} already; choose another name")
    app, texts = folder / f"{name}.py", folder / f"{name}.toml"
    for path in (app, texts):
        if path.exists():
            raise AppNameError(f"{path} is there already; move it, or choose another name")
    folder.mkdir(parents=True, exist_ok=True)
    app.write_text(_filled(_APP, name), encoding="utf-8")
    texts.write_text(_filled(_TEXTS, name), encoding="utf-8")
    return app, texts


def _filled(template: str, name: str) -> str:
    words = name.split("_")
    label = " ".join(words).strip().capitalize()
    class_name = "".join(word.capitalize() for word in words)
    filled = template.replace("__NAME__", name)
    return filled.replace("__LABEL__", label).replace("__CLASS__", class_name)
