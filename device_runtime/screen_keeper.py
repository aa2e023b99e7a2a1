"""Keeps pictures of screens as blobs, off the path of the step, for the episodes that name them.

    painted picture ─► queue ─► this thread: WebP ─► file, fsync ─► known by its screen's digest
    episode ends ─► collect: what its steps name, waiting a moment for the last ones

What comes in is painted over already (`agent`): this module never sees a secret. A screen that was
kept before costs nothing. A file that no episode comes to name is swept away by the sender.
"""

from __future__ import annotations

import threading
from collections import OrderedDict, deque
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Final

import structlog

from device_runtime.errors import PhoneFaultError
from device_runtime.screen_encoder import MEDIA_TYPE, ScreenForm, encode_screen
from sync.blob_folder import BlobFolder
from sync.messages import ScreenPicture
from sync.text_policy_io import picture_digest
from sync.vocabulary import Episode

WAITING_BYTES: Final = 32 * 1024 * 1024
"""Pictures that wait to be encoded; beyond that new ones are left out and counted."""
COLLECT_S: Final = 2.0
"""How long an ended episode waits for its last pictures; then it goes without them."""
_KNOWN_MOST: Final = 4096

_log = structlog.get_logger()


@dataclass(frozen=True, slots=True)
class ScreenPlan:
    """Where pictures go and in which form; a value, so that it can be sent to a worker."""

    directory: Path
    form: ScreenForm

    def keeper(self, is_on: Callable[[], bool] = lambda: True) -> ScreenKeeper:
        """A keeper that runs in this process."""
        return ScreenKeeper(self.directory, self.form, is_on=is_on)


@dataclass(slots=True)
class ScreenCounters:
    """What happened since the keeper was made.

    Attributes:
        repeated: pictures that were kept before: nothing was done for them.
        skipped: pictures that came faster than they could be encoded.
        broken: pictures that could not be read, or not be written.
        late: pictures whose episode ended without them.
    """

    kept: int = 0
    repeated: int = 0
    skipped: int = 0
    broken: int = 0
    late: int = 0


class ScreenKeeper:
    """Turns pictures into blobs in a thread of its own; thread-safe.

    Args:
        directory: the device's blobs.
        is_on: whether pictures may be taken now; asked when an episode begins.
    """

    def __init__(
        self, directory: Path, form: ScreenForm, *, is_on: Callable[[], bool] = lambda: True
    ) -> None:
        self.counters = ScreenCounters()
        self.is_on = is_on
        self._folder = BlobFolder(directory)
        self._form = form
        self._change = threading.Condition()
        self._known: OrderedDict[str, ScreenPicture] = OrderedDict()
        self._queue: deque[tuple[str, bytes]] = deque()
        self._pending: set[str] = set()
        self._waiting_bytes = 0
        self._closed = False
        self._thread = threading.Thread(target=self._run, name="screens", daemon=True)
        self._thread.start()

    def keep(self, png: bytes) -> str:
        """The screen's digest (`Observation.screenshot`); its blob is made in the background."""
        screen = picture_digest(png)
        with self._change:
            if screen in self._pending or self._is_kept(screen):
                self.counters.repeated += 1
            elif self._waiting_bytes + len(png) > WAITING_BYTES:
                self.counters.skipped += 1
            else:
                self._pending.add(screen)
                self._queue.append((screen, png))
                self._waiting_bytes += len(png)
                self._change.notify_all()
        return screen

    def collect(self, episode: Episode) -> tuple[ScreenPicture, ...]:
        """The blobs of an ended episode's screens, each once and on disk; waits a moment."""
        screens = screens_of(episode)
        with self._change:
            self._change.wait_for(lambda: self._pending.isdisjoint(screens), COLLECT_S)
            found = [self._known[screen] for screen in screens if self._is_kept(screen)]
            self.counters.late += sum(screen in self._pending for screen in screens)
        return tuple(found)

    def close(self) -> None:
        """Let what waits go, and stop. Idempotent."""
        with self._change:
            self._closed = True
            self._queue.clear()
            self._change.notify_all()
        self._thread.join()

    def _is_kept(self, screen: str) -> bool:
        picture = self._known.get(screen)
        if picture is None:
            return False
        if not self._folder.exists(picture.blob):  # the quota gave it up meanwhile
            del self._known[screen]
            return False
        self._known.move_to_end(screen)
        return True

    def _run(self) -> None:
        while True:
            with self._change:
                self._change.wait_for(lambda: self._queue or self._closed)
                if self._closed:
                    return
                screen, png = self._queue.popleft()
            picture = self._encoded(screen, png)
            with self._change:
                self._waiting_bytes -= len(png)
                self._pending.discard(screen)
                if picture is None:
                    self.counters.broken += 1
                else:
                    self.counters.kept += 1
                    self._known[screen] = picture
                    if len(self._known) > _KNOWN_MOST:
                        self._known.popitem(last=False)
                self._change.notify_all()

    def _encoded(self, screen: str, png: bytes) -> ScreenPicture | None:
        try:
            data = encode_screen(png, self._form)
            blob = self._folder.put(data)
        except (PhoneFaultError, OSError) as error:
            _log.warning("screen_not_kept", error=str(error))
            return None
        return ScreenPicture(screen=screen, blob=blob, size_bytes=len(data), media_type=MEDIA_TYPE)


def screens_of(episode: Episode) -> tuple[str, ...]:
    """The pictures that an episode's steps name, each once, in order."""
    named: Iterable[str | None] = (step.observation.screenshot for step in episode.steps)
    return tuple(dict.fromkeys(one for one in named if one))
