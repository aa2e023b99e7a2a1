"""The mock phone's packages: what is installed, and what installing and removing means.

A clone's own apps belong to the phone, except for those that its app store sells, which come and
go. What is installed over ADB is listed and can be removed; it has no screen.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Final, NamedTuple

from apps_mock.adb_apk import Apk, NotAnApkError, read_apk
from apps_mock.android_facts import missing_packages
from apps_mock.launcher import PACKAGE as LAUNCHER
from apps_mock.launcher import SYSTEM_UI
from apps_mock.phone_state import STORE, PhoneState, closed
from apps_mock.records import changed, find
from apps_mock.registry import APPS

SYSTEM_PACKAGES: Final = ("android", "com.android.shell", LAUNCHER, SYSTEM_UI)
"""Packages of every phone; the clones of settings and such are the phone's too."""


class KnownAs(NamedTuple):
    """A clone that answers to Android's own name of such an app.

    Attributes:
        package: the clone's package.
        activity: the first activity under Android's name.
    """

    package: str
    activity: str


KNOWN_AS: Final = {"com.android.settings": KnownAs(APPS["settings"].package, ".Settings")}
"""Packages that clients take for granted on every phone."""
_SYSTEM_APPS: Final = ("settings", "contacts", "messages", "calendar", "clock", "files", STORE)
_MOST_SESSIONS: Final = 16
_MOST_INSTALLED: Final = 1000

GetState = Callable[[], PhoneState | None]


class Packages:
    """What is installed on one phone.

    Args:
        own: packages of the clones that this phone may have.
    """

    def __init__(self, own: Sequence[str], get_state: GetState) -> None:
        self._own = tuple(own)
        self._get_state = get_state
        self._added: dict[str, Apk] = {}
        self._disabled: set[str] = set()
        self._sessions: dict[int, dict[str, bytes]] = {}
        self._last_session = 1_000_000

    @property
    def apps(self) -> list[str]:
        """The clones that are there now, sorted."""
        state = self._get_state()
        missing = frozenset[str]() if state is None else missing_packages(state)
        return sorted(set(self._own) - missing)

    @property
    def third_party(self) -> list[str]:
        """What the owner installed."""
        system = {APPS[name].package for name in _SYSTEM_APPS}
        return sorted({*self.apps, *self._added} - system)

    @property
    def system(self) -> list[str]:
        """What came with the phone."""
        system = {APPS[name].package for name in _SYSTEM_APPS}
        known = {name for name, clone in KNOWN_AS.items() if clone.package in self.apps}
        return sorted({*SYSTEM_PACKAGES, *known, *(system & set(self.apps))})

    @property
    def everything(self) -> list[str]:
        """All packages, sorted."""
        return sorted({*self.third_party, *self.system})

    def is_enabled(self, package: str) -> bool:
        """Whether a package was not disabled."""
        return package not in self._disabled

    def enable(self, package: str, *, is_enabled: bool) -> None:
        """Enable or disable a package."""
        if is_enabled:
            self._disabled.discard(package)
        else:
            self._disabled.add(package)

    def path(self, package: str) -> str:
        """Where a package's APK is."""
        if package in self.third_party:
            return f"/data/app/~~{package}/{package}/base.apk"
        return f"/system/app/{package}/{package}.apk"

    def version(self, package: str) -> tuple[str, int]:
        """Version name and code."""
        state = self._get_state()
        if state is not None and state.has(STORE):
            for record in state.app_state(STORE).data.apps:
                app = APPS.get(record.id)
                if app is not None and app.package == package:
                    return record.version, 1
        return "1.0", 1

    def install(self, data: bytes) -> str:
        """Install an APK; returns what the package manager says."""
        try:
            apk = read_apk(data)
        except NotAnApkError as error:
            return f"Failure [INSTALL_PARSE_FAILED_NOT_APK: Failed to parse base.apk: {error}]"
        if apk.package in self.everything and apk.package not in self._added:
            return (
                f"Failure [INSTALL_FAILED_UPDATE_INCOMPATIBLE: {apk.package} belongs to the phone]"
            )
        if len(self._added) >= _MOST_INSTALLED:
            return "Failure [INSTALL_FAILED_INSUFFICIENT_STORAGE]"
        self._added[apk.package] = apk
        return "Success"

    def uninstall(self, package: str) -> tuple[str, PhoneState | None]:
        """Remove a package: what the package manager says, and the clone's state afterwards.

        The state is None where the clone has nothing to do with it.
        """
        if self._added.pop(package, None) is not None:
            return "Success", None
        state = self._get_state()
        sold = None if state is None else _sold(state, package)
        if sold is not None:
            return "Success", sold
        if package in self.everything:
            return "Failure [DELETE_FAILED_INTERNAL_ERROR]", None
        return f"Failure [not installed for 0]: {package}", None

    def begin(self) -> int:
        """A new session for several APKs of one app."""
        self._last_session += 1
        while len(self._sessions) >= _MOST_SESSIONS:
            del self._sessions[next(iter(self._sessions))]
        self._sessions[self._last_session] = {}
        return self._last_session

    def session(self, number: str) -> dict[str, bytes] | None:
        """The files of a session by name; None where there is no such session."""
        return self._sessions.get(int(number)) if number.isdigit() and len(number) < 12 else None

    def commit(self, number: str) -> str:
        """Install what was written into a session."""
        files = self._sessions.pop(int(number))
        if not files:
            return "Failure [INSTALL_FAILED_INVALID_APK: nothing was written]"
        return self.install(next(iter(files.values())))

    def abandon(self, number: str) -> None:
        """Forget a session."""
        self._sessions.pop(int(number), None)


def _sold(state: PhoneState, package: str) -> PhoneState | None:
    """The phone without an app that its store had installed; None where it is no such app."""
    if not state.has(STORE):
        return None
    store = state.app_state(STORE)
    name = next((name for name, app in APPS.items() if app.package == package), "")
    record = find(store.data.apps, name)
    if record is None or not record.installed:
        return None
    data = replace(store.data, apps=changed(store.data.apps, name, installed=False))
    return closed(state, name).with_app(STORE, store.with_data(data))


def clone_of(package: str) -> str:
    """The clone that stands behind Android's own name of a package; else the package itself."""
    return KNOWN_AS[package].package if package in KNOWN_AS else package


def uid_of(package: str) -> int:
    """A package's user id, the same on every phone."""
    return 10_000 + sum(package.encode()) % 9000
