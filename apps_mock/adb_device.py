"""One mock phone as its daemon and its shell know it: a clone, and all that a clone does not have.

Everything here is used under `lock`: the clone belongs to somebody else too.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import partial
from threading import RLock

from apps_mock.adb_display import Displays
from apps_mock.adb_faults import WINDOW_FAULTS, FaultKind, WireFaults
from apps_mock.adb_files import Files
from apps_mock.adb_interruptions import interrupted, locked, unlocked
from apps_mock.adb_keyboards import Keyboards
from apps_mock.adb_packages import Packages
from apps_mock.adb_ports import ClonePhone
from apps_mock.adb_profile import Delays, PhoneProfile
from apps_mock.android_facts import stored_files
from apps_mock.phone_state import PhoneState
from apps_mock.registry import APPS
from sync.clock import Clock, SystemClock


class MockDevice:
    """A clone with files, packages, keyboards and displays around it.

    Args:
        packages: the apps that belong to the phone; by default all clones.

    Attributes:
        lock: whoever uses the clone holds it meanwhile.
        faults: what goes wrong.
        unknown: commands that there are not, and how often each was asked for.
        listening: device ports on which a program of the phone answers.
    """

    def __init__(
        self,
        phone: ClonePhone,
        *,
        lock: RLock | None = None,
        clock: Clock | None = None,
        profile: PhoneProfile | None = None,
        faults: WireFaults | None = None,
        packages: Sequence[str] | None = None,
    ) -> None:
        self.phone = phone
        self.lock = lock or RLock()
        self.profile = profile or PhoneProfile()
        self.faults = faults or WireFaults(seed=self.profile.seed)
        self._clock = clock or SystemClock()
        self.files = Files(self.now_s, stored=self._stored)
        named = [app.package for app in APPS.values()] if packages is None else packages
        self.packages = Packages(named, phone.loaded_state)
        self.keyboards = Keyboards(self.faults)
        self.displays = Displays(phone, self.profile.display)
        self.delays = Delays(self.profile.latency, seed=self.profile.seed)
        self.unknown: Counter[str] = Counter()
        self.listening: set[int] = set()

    def now_s(self) -> int:
        """The phone's time, seconds since 1970."""
        return self._clock.wall_ms() // 1000

    @contextmanager
    def in_use(self) -> Iterator[ClonePhone]:
        """The clone, at the size of this phone's display, for as long as the context lasts."""
        with self.lock:
            self.displays.fit()
            yield self.phone

    def meet_windows(self, where: str) -> None:
        """Let faults put their windows over the screen, before a command that shows or touches."""
        if not self.faults.armed:
            return
        for kind in WINDOW_FAULTS:
            if self.phone.loaded_state() is not None and self.faults.strikes(kind, where):
                if kind is FaultKind.SCREEN_OFF:
                    self.sleep()
                else:
                    self.change(partial(interrupted, kind=kind))

    def change(self, move: Callable[[PhoneState], PhoneState]) -> None:
        """Let a pure move change the clone's state, where there is one."""
        state = self.phone.loaded_state()
        if state is not None:
            self.phone.restore(move(state))

    def sleep(self) -> None:
        """Switch the screen off; the lock screen comes up with it."""
        self.displays.is_awake = False
        self.change(locked)

    def wake(self) -> None:
        """Switch the screen on."""
        self.displays.is_awake = True

    def dismiss_keyguard(self) -> None:
        """Take the lock screen away, which has no PIN."""
        self.change(unlocked)

    @property
    def component(self) -> str:
        """Package and activity in front, as Android writes them."""
        return "/".join(self.phone.foreground())

    def _stored(self) -> Mapping[str, int]:
        state = self.phone.loaded_state()
        return {} if state is None else stored_files(state)
