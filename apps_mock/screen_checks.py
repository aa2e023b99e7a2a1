"""What is wrong with the screens that an oracle passes: languages, places, XML and pixels."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, fields, replace
from functools import lru_cache

from apps_mock.blame import place_of
from apps_mock.catalogue import file_of, knows
from apps_mock.dispatch import view
from apps_mock.layout_check import layout_faults
from apps_mock.look import Look, Wording, draw_look
from apps_mock.phone import MockPhone
from apps_mock.raw_texts import raw_texts
from apps_mock.registry import APPS
from apps_mock.standing import Stand, stand_of
from apps_mock.view_check import view_fault
from device_runtime.ports import Decided, Policy, PolicyRequest
from device_runtime.ui_tree import elements_of, parse


@dataclass(slots=True)
class ScreenFaults:
    """What was found, each fault once.

    Attributes:
        widgets: fields of widgets that hold what they cannot hold.
        untranslated: locale and text of what no catalogue knows, or no look said.
        layout: texts and places that lie on each other, or that are cut off.
        faces: what can be touched without being drawn.
        xml: screens whose XML says something else than their elements.
    """

    widgets: dict[str, None] = field(default_factory=dict)
    untranslated: dict[str, None] = field(default_factory=dict)
    layout: dict[str, None] = field(default_factory=dict)
    faces: dict[str, None] = field(default_factory=dict)
    xml: dict[str, None] = field(default_factory=dict)

    def texts(self) -> tuple[str, ...]:
        """One line per fault beside those of widgets."""
        return (*self.untranslated, *self.layout, *self.faces, *self.xml)


class ScreenWatch:
    """Looks at every screen on which a policy decides.

    Attributes:
        faults: what was found so far.
        compare_faces: whether pixels are compared with the view hierarchy from now on.
        stands: where the oracle stood at each decision of the episode that was watched last.

    Args:
        compared: pages whose pixels were compared already; every page is compared once.
    """

    def __init__(self, phone: MockPhone, compared: set[tuple[object, ...]]) -> None:
        self.faults = ScreenFaults()
        self.compare_faces = False
        self.stands: list[Stand] = []
        self._phone = phone
        self._compared = compared

    def watching(self, policy: Policy) -> Policy:
        """The same policy, watched; begins an episode."""
        self.stands = []
        return _Watched(self._look_at_screen, policy)

    def watching_widgets(self, policy: Policy) -> Policy:
        """The same policy; of what it meets only the widgets are checked."""
        return _Watched(self._look_at_widgets, policy)

    def _look_at_screen(self) -> None:
        """Take in the screen that shows."""
        task = self._phone.task
        look = draw_look(task.split, task.look)
        found = self.faults
        self.stands.append(stand_of(self._phone))
        self._look_at_widgets()
        found.untranslated.update(dict.fromkeys(untranslated(self._phone, look)))
        screen = view(self._phone.state, look)
        found.untranslated.update(dict.fromkeys(raw_texts(screen, look, self._phone.state, task)))
        found.layout.update(dict.fromkeys(layout_faults(self._phone.laid_out, look)))
        found.xml.update(dict.fromkeys(xml_faults(self._phone)))
        if self.compare_faces and self._is_new_page(look):
            found.faces.update(dict.fromkeys(face_faults(self._phone)))

    def _look_at_widgets(self) -> None:
        self.faults.widgets.update(dict.fromkeys(widget_faults(self._phone)))

    def _is_new_page(self, look: Look) -> bool:
        state = self._phone.state
        front = state.front
        page = (front.page.name, front.page.overlay) if front is not None else ()
        key = (state.foreground, *page, state.overlay, state.keyboard, look.seed, look.locale)
        if key in self._compared:
            return False
        self._compared.add(key)
        return True


class _Watched:
    """A policy whose screens are looked at."""

    def __init__(self, look_at: Callable[[], None], policy: Policy) -> None:
        self._look_at = look_at
        self._policy = policy
        self.wants_encoding = policy.wants_encoding

    def decide(self, requests: Sequence[PolicyRequest]) -> list[Decided]:
        """What the policy decides."""
        self._look_at()
        return self._policy.decide(requests)


@dataclass(frozen=True, slots=True, eq=False)
class _ListeningLook(Look):
    """A look that remembers what it was asked to say and has no translation for."""

    unknown: list[str] = field(default_factory=list)

    def __eq__(self, other: object) -> bool:
        """It equals no other, so that nothing that was remembered for another is taken for it."""
        return self is other

    def __hash__(self) -> int:
        return hash((self.seed, self.locale))

    def say(self, text: str) -> str:
        if not knows(text, self.locale):
            self.unknown.append(text)
        return Look.say(self, text)

    def word(self, key: str | Wording) -> str:
        text = replace(self, locale="en").word(key) if self.locale != "en" else ""
        if text and not knows(text, self.locale):
            self.unknown.append(text)
        return Look.word(self, key)


def widget_faults(phone: MockPhone) -> list[str]:
    """The first widget of the present screen that holds what it cannot hold, and which field."""
    task = phone.task
    fault = view_fault(view(phone.state, draw_look(task.split, task.look)))
    if not fault:
        return []
    app = APPS.get(phone.state.foreground)
    where = f"{place_of(app.view)}{app.name}" if app is not None else "launcher"
    return [f"{where}: {fault}"]


def untranslated(phone: MockPhone, look: Look) -> list[str]:
    """What the present screen says in English because no catalogue has it in the look's locale."""
    listening = _ListeningLook(*(getattr(look, entry.name) for entry in fields(Look)))
    view(phone.state, listening)
    where = phone.state.foreground or "launcher"
    return [
        f"{where} says {text!r} untranslated in {look.locale}; add it to {file_of(where)}"
        for text in listening.unknown
        if text not in _app_labels()
    ]


@lru_cache(maxsize=1)
def _app_labels() -> frozenset[str]:
    """Names of apps, which may be the same in every language."""
    return frozenset(app.label for app in APPS.values())


def face_faults(phone: MockPhone) -> list[str]:
    """What can be touched on the present screen without showing."""
    from apps_mock.face_check import faces_disagree  # noqa: PLC0415 - loads Pillow, when asked
    from apps_mock.render import draw  # noqa: PLC0415 - as above

    seen, scene = phone.observe(), phone.scene()
    image = draw(scene, width_px=seen.width_px // 2)
    return [f"{seen.package}: {fault}" for fault in faces_disagree(scene.root, image)]


def xml_faults(phone: MockPhone) -> list[str]:
    """Where the XML of the present screen does not parse into the elements that are observed."""
    seen = phone.observe()
    parsed = elements_of(parse(phone.tree_xml()).roots, seen.width_px, seen.height_px)
    if parsed == seen.elements:
        return []
    differ = [
        element for element, other in zip(seen.elements, parsed, strict=False) if element != other
    ]
    first = differ[0].label if differ else f"{len(seen.elements)} or {len(parsed)} elements"
    return [f"{seen.package}: the XML says something else than the screen about {first!r}"]
