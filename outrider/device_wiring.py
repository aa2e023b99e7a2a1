"""How a device process is put together: log, wire, releases, policy, seats, and Ctrl-C.

The farm and a single phone are the same process with other phones and actors.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import replace
from types import MappingProxyType

import numpy as np

from device_runtime.assignments import AssignmentQueue
from device_runtime.base_files import Quantisation
from device_runtime.candidate import CandidateFolder
from device_runtime.conditions import ReadsConditions
from device_runtime.errors import SettingsError
from device_runtime.gate import Gate
from device_runtime.held_bases import HeldBases
from device_runtime.installer import Installer
from device_runtime.log_rescue import open_log
from device_runtime.phone_owner import PhoneOwner
from device_runtime.policies import Policies
from device_runtime.policy import BASE_FILE
from device_runtime.ports import Decided, PolicyRequest
from device_runtime.recent_pictures import RecentPictures
from device_runtime.release_shelf import AdapterHost, ReleaseShelf
from device_runtime.remote_settings import RemoteSettings
from device_runtime.safety import Safety
from device_runtime.screen_keeper import ScreenKeeper
from device_runtime.screen_permit import ScreenPermit
from device_runtime.seats import PolicyFor, SeatPhone, Seats
from device_runtime.settings import Settings
from device_runtime.shadow import ShadowLimits
from device_runtime.shadow_run import Shadow, logged_screens
from device_runtime.shadow_sides import ShownIn, Sides, shown_in, sides_of
from device_runtime.slots import PhoneBase
from device_runtime.supervisor import DeviceParts, Report, Table
from device_runtime.transitions import TransitionOutbox
from device_runtime.vitals import VitalSigns
from outrider.enrolled import credentials_of, server_clock_of, transport_of
from outrider.errors import MisuseError
from outrider.graphs import cache_dir, graphs_of
from outrider.interrupts import stop_on_interrupt
from outrider.output import Output
from outrider.parent import stop_without_parent
from outrider.release_files import fetch_from
from outrider.screen_wiring import blob_settings, remote_settings
from sync.adapter_file import AdapterFile, FloatArray
from sync.broker_address import MqttAddress, parse_url
from sync.clock import Clock, SystemClock
from sync.cohorts import CohortPhone, phone_of_birth
from sync.messages import Birth, Role
from sync.policy_io import POLICY_IO_VERSION
from sync.published import is_large_target
from sync.resumed_fetch import LeastRate, ResumedFetch
from sync.server_clock import ServerClock
from sync.session import DeviceSession
from sync.trust import TrustedClient
from sync.vocabulary import Assignment, Step, TemplateInfo, new_uuid7

PROBE = "probe"
SEEN_DIR = "seen"
_SEEN_FOR_ONE_SCORED = 4
"""Pictures that are kept for each that is scored: screens come again, pictures seldom do."""


def broker_address(settings: Settings) -> MqttAddress:
    """Where the device's broker is, and who the device is to it.

    Raises: SettingsError: the address is no mqtt:// or mqtts:// URL.
    """
    try:
        url = parse_url(settings.broker_url)
    except ValueError as error:
        raise SettingsError(str(error)) from error
    if url.tls and settings.broker_ca_file is None:
        raise SettingsError("an mqtts:// broker needs broker_ca_file")
    return MqttAddress(
        host=url.host,
        port=url.port,
        client_id=settings.device_id,
        username=url.username or settings.device_id,
        password=settings.password() or url.password,
        certificates=settings.broker_ca_file if url.tls else None,
        certificate=settings.broker_certificate_file if url.tls else None,
        key=settings.broker_key_file if url.tls else None,
        protocol=url.protocol,
    )


class SharedPolicy:
    """The release policy, shared by the playing thread and the one that probes new adapters.

    Args:
        seen: keeps the pictures that it is shown, for shadow scoring; None where nothing is scored.
    """

    def __init__(self, policy: Policies, seen: RecentPictures | None = None) -> None:
        self._policy = policy
        self._seen = seen
        self.policy_io_version = policy.policy_io_version
        self.wants_encoding = policy.wants_encoding
        self.wants_picture = policy.wants_picture
        self._lock = threading.Lock()
        self._probed: AdapterFile | None = None
        self.base_digest = policy.base_digest

    def decide(self, requests: Sequence[PolicyRequest]) -> list[Decided]:
        """One decision per request, in order."""
        if self._seen is not None:
            for request in requests:
                if request.picture is not None:
                    self._seen.keep(request.picture)
        with self._lock:
            return self._policy.decide(requests)

    def load_adapter(
        self, release_id: str, tensors: Mapping[str, FloatArray], *, base_digest: str = ""
    ) -> None:
        """Make a release ready to act on the base that it belongs to.

        The adapter that was probed last is open already: it only gets its name.
        """
        with self._lock:
            probed, self._probed = self._probed, None
            if probed is None:
                self._policy.load_adapter(release_id, tensors, base_digest=base_digest)
            elif base_digest == probed.base_digest and _same(tensors, probed.tensors):
                self._policy.rename(PROBE, release_id)
            else:
                self._policy.unload(PROBE)
                self._policy.load_adapter(release_id, tensors, base_digest=base_digest)

    def unload(self, release_id: str) -> None:
        """Forget a release."""
        with self._lock:
            self._policy.unload(release_id)

    def probe(self, adapter: AdapterFile) -> None:
        """Load an adapter, and keep it at hand for `load_adapter`, which comes next.

        Raises: InstallError: it cannot act.
        """
        with self._lock:
            self._probed = None
            self._policy.load_adapter(PROBE, adapter.tensors, base_digest=adapter.base_digest)
            self._probed = adapter

    def sides(self) -> Sides:
        """Makes a candidate's side and the active policy's, for shadow scoring."""
        return sides_of(self._policy, self._lock)

    def shown_in(self) -> ShownIn:
        """How logged episodes are shown to it again, for shadow scoring."""
        seen = self._seen
        return shown_in(self.policy_io_version, seen.read if seen else lambda _digest: None)


def _same(tensors: Mapping[str, FloatArray], others: Mapping[str, FloatArray]) -> bool:
    """Whether two adapters have the same values."""
    return tensors.keys() == others.keys() and all(
        value is others[name] or np.array_equal(value, others[name])
        for name, value in tensors.items()
    )


def open_policy(settings: Settings, quantisation: Quantisation = "fp32") -> SharedPolicy | None:
    """The exported base network with no adapter; None where none was exported.

    Releases that are loaded later may belong to bases that came with them.

    Args:
        quantisation: how its graphs compute.
    """
    directory = settings.graphs_dir
    if not (directory / BASE_FILE).is_file():
        return None
    held = HeldBases(settings.phone_dir).directory
    policies = Policies(directory, bases_dir=held, quantisation=quantisation)
    seen: RecentPictures | None = None
    if policies.wants_picture and settings.shadow_screens:
        most = _SEEN_FOR_ONE_SCORED * settings.shadow_screens
        seen = RecentPictures(settings.phone_dir / SEEN_DIR, most=most)
    return SharedPolicy(policies, seen)


def with_graphs(settings: Settings) -> Settings:
    """The settings of a phone that has a base: its own, or else the one that ships.

    Raises: MisuseError: the base that was named carries no graphs and cannot be exported here.
    """
    if (settings.graphs_dir / BASE_FILE).is_file():
        return settings
    return replace(settings, base_dir=graphs_of(settings.base_dir, cache_dir()))


def assemble(
    settings: Settings,
    *,
    role: Role,
    table: Table,
    seats: int,
    policy: SharedPolicy | None,
    host: AdapterHost | None,
    templates: tuple[TemplateInfo, ...] = (),
    suite_version: str = "",
    owner: PhoneOwner | None = None,
    gate: Gate | None = None,
    rest: Callable[[], None] = lambda: None,
    read_conditions: ReadsConditions | None = None,
    attributes: Mapping[str, str] = MappingProxyType({}),
    server_clock: ServerClock | None = None,
    remote: RemoteSettings | None = None,
    permit: ScreenPermit | None = None,
) -> DeviceParts:
    """Everything that a device process is made of; nothing has been started yet.

    Args:
        table, seats: where episodes are played, and how many side by side.
        policy: probes adapters before they are installed; None where no release ever acts.
        host: loads the adapters that act.
        owner: hears what the device's owner says over the wire; None for one that nobody stops.
        gate: closes where the phone may not act.
        rest: leaves a stopped phone at home.
        read_conditions: what is true of the phone, which new releases are scored on; None asks
            nothing.
        attributes: what the device says that it is (model, android, …).
        server_clock: the cloud's time; one of its own where not given.
        remote: what is set from afar, where somebody else goes by it, too.
        permit: whether pictures of screens may leave; None where none ever do.
    """
    clock = SystemClock()
    credentials = credentials_of(settings)
    transport = transport_of(lambda: broker_address(settings), credentials)
    server_clock = server_clock or server_clock_of(settings, clock)
    log = open_log(settings.database, clock=clock, new_id=new_uuid7)
    base_digest = "" if policy is None else policy.base_digest
    birth = Birth(
        device_id=settings.device_id,
        role=role,
        seats=seats,
        templates=templates,
        suite_version=suite_version,
        policy_io_version=POLICY_IO_VERSION if policy is None else policy.policy_io_version,
        base_digest=base_digest,
        channel=settings.channel,
        attributes=dict(attributes),
    )
    remote = remote or remote_settings(settings)
    session = DeviceSession(
        transport=transport,
        database=settings.database,
        fleet=settings.fleet,
        birth=birth,
        clock=clock,
        control=None if owner is None else owner.control,
        heard=None if owner is None else owner.switch.heard,
        settings=remote,
        credentials=credentials,
        server_clock=server_clock,
        blobs=blob_settings(settings, permit),
    )
    if owner is not None:
        owner.attach(session.send)
    return DeviceParts(
        log=log,
        queue=AssignmentQueue(log.connection, clock=clock),
        seats=table,
        shelf=ReleaseShelf(
            _installer(
                settings,
                session,
                policy,
                None
                if policy is None or role is Role.FARM
                else shadow_of(settings, policy, clock, read_conditions),
                phone=phone_of_birth(birth),
                server_clock=server_clock,
            ),
            host,
            channel=settings.channel,
            clock=clock,
            refresh_every_s=settings.refresh_every_s,
            trial_episodes=settings.trial_episodes,
            brought=session.look_up,
        ),
        wire=session,
        birth=birth,
        remote=remote,
        gate=gate,
        signs=VitalSigns(
            server_clock=server_clock,
            read_conditions=read_conditions,
            gate=gate,
            contended=lambda: session.contended,
        ),
        rest=rest,
        permit=permit,
    )


def local_seats(
    settings: Settings,
    phones: Sequence[SeatPhone],
    policy_for: PolicyFor,
    *,
    safety: Safety | None = None,
    on_step: Callable[[Assignment, Step], None] | None = None,
    screens: ScreenKeeper | None = None,
) -> Seats:
    """Seats that are played in this process."""
    return Seats(
        phones,
        policy_for,
        device_id=settings.device_id,
        clock=SystemClock(),
        new_id=new_uuid7,
        safety=safety,
        on_step=on_step,
        screens=screens,
    )


def reporter(out: Output) -> Report:
    """Prints what the supervisor reports."""

    def report(event: str, **fields: object) -> None:
        out.event(event, **fields)

    return report


@contextmanager
def settings_as_misuse() -> Iterator[None]:
    """A setting that cannot be used is the caller's mistake: exit code 2."""
    try:
        yield
    except SettingsError as error:
        raise MisuseError(str(error)) from error


@contextmanager
def stop_on_signals() -> Iterator[threading.Event]:
    """An event that Ctrl-C and SIGTERM set, however often they come, while the block runs.

    A child of `outrider up` is stopped by the loss of its parent, too.
    """
    with stop_on_interrupt() as stop:
        stop_without_parent(stop)
        yield stop


def shadow_of(
    settings: Settings,
    policy: SharedPolicy,
    clock: Clock,
    read_conditions: ReadsConditions | None = None,
) -> Shadow | None:
    """Scores new releases on the phone's own log.

    None where the settings want no screens.
    """
    if not settings.shadow_screens:
        return None
    return Shadow(
        CandidateFolder(settings.phone_dir),
        logged_screens(settings.database, clock, policy.shown_in()),
        policy.sides(),
        limits=ShadowLimits(screens=settings.shadow_screens, seconds=settings.shadow_s),
        clock=clock,
        read_conditions=read_conditions,
    )


def _installer(
    settings: Settings,
    session: DeviceSession,
    policy: SharedPolicy | None,
    shadow: Shadow | None,
    *,
    phone: CohortPhone,
    server_clock: ServerClock,
) -> Installer | None:
    """What installs releases; None where the phone was not enrolled or has no base network."""
    trust_dir = settings.phone_dir / "trust"
    if policy is None or not (trust_dir / "root.json").is_file():
        return None

    clock = SystemClock()
    return Installer(
        settings.phone_dir,
        TrustedClient(
            trust_dir,
            ResumedFetch(
                LeastRate(fetch_from(settings, session), clock=clock),
                trust_dir / "pieces",
                is_large=is_large_target,
            ),
            clock=server_clock,
        ),
        phone=phone,
        base=PhoneBase(policy.base_digest, policy.policy_io_version),
        probe=policy.probe,
        shadow=shadow,
        report=TransitionOutbox(settings.database, clock=clock, wake=session.wake),
        clock=clock,
    )
