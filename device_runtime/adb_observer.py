"""Looks at a phone over ADB until an observation is whole, settled and true, or says why not.

A look that fails on the phone's side is tried a few times, a lost phone is waited for by its link.
What the parts say must agree: a tree of another rotation than the windows', or a picture of another
shape than the screen, came from different moments, so both are taken again. A tree that cannot be
had is a typed fault, or, where the phone has a reader of screens, an observation that was read from
the picture. A black picture is never passed off as an ordinary screen.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace

import structlog

from device_runtime.adb_facts import (
    FACTS_COMMAND,
    PhoneFacts,
    Size,
    fitted,
    read_facts,
    turned,
)
from device_runtime.adb_link import AdbLink, require_ended
from device_runtime.adb_look import STATE_COMMAND, Look, LookRequest
from device_runtime.adb_ready import KEYCODE_WAKEUP
from device_runtime.adb_screenshot import Screenshot, read_screenshot
from device_runtime.adb_settings import AdbPhoneSettings
from device_runtime.adb_state import ACTIVITY_LINES, ANDROID, ScreenState, read_state
from device_runtime.errors import PhoneFaultError, TreeUnavailableError
from device_runtime.picture_pixels import fit
from device_runtime.ports import ScreenReader
from device_runtime.ui_tree import Hierarchy, elements_of
from sync.clock import Clock
from sync.history import same_screen
from sync.vocabulary import Element, Observation, ScreenMark

_log = structlog.get_logger()
_HOPELESS = frozenset({"busy"})
_TRIES_WHERE_RESTLESS = 2


@dataclass(frozen=True, slots=True)
class Seen:
    """An observation and the picture that was taken with it, where one was."""

    observation: Observation
    screenshot: Screenshot | None = None


@dataclass(frozen=True, slots=True)
class Read:
    """Elements of a screen, the picture beside them, and what they are marked with."""

    screenshot: Screenshot | None
    elements: tuple[Element, ...]
    marks: tuple[ScreenMark, ...] = ()


class Observer:
    """The eyes of the driver of one phone.

    Args:
        reader: reads elements from a picture, for screens without a tree; None where there is none.
        new_name: makes names that were never used before on this phone.
    """

    def __init__(
        self,
        link: AdbLink,
        settings: AdbPhoneSettings,
        *,
        clock: Clock,
        new_name: Callable[[], str],
        reader: ScreenReader | None = None,
    ) -> None:
        self._link = link
        self._settings = settings
        self._clock = clock
        self._new_name = new_name
        self._reader = reader
        self._facts: PhoneFacts | None = None
        self._panel = ""
        self._blank_panels: set[str] = set()
        self._natural_size: Size | None = None
        self._elements: tuple[Element, ...] = ()
        self.warnings: tuple[str, ...] = ()
        """What the phone printed that was no answer, each once."""
        self.touched: Size | None = None
        """Where the finger was last, in touches' pixels; None where that tells nothing."""

    @property
    def facts(self) -> PhoneFacts:
        """What the phone is; asked once, until `forget`.

        Raises: PhoneLostError, PhoneFaultError: it does not say.
        """
        if self._facts is None:
            answer = require_ended(self._link.serial, self._link.ask(FACTS_COMMAND))
            try:
                self._facts = read_facts(answer.stdout.decode(errors="replace"))
            except PhoneFaultError as error:
                raise PhoneFaultError(f"{self._link.serial}: {error}") from error
            if len(self._facts.panels) > 1:
                self._panel = self._facts.panel_of(self._settings.display)
        return self._facts

    def forget(self) -> None:
        """What is known of the phone is out of date, its displays included."""
        self._facts = None

    def settled(self) -> Seen:
        """What shows once two looks in a row agree, or at the deadline.

        A picture belongs to the first of two equal trees, so that it shows what they say.
        """
        wants_picture = self._settings.screenshots
        deadline_s = self._clock.monotonic_s() + self._settings.settle_s
        seen = self.look(with_screenshot=wants_picture)
        while self._clock.monotonic_s() < deadline_s:
            self._clock.sleep(self._settings.settle_poll_s)
            again = self.look(with_screenshot=False)
            if same_screen(seen.observation, again.observation):
                break
            seen = self.look(with_screenshot=True) if wants_picture else again
        return seen

    def look(self, *, with_screenshot: bool) -> Seen:
        """One whole look; failures on the phone's side are tried again.

        Raises:
            TreeUnavailableError: no tree could be had, and nobody reads pictures.
            PhoneFaultError: the parts are not whole, or never agree.
            PhoneLostError: the phone did not come back.
        """
        fault: PhoneFaultError | None = None
        for attempt in range(self._settings.look_attempts):
            try:
                is_last = attempt + 1 == self._settings.look_attempts
                return self._look_once(with_screenshot=with_screenshot, believes_windows=is_last)
            except TreeUnavailableError as error:
                fault = error
                if error.reason in _HOPELESS or (
                    error.reason == "not_idle" and attempt + 1 >= _TRIES_WHERE_RESTLESS
                ):
                    break
            except PhoneFaultError as error:
                fault = error
            if attempt + 1 < self._settings.look_attempts:
                self._clock.sleep(self._settings.retry_pause_s)
        if isinstance(fault, TreeUnavailableError) and self._reader is not None:
            return self._read_picture(self._reader, fault)
        raise fault or PhoneFaultError(f"{self._link.serial} was not looked at; try once at least")

    def screenshot(self) -> Screenshot:
        """The screen as it is now, whole.

        Raises: PhoneFaultError: what came is no PNG, or not all of one, several times.
        """
        fault: PhoneFaultError | None = None
        for _ in range(max(1, self._settings.look_attempts)):
            try:
                data = self._link.capture(self._screencap)
                return self._noted(read_screenshot(data))
            except PhoneFaultError as error:
                fault = error
        raise fault or PhoneFaultError(f"{self._link.serial} gave no screenshot; try again")

    @property
    def _screencap(self) -> str:
        return f"screencap -p -d {self._panel}" if self._panel else "screencap -p"

    def _look_once(self, *, with_screenshot: bool, believes_windows: bool) -> Seen:
        """One look; where parts never agree, the last one believes the windows."""
        request = LookRequest(
            self._new_name(),
            with_screenshot=with_screenshot,
            screencap=self._screencap,
            display=self._settings.display,
        )
        answer = require_ended(self._link.serial, self._link.ask(request.command))
        try:
            look = request.read(answer.stdout)
        except PhoneFaultError as error:
            self._ask_panels_again()
            raise PhoneFaultError(f"{self._link.serial}: {error}") from error
        self._notice_folding(look.state)
        self._require_awake(look.state)
        if look.hierarchy is None:
            raise self._tree_fault(look)
        if not believes_windows:
            self._require_agreement(look.state, look.hierarchy.rotation)
        return self._seen(look, look.hierarchy)

    def _notice_folding(self, state: ScreenState) -> None:
        """Ask for the panels again where the screen has another size in its natural position."""
        if state.natural_size not in {None, self._natural_size}:
            if self._natural_size is not None:
                self._ask_panels_again()
            self._natural_size = state.natural_size

    def _ask_panels_again(self) -> None:
        """The panel that was named may be off: the phone may have been folded."""
        if self._panel:
            self.forget()
            self._panel = self.facts.panel_of(self._settings.display)

    def _require_agreement(self, state: ScreenState, rotation: int) -> None:
        """Nothing where tree and windows are of one moment, as far as they say."""
        natural = state.natural_size
        sizes_differ = state.size and natural and state.size != turned(natural, rotation)
        if state.rotation not in {None, rotation} or sizes_differ:
            raise PhoneFaultError(f"{self._link.serial} was turned during the look; look again")

    def _require_awake(self, state: ScreenState) -> None:
        if state.is_awake is False:
            self._link.ask(f"input keyevent {KEYCODE_WAKEUP}")
            raise PhoneFaultError(f"{self._link.serial} sleeps; press its power button")

    def _tree_fault(self, look: Look) -> TreeUnavailableError:
        reason = look.tree_fault.reason if look.tree_fault else "crashed"
        return TreeUnavailableError(f"{self._link.serial} {look.tree_fault}", reason=reason)

    def _seen(self, look: Look, hierarchy: Hierarchy) -> Seen:
        turns = look.state.rotation
        rotation = hierarchy.rotation if turns is None else turns
        size = self._size(look.state, rotation)
        shot = look.screenshot and self._upright(self._noted(look.screenshot), size, rotation)
        read = Read(shot, elements_of(hierarchy.roots, *size))
        if not read.elements:
            read = self._treeless(shot, look.state, size)
        state = look.state
        if state.package == ANDROID and hierarchy.roots:
            state = replace(state, package=hierarchy.roots[0].package or ANDROID)
        return self._marked_blank(self._observed(read, state, size, rotation))

    def _size(self, state: ScreenState, rotation: int) -> Size:
        """Width and height of the upright screen, in touches' pixels."""
        return state.size or turned(state.natural_size or self.facts.size, rotation)

    def _observed(self, read: Read, state: ScreenState, size: Size, rotation: int) -> Seen:
        if not (state.package or state.window):
            state = self._with_activity(state)
        if read.elements != self._elements:
            self._elements = read.elements
        observation = Observation(
            width_px=size[0],
            height_px=size[1],
            elements=self._elements,  # the same objects while nothing changes: quick to compare
            rotation=rotation,
            package=state.package,
            activity=state.activity,
            keyboard_shown=state.keyboard_shown,
            marks=tuple(mark for mark in ScreenMark if mark in {*read.marks, *state.marks}),
        )
        return Seen(observation, read.screenshot)

    def _with_activity(self, state: ScreenState) -> ScreenState:
        """The state with what the activity manager says is in front, where no window says it."""
        answer = self._link.ask(
            f"dumpsys activity activities | grep -E '{ACTIVITY_LINES}'; echo"
        ).stdout.decode(errors="replace")
        found = read_state(answer, self._settings.display)
        return replace(state, package=found.package, activity=found.activity)

    def _treeless(self, shot: Screenshot | None, state: ScreenState, size: Size) -> Read:
        """What an empty tree means: a screen that shows nothing, one to be read, or a fault.

        Raises: TreeUnavailableError: the picture shows something, and nobody reads pictures.
        """
        shot = shot or self.screenshot()
        if shot.is_blank():
            return Read(shot, ())
        if self._reader is None:
            raise TreeUnavailableError(
                f"{self._link.serial} shows something, but its tree is empty", reason="empty"
            )
        return Read(shot, self._read(self._reader, shot, state, size), (ScreenMark.NO_TREE,))

    def _read_picture(self, reader: ScreenReader, fault: TreeUnavailableError) -> Seen:
        """An observation of a screen without a tree, read from its picture."""
        _log.info("screen_read_without_tree", serial=self._link.serial, reason=fault.reason)
        answer = self._link.ask(f"{STATE_COMMAND}; echo").stdout.decode(errors="replace")
        state = read_state(answer, self._settings.display)
        rotation = state.rotation or 0
        size = self._size(state, rotation)
        shot = self._upright(self.screenshot(), size, rotation)
        read = Read(shot, self._read(reader, shot, state, size), (ScreenMark.NO_TREE,))
        return self._marked_blank(self._observed(read, state, size, rotation))

    def _read(
        self, reader: ScreenReader, shot: Screenshot, state: ScreenState, size: Size
    ) -> tuple[Element, ...]:
        """What a picture shows, in touches' pixels."""
        taken = (shot.width_px, shot.height_px)
        across, down = size[0] / taken[0], size[1] / taken[1]
        touched = self.touched
        read = reader.read(
            shot.png,
            package=state.package,
            touched=touched and (round(touched[0] / across), round(touched[1] / down)),
            keyboard_shown=state.keyboard_shown,
        )
        return fit(read, taken, size)

    def _upright(self, shot: Screenshot, size: Size, rotation: int) -> Screenshot:
        """The picture as the owner sees it.

        Raises: PhoneFaultError: it is of a screen of another shape: the phone was folded or turned.
        """
        upright = fitted(shot, size, rotation, self.facts.panel_size)
        if upright is None:
            self.forget()
            raise PhoneFaultError(
                f"{self._link.serial} sent a picture of {shot.width_px}x{shot.height_px} of a "
                f"screen of {size[0]}x{size[1]}; look again"
            )
        return upright

    def _marked_blank(self, seen: Seen) -> Seen:
        """The same, marked where its picture shows nothing and no other panel shows more.

        Raises: PhoneFaultError: another panel is to be tried.
        """
        if seen.screenshot is None or not seen.screenshot.is_blank():
            self._blank_panels.clear()
            return seen
        marks = seen.observation.marks
        if ScreenMark.SECURE not in marks and self._try_another_panel():
            raise PhoneFaultError(f"{self._link.serial} shows nothing on one panel; look again")
        self._blank_panels.clear()
        ordered = tuple(mark for mark in ScreenMark if mark in {*marks, ScreenMark.BLANK})
        return replace(seen, observation=replace(seen.observation, marks=ordered))

    def _try_another_panel(self) -> bool:
        """Choose a panel that was not found black yet: the phone may have been folded."""
        if len(self.facts.panels) < 2:
            return False
        self._blank_panels.add(self._panel)
        self.forget()
        choices = (self.facts.panel_of(self._settings.display), *self.facts.panels)
        others = [panel for panel in choices if panel not in self._blank_panels]
        if others:
            self._panel = others[0]
        return bool(others)

    def _noted(self, shot: Screenshot) -> Screenshot:
        """The same picture; text before it is kept as a warning, and the displays are asked for."""
        if shot.printed and shot.printed not in self.warnings:
            self.warnings = (*self.warnings, shot.printed)
            _log.warning("text_before_screenshot", serial=self._link.serial, text=shot.printed)
            self.forget()
            self._panel = self.facts.panel_of(self._settings.display)
        return shot
