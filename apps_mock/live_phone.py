"""A clone as fingers know it: one state, the screen that follows from it, touches and keys.

This is what the ADB daemon serves and what a person plays by hand. `phone` puts the port of a phone
on top of it. An app that breaks has its crash dialog on the screen; the error waits in
`raise_crash` for whoever plays an episode.
"""

from __future__ import annotations

from contextlib import suppress
from dataclasses import dataclass, replace

from apps_mock.app_names import packages_by_label
from apps_mock.digests import StateHasher
from apps_mock.dispatch import (
    crashed,
    dispatch,
    focused_field,
    go_back,
    page_view,
    turned,
    view,
)
from apps_mock.effects import clipboard_of
from apps_mock.errors import AppCrashError
from apps_mock.laid_out import LaidOut
from apps_mock.layout import lay_out, page_under
from apps_mock.look import Look, draw_look
from apps_mock.phone_state import (
    Overlay,
    PhoneState,
    focus_field,
    foreground_of,
    go_home,
    hide_keyboard,
    installed,
    is_locked,
    launch,
    scrolled,
    show_recents,
)
from apps_mock.places import Target, Window, sizes_of
from apps_mock.scene import Scene
from apps_mock.theme import theme_named
from apps_mock.widgets import Event, Field, Screen
from device_runtime.ui_tree import Node, to_xml
from sync.vocabulary import Observation, ScreenMark, Split

KEY_HOME, KEY_BACK, KEY_ENTER, KEY_DELETE = 3, 4, 66, 67
KEY_ESCAPE, KEY_RECENTS = 111, 187
LONG_PRESS_MS = 500
"""A touch that lasts this long is a long press."""

_MARKS = {
    "lock": (ScreenMark.KEYGUARD,),
    "permission": (ScreenMark.PERMISSION,),
    "crash": (ScreenMark.CRASH,),
    "hung": (ScreenMark.NOT_RESPONDING,),
}
"""What the driver of a real phone would mark a screen with, by what lies over it."""


@dataclass(frozen=True, slots=True)
class _Seen:
    """One screen with everything that was computed of it."""

    state: PhoneState
    screen: Screen
    laid_out: LaidOut
    observation: Observation


class LivePhone:
    """One clone in fingers' terms: what shows, and what touches and keys do.

    Args:
        state_hashes: whether observations carry the exact hash of the state.
    """

    def __init__(self, *, state_hashes: bool = True) -> None:
        self._state_hashes = state_hashes
        self._state: PhoneState | None = None
        self._look: Look = draw_look(Split.TRAIN, 0)
        self._seen: _Seen | None = None
        self._hasher = StateHasher()
        self._generation = 0
        self._broken: AppCrashError | None = None

    @property
    def state(self) -> PhoneState:
        """The whole phone as one value."""
        if self._state is None:
            raise RuntimeError("no task is loaded: call reset or load first")
        return self._state

    def loaded_state(self) -> PhoneState | None:
        """The whole phone as one value; None where no task is loaded."""
        return self._state

    def restore(self, state: PhoneState) -> None:
        """Go on from a state that this phone was in: a snapshot is a reference."""
        self._become(state)

    def resize(self, width_px: int, height_px: int) -> None:
        """Give the screen another size, as turning the phone does; apps keep their state."""
        self._look = replace(self._look, width_px=width_px, height_px=height_px)
        self._seen = None
        self._generation += 1

    @property
    def laid_out(self) -> LaidOut:
        """The present screen in its places."""
        return self._look_at().laid_out

    def state_hash(self) -> str:
        """Exact hash (hex) of the present state."""
        return self._hasher.digest(self.state)

    def raise_crash(self) -> None:
        """Raise what broke since the last call, once.

        Raises: AppCrashError: an app broke; its dialog shows.
        """
        crash, self._broken = self._broken, None
        if crash is not None:
            raise crash

    def screenshot(self) -> bytes:
        """The screen as PNG bytes."""
        from apps_mock.render import draw, png_of  # noqa: PLC0415 - loads Pillow, when asked

        return png_of(draw(self.scene()))

    def scene(self) -> Scene:
        """What a picture of the present screen is made from."""
        laid_out, state, look = self.laid_out, self.state, self._look
        below = self._below()
        return Scene(
            root=laid_out.root,
            theme=theme_named(look.scheme, dark=look.dark),
            texts=laid_out.texts,
            below=None if below is None else below.root,
            below_texts=() if below is None else below.texts,
            keyboard=self.keyboard_shown,
            now=state.time,
        )

    def _below(self) -> LaidOut | None:
        """The page under what lies over it; None where there is none, or it cannot be drawn."""
        screen, state = self._look_at().screen, self.state
        bare = _behind(state) if screen.dialog else None
        if bare is not None:
            with suppress(AppCrashError):
                return self._laid_out(page_view(bare, self._look), bare)
        return page_under(screen, self._look, self._window(state))

    def touch(self, x_px: int, y_px: int, *, duration_ms: int = 0) -> None:
        """One finger down and up; held for `LONG_PRESS_MS` it is a long press."""
        target = self._target_at(x_px, y_px)
        self._hush()
        if target is None:
            return
        held = duration_ms >= LONG_PRESS_MS
        if held and target.hold is not None:
            self._send(target.hold)
        elif target.event is not None:
            self._send(target.event)
        elif target.field and held:
            self._hold_field(target.field)
        elif target.field:
            self._become(focus_field(self.state, target.field))

    def _target_at(self, x_px: int, y_px: int) -> Target | None:
        for target in reversed(self.laid_out.targets):
            left, top, right, bottom = target.bounds
            if left <= x_px < right and top <= y_px < bottom:
                return target
        return None

    def swipe(self, x1: int, y1: int, x2: int, y2: int, *, duration_ms: int = 300) -> None:
        """One finger along a line: what scrolls under its start follows it; else it is a touch."""
        if abs(x1 - x2) < 16 and abs(y1 - y2) < 16:
            self.touch(x1, y1, duration_ms=duration_ms)
            return
        self._hush()
        state = self.state
        if abs(x1 - x2) > abs(y1 - y2):
            if state.overlays:
                return
            forward = (x2 < x1) != self._look.right_to_left
            self._become(turned(state, 1 if forward else -1, self._look))
        elif state.overlays:
            self._swipe_overlay(x1, y1, y1 - y2)
        elif y1 < sizes_of(self._look).status and y2 > y1:
            self._become(state.under(Overlay("shade")))
        else:
            self._scroll(x1, y1, y1 - y2)

    def type_text(self, text: str) -> None:
        """Append characters to the focused field; without one they are lost."""
        state = self.state
        if state.focus and not state.overlays:
            self._edit(self._field_text() + text)

    def press(self, keycode: int, *, times: int = 1) -> None:
        """Press a key by Android's code; unknown ones do nothing."""
        self._hush()
        if keycode == KEY_DELETE:
            text = "" if self.state.overlays else self._field_text()
            if text:
                self._edit(text[: max(0, len(text) - times)])
            return
        for _ in range(times):
            self._press_once(keycode)

    def open_app(self, name: str) -> bool:
        """Bring an app to the front by label or package; False where there is none."""
        wanted = packages_by_label().get(name.casefold(), name.casefold())
        for app in installed(self.state):
            if wanted in {app.package.casefold(), app.name}:
                if not is_locked(self.state):
                    self._become(launch(replace(self.state, overlays=()), app.name))
                return True
        return False

    def show(self, overlay: Overlay) -> None:
        """Put something over what shows, as a fault of the phone does."""
        self._become(self.state.under(overlay))

    def tree(self) -> Node:
        """The view hierarchy's root."""
        return self.laid_out.root

    def tree_xml(self) -> bytes:
        """The view hierarchy as uiautomator writes it."""
        return to_xml((self.tree(),))

    def foreground(self) -> tuple[str, str]:
        """Package and activity in front."""
        return foreground_of(self.state)

    @property
    def keyboard_shown(self) -> bool:
        """Whether the keyboard covers the lower part of the screen."""
        return self.state.keyboard and not self.state.overlays

    @property
    def generation(self) -> int:
        """Rises whenever the screen may have changed."""
        return self._generation

    def _become(self, state: PhoneState) -> None:
        if state is not self._state:
            self._state = state
            self._generation += 1

    def _look_at(self) -> _Seen:
        state = self.state
        if self._seen is not None and self._seen.state is state:
            return self._seen
        try:
            screen = view(state, self._look)
            laid_out = self._laid_out(screen, state)
        except AppCrashError as crash:
            self._break(crash)
            return self._look_at()
        look = self._look
        package, activity = foreground_of(state)
        observation = Observation(
            width_px=look.width_px,
            height_px=look.height_px,
            elements=laid_out.elements,
            package=package,
            activity=activity,
            keyboard_shown=self.keyboard_shown,
            state_hash=self.state_hash() if self._state_hashes else None,
            marks=_MARKS.get(state.overlay.kind, ()) if state.overlay is not None else (),
        )
        self._seen = _Seen(state, screen, laid_out, observation)
        return self._seen

    def _laid_out(self, screen: Screen, state: PhoneState) -> LaidOut:
        """The screen in its places.

        Raises: AppCrashError: the app's view holds what cannot be laid out.
        """
        try:
            return lay_out(screen, self._look, self._window(state))
        except Exception as error:
            front = None if state.overlays else state.front
            if front is None:
                raise
            where = f"the screen of {front.page.name!r}"
            raise AppCrashError(state.foreground, where, error) from error

    def _window(self, state: PhoneState) -> Window:
        """What the layout has to know of a state."""
        look = self._look
        front = None if state.overlays else state.front
        page = None if front is None else front.page
        return Window(
            package=foreground_of(state)[0],
            width_px=look.width_px,
            height_px=look.height_px,
            scroll_px=state.scroll_px if page is None else page.scroll_px,
            focus=state.focus,
            keyboard=state.keyboard and not state.overlays,
            overlay="" if page is None else page.overlay,
            today=state.today,
            notice=look.say(state.notice) if state.notice else "",
        )

    def _send(self, event: Event) -> None:
        """Let the phone have an event of its screen."""
        try:
            self._become(dispatch(self.state, event, self._field()))
        except AppCrashError as crash:
            self._break(crash)

    def _edit(self, text: str) -> None:
        self._send(Event("edit", self.state.focus, text))

    def _break(self, crash: AppCrashError) -> None:
        """Show an app's crash dialog; the port's level raises the error at its next call."""
        self._broken = crash
        self._become(crashed(self.state, crash.app))

    def _hush(self) -> None:
        """Take the notice away: the screen is touched."""
        if self.state.notice:
            self._become(replace(self.state, notice=""))

    def _field_text(self) -> str:
        """What the focused field shows."""
        field = self._field()
        return field.text if field is not None else ""

    def _field(self) -> Field | None:
        """The focused field, whatever lies over it."""
        return focused_field(self._page(), self.state) if self.state.focus else None

    def _page(self) -> Screen:
        """The app's screen, whatever lies over it."""
        return (
            self._look_at().screen if not self.state.overlays else page_view(self.state, self._look)
        )

    def _hold_field(self, key: str) -> None:
        """A long press on a text field: its menu, where it has one."""
        self._become(focus_field(self.state, key))
        if self._field_text() or clipboard_of(self.state):
            self._become(self.state.under(Overlay("text_menu", key)))

    def _swipe_overlay(self, x1: int, y1: int, by_px: int) -> None:
        """Swiping up opens a locked phone; the shade goes where it cannot be scrolled further."""
        state = self.state
        self._scroll(x1, y1, by_px)
        overlay = state.overlay
        stuck = self.state is state and by_px > 0
        if stuck and overlay is not None and overlay.kind in {"lock", "shade"}:
            self._become(state.uncovered())

    def _scroll(self, x1: int, y1: int, by_px: int) -> None:
        laid_out, state = self.laid_out, self.state
        left, top, right, bottom = laid_out.scroll_area
        if not (left <= x1 < right and top <= y1 < bottom):
            return
        front = state.front
        at_px = state.scroll_px if front is None or state.overlays else front.page.scroll_px
        start = min(at_px, laid_out.scroll_max_px)
        self._become(scrolled(state, min(max(start + by_px, 0), laid_out.scroll_max_px)))

    def _press_once(self, keycode: int) -> None:
        state = self.state
        if keycode == KEY_HOME:
            self._become(go_home(state))
        elif keycode in {KEY_BACK, KEY_ESCAPE}:
            self._go_back()
        elif keycode == KEY_RECENTS:
            self._become(show_recents(state))
        elif keycode == KEY_ENTER and state.focus and not state.overlays:
            self._enter()

    def _go_back(self) -> None:
        try:
            self._become(go_back(self.state))
        except AppCrashError as crash:
            self._break(crash)

    def _enter(self) -> None:
        """Enter goes to the next field; in the last one it does what the page is for."""
        laid_out, state = self.laid_out, self.state
        own = dict(laid_out.enters).get(state.focus)
        if own is not None:
            self._send(own)
        elif state.focus not in laid_out.fields:
            self._become(hide_keyboard(state))
        elif (position := laid_out.fields.index(state.focus) + 1) < len(laid_out.fields):
            self._become(focus_field(state, laid_out.fields[position]))
        elif laid_out.submit is not None:
            self._send(laid_out.submit)
        else:
            self._become(hide_keyboard(state))


def _behind(state: PhoneState) -> PhoneState | None:
    """The phone without the dialog that shows; None where nothing is behind it."""
    if state.overlays:
        return replace(state, overlays=())
    front = state.front
    if front is None or len(front.stack) < 2:
        return None
    return replace(state.with_app(state.foreground, front.popped()), notice="")
