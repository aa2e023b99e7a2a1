"""A clone that is played over real ADB: the loop sees a phone behind an adb server.

Looks and actions travel through `AdbPhone`, an adb server and the mock daemon, as they would to a
physical phone. Only what nobody can do over ADB is done in process: setting a task up and judging.
"""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

from apps_mock.adb_faults import WireFaults
from apps_mock.adb_profile import PhoneProfile
from apps_mock.adb_server import MockAdbDaemon
from apps_mock.app_names import packages_by_label
from apps_mock.phone import MockPhone
from device_runtime.adb_phone import AdbPhone, AdbPhoneSettings
from device_runtime.adb_server_process import AdbServerProcess
from device_runtime.ports import ActOutcome, PhoneInfo, ResetOutcome
from sync.clock import Clock, SystemClock
from sync.vocabulary import Action, Assignment, Episode, Observation, Verdict

CLONE_SETTINGS = AdbPhoneSettings(
    settle_s=0.0, retry_pause_s=0.05, reconnect_s=2.0, keyboard_pause_s=0.02
)
"""A clone's screen is settled as soon as an action has returned."""


class AdbClone:
    """One clone with its daemon, its adb server and the driver; implements `Phone`, `Verifier`.

    Args:
        folder: where the adb server's keys and log go.
        phone: the clone; nobody else may use it meanwhile, other than under `daemon.lock`.
        port: where the daemon listens; 0 lets the machine choose.
        profile: what kind of phone it is on the wire.
        faults: what goes wrong on the wire; `daemon.faults` has them afterwards.
    """

    def __init__(
        self,
        folder: Path,
        *,
        phone: MockPhone | None = None,
        port: int = 0,
        settings: AdbPhoneSettings = CLONE_SETTINGS,
        clock: Clock | None = None,
        profile: PhoneProfile | None = None,
        faults: WireFaults | None = None,
    ) -> None:
        clock = clock or SystemClock()
        self.phone = phone or MockPhone(serial="adb-clone")
        self.daemon = MockAdbDaemon(
            self.phone, port=port, clock=clock, profile=profile, faults=faults
        )
        self.server = AdbServerProcess(folder, clock=clock)
        self._settings = settings
        self._clock = clock
        self._driver: AdbPhone | None = None

    def start(self) -> None:
        """Start daemon and server and connect one to the other; what started ends on failure.

        Raises:
            DaemonError: the daemon's port cannot be used.
            SettingsError: there is no adb program, or the folder cannot be written.
            PhoneLostError: the adb server does not start or does not reach the daemon.
        """
        try:
            self.daemon.start()
            self.server.start()
            client = self.server.client(timeout_s=self._settings.timeout_s)
            client.connect(self.daemon.serial)
        except BaseException:
            self.close()
            raise
        self._driver = AdbPhone(
            client,
            self.daemon.serial,
            settings=self._settings,
            apps=packages_by_label(),
            clock=self._clock,
        )

    @property
    def driver(self) -> AdbPhone:
        """The part that talks ADB."""
        if self._driver is None:
            raise RuntimeError("the clone behind ADB was not started")
        return self._driver

    def reset(self, assignment: Assignment) -> ResetOutcome:
        """Set the assignment's task up on the clone behind the daemon.

        Raises: UnknownTaskError: no such template, or the assignment names none.
        """
        with self.daemon.lock:
            outcome = self.phone.reset(assignment)
        self.driver.forget()
        return outcome

    def observe(self) -> Observation:
        """What is on the screen, over ADB; the state's hash is the clone's own."""
        observation = self.driver.observe()
        with self.daemon.lock:
            return replace(observation, state_hash=self.phone.observe().state_hash)

    def act(self, action: Action) -> ActOutcome:
        """Carry out one action over ADB.

        Raises: AppCrashError: an app of the clone broke; its dialog shows.
        """
        outcome = self.driver.act(action)
        with self.daemon.lock:
            self.phone.raise_crash()
        return outcome

    def screenshot(self) -> bytes:
        """The screen as PNG bytes, over ADB."""
        return self.driver.screenshot()

    def info(self) -> PhoneInfo:
        """What phone this is, over ADB, and what the clone alone knows of itself."""
        return replace(self.driver.info(), extra=self.driver.info().extra | self.phone.info().extra)

    def judge(self, episode: Episode) -> Verdict | None:
        """The clone's verdict on an episode that has just ended on it."""
        with self.daemon.lock:
            return self.phone.judge(episode)

    def close(self) -> None:
        """End server and daemon. Idempotent."""
        self.server.stop()
        self.daemon.stop()
