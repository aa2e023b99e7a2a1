"""What a person plays on the page: one clone phone, and what the page shows of it.

No threads and no network here: `clones_play_server` serves it.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import fields, is_dataclass, replace
from typing import Any, Final

from apps_mock.errors import AppCrashError
from apps_mock.live_phone import KEY_BACK, KEY_DELETE, KEY_ENTER, KEY_HOME, KEY_RECENTS
from apps_mock.phone import MockPhone
from apps_mock.phone_state import PhoneState
from apps_mock.records import tables_of
from apps_mock.registry import APPS
from device_runtime.ui_tree import Node
from outrider.errors import MisuseError
from sync.vocabulary import Action, FinishStatus, Split, answer, finish

Json = dict[str, Any]  # Any: what JSON can hold

KEYS: Final = {
    "back": KEY_BACK,
    "delete": KEY_DELETE,
    "enter": KEY_ENTER,
    "home": KEY_HOME,
    "recents": KEY_RECENTS,
}
PICTURE_WIDTH_PX: Final = 720
_MOST_TEXT: Final = 2000
_FARTHEST_PX: Final = 100_000


class PlayError(MisuseError):
    """The page asked for something that cannot be done; the text says what can."""


class PlaySession:
    """One clone, played by hand.

    Args:
        template: name of the task's template.
        seed: the first task's; "next" goes to the one after it.
        look: number of the look.
    """

    def __init__(self, template: str, *, seed: int, split: Split, look: int) -> None:
        self._template, self._split, self._look = template, split, look
        self._seed = seed
        self._phone = MockPhone(state_hashes=True)
        self._claim: Action | None = None
        self._steps = 0
        self._load()
        self._moves: dict[str, Callable[[Json], None]] = {
            "tap": self._tap,
            "swipe": self._swipe,
            "text": self._text,
            "key": self._key,
            "finish": self._finish,
            "answer": self._answer,
            "restart": self._restart,
            "next": self._next,
        }

    @property
    def template(self) -> str:
        """Name of the task's template."""
        return self._template

    @property
    def goal(self) -> str:
        """What shall be done."""
        return self._phone.task.goal

    def outcome(self) -> Json:
        """What came of the task that was played last."""
        verdict = self._verdict()
        return {
            "template": self._template,
            "seed": self._seed,
            "steps": self._steps,
            "claimed": verdict["claimed"],
            "success": verdict["success"],
            "progress": verdict["progress"],
        }

    def act(self, move: Json) -> None:
        """Do what the page says: {"kind": "tap", "x": 540, "y": 1200} and the like.

        Raises: PlayError: no such move, or a figure of it is missing or none.
        """
        kind = move.get("kind")
        do = self._moves.get(kind) if isinstance(kind, str) else None
        if do is None:
            raise PlayError(f"no move is called {kind!r}; there are {', '.join(self._moves)}")
        do(move)

    def picture(self) -> bytes:
        """The screen as PNG."""
        from apps_mock.render import draw, png_of

        return png_of(draw(self._phone.scene(), width_px=PICTURE_WIDTH_PX))

    def svg(self) -> str:
        """The screen as SVG."""
        from apps_mock.svg import svg

        return svg(self._phone.scene())

    def view(self) -> Json:
        """Everything that the page shows beside the picture."""
        phone = self._phone
        task = phone.task
        _, _, width, height = phone.tree().bounds
        return {
            "task": task.template.name,
            "app": task.template.app,
            "seed": task.seed,
            "look": task.look,
            "goal": task.goal,
            "steps": self._steps,
            "step_budget": task.template.info().step_budget,
            "width": width,
            "height": height,
            "picture": phone.generation,
            "keyboard": phone.keyboard_shown,
            "focus": phone.state.focus,
            "front": "/".join(phone.foreground()),
            "state_hash": phone.state_hash(),
            "tree": _tree_json(phone.tree()),
            "state": _state_json(task.state, phone.state),
            "crash": self._crash(),
            "verdict": self._verdict(),
        }

    def _load(self) -> None:
        self._phone.load(self._template, self._seed, self._split, self._look)
        self._claim, self._steps = None, 0

    def _crash(self) -> str:
        """What broke in the last move, for whoever writes the app; empty for nothing."""
        try:
            self._phone.raise_crash()
        except AppCrashError as crash:
            return str(crash)
        return ""

    def _verdict(self) -> Json:
        verdict = self._phone.current_verdict(self._claim)
        checks = list(verdict.checks)
        if self._claim is None:
            checks[-1] = replace(checks[-1], passed=False, reason="the task goes on")
        return {
            "claimed": _claim_text(self._claim),
            "success": self._claim is not None and verdict.success,
            "reached": verdict.goal_reached,
            "progress": verdict.progress,
            "checks": [
                {"name": check.name, "passed": check.passed, "reason": check.reason}
                for check in checks
            ],
        }

    def _tap(self, move: Json) -> None:
        held = _number(move, "duration_ms", 0)
        self._phone.touch(_number(move, "x"), _number(move, "y"), duration_ms=held)
        self._steps += 1

    def _swipe(self, move: Json) -> None:
        start = _number(move, "x"), _number(move, "y")
        self._phone.swipe(*start, _number(move, "x2"), _number(move, "y2"))
        self._steps += 1

    def _text(self, move: Json) -> None:
        text = move.get("text")
        if not isinstance(text, str) or not 0 < len(text) <= _MOST_TEXT:
            raise PlayError(f"text is a string of 1 to {_MOST_TEXT} characters")
        self._phone.type_text(text)
        self._steps += 1

    def _key(self, move: Json) -> None:
        keycode = KEYS.get(str(move.get("key")))
        if keycode is None:
            raise PlayError(f"no key is called {move.get('key')!r}; there are {', '.join(KEYS)}")
        self._phone.press(keycode)
        self._steps += 1

    def _finish(self, move: Json) -> None:
        status = "infeasible" if move.get("status") == "infeasible" else "complete"
        self._claim = finish(FinishStatus(status))

    def _answer(self, move: Json) -> None:
        text = str(move.get("text", "")).strip()[:_MOST_TEXT]
        if not text:
            raise PlayError("an answer has some text")
        self._claim = answer(text)

    def _restart(self, _move: Json) -> None:
        self._load()

    def _next(self, _move: Json) -> None:
        self._seed += 1
        self._load()


def _number(move: Json, name: str, default: int | None = None) -> int:
    value = move.get(name, default)
    if not isinstance(value, int | float) or isinstance(value, bool):
        raise PlayError(f"{name} is a number of pixels, not {value!r}")
    pixels = float(value)
    if not -_FARTHEST_PX <= pixels <= _FARTHEST_PX:  # refuses nan, too
        raise PlayError(f"{name} is {value}, farther than any screen reaches")
    return round(pixels)


def _claim_text(claim: Action | None) -> str:
    if claim is None:
        return ""
    return str(claim.text) or (claim.status.value if claim.status else "")


_FLAGS: Final = (
    "clickable",
    "long_clickable",
    "checkable",
    "checked",
    "focused",
    "selected",
    "scrollable",
    "password",
)


def _tree_json(node: Node) -> Json:
    return {
        "class": node.class_name.rpartition(".")[2],
        "text": node.text,
        "description": node.description,
        "id": node.resource_id.rpartition("/")[2],
        "bounds": node.bounds,
        "flags": [flag for flag in _FLAGS if getattr(node, flag)]
        + ([] if node.enabled else ["disabled"]),
        "children": [_tree_json(child) for child in node.children],
    }


def _state_json(before: PhoneState, after: PhoneState) -> Json:
    """The state for reading, with what differs from the start."""
    phone = [
        _field_json(entry.name, getattr(before, entry.name), getattr(after, entry.name))
        for entry in fields(after)
        if entry.name not in {"apps", "foreground"}
    ]
    front = _field_json("foreground", before.foreground or "home", after.foreground or "home")
    olds = dict(before.apps)
    apps = [_app_json(name, olds.get(name), state) for name, state in after.apps]
    return {"phone": [front, *phone], "apps": [app for app in apps if app is not None]}


def _app_json(name: str, old: Any, new: Any) -> Json | None:  # Any: the state of any app
    if new.data is None:
        return None
    before = dict(tables_of(old.data)) if old is not None else {}
    tables = [
        _table_json(table, before.get(table, ()), records) for table, records in tables_of(new.data)
    ]
    pages = [
        {"name": page.name, "argument": page.argument, "drafts": page.drafts} for page in new.stack
    ]
    return {
        "name": name,
        "label": APPS[name].label if name in APPS else name,
        "changed": any(table["changed"] for table in tables),
        "tables": tables,
        "pages": pages,
    }


def _table_json(name: str, old: tuple[Any, ...], new: tuple[Any, ...]) -> Json:  # Any: any record
    known = {record.id: record for record in old}
    present = {record.id for record in new}
    records = [_record_json(known.get(record.id), record) for record in new]
    gone = [record for record in old if record.id not in present]
    records.extend(
        {"id": record.id, "status": "removed", "fields": _record_json(record, record)["fields"]}
        for record in gone
    )
    changed = any(record["status"] != "same" for record in records)
    return {"name": name, "changed": changed, "records": records}


def _record_json(old: Any, new: Any) -> Json:  # Any: a record of any app
    shown = [
        _field_json(entry.name, getattr(old or new, entry.name), getattr(new, entry.name))
        for entry in fields(new)
        if entry.name != "id"
    ]
    status = "added" if old is None else "same"
    if any("was" in field for field in shown):
        status = "changed"
    return {"id": new.id, "status": status, "fields": shown}


def _field_json(name: str, before: object, after: object) -> Json:
    shown: Json = {"name": name, "value": _readable(after)}
    if before != after:
        shown["was"] = _readable(before)
    return shown


def _readable(value: object) -> str:
    if isinstance(value, tuple | list):
        return ", ".join(_readable(item) for item in value) or "–"
    if is_dataclass(value) and not isinstance(value, type):
        parts = (f"{entry.name} {_readable(getattr(value, entry.name))}" for entry in fields(value))
        return "; ".join(parts)
    if isinstance(value, bool):
        return "yes" if value else "no"
    return str(value) if value not in {None, ""} else "–"
