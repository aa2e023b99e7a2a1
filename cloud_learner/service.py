"""The cloud service as one process: session, ingest, director and API, composed and run.

The session's thread ingests, the API's thread answers, and the caller's thread directs; they meet
in the database.
"""

from __future__ import annotations

import socket
import threading
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from queue import SimpleQueue
from random import Random

import structlog
import uvicorn

from cloud_learner.api import ApiParts, build_api
from cloud_learner.api_reports import Sources
from cloud_learner.blob_intake import BlobIntake
from cloud_learner.blob_store import BlobStore
from cloud_learner.campaign import Phase
from cloud_learner.campaign_store import CampaignStore
from cloud_learner.director import Director, Notice
from cloud_learner.enroller import Admission, Enroller
from cloud_learner.errors import ApiAddressInUseError, SettingsError
from cloud_learner.fleet_carrier import FleetCarrier
from cloud_learner.fleet_desk import FleetDesk
from cloud_learner.ingest import Ingest
from cloud_learner.lineage_store import LineageStore
from cloud_learner.phone_logs import find_logs, read_index
from cloud_learner.ports import StagedSigner
from cloud_learner.publishing import Published, Publishing
from cloud_learner.release_store import ReleaseStore
from cloud_learner.report_store import ReportStore
from cloud_learner.settings import ServiceSettings
from cloud_learner.staged_census import Census
from cloud_learner.staged_desk import StagedDesk
from cloud_learner.staged_director import StagedChanged, StagedDirector
from cloud_learner.staged_evidence_store import EvidenceStore
from cloud_learner.staged_phone_store import StagedPhones
from cloud_learner.staged_store import StagedStore
from cloud_learner.store import Database, sqlite_url
from cloud_learner.summary import JsonObject, summarise
from cloud_learner.tokens import TokenFile
from sync.boot_watch import Double
from sync.clock import Clock
from sync.errors import TransientError
from sync.ports import Transport
from sync.session import CloudSession
from sync.update_pack import RepositoryFiles

_log = structlog.get_logger()
_API_STOP_S = 5.0
_TELL_AGAIN_S = 60.0
"""After which a tick that cannot be made is told of again."""


@dataclass(frozen=True, slots=True)
class Progress:
    """How far the campaign is, now and then.

    Attributes:
        counts: of the store: episodes, env_steps, env_errors, phones_online and more.
    """

    phase: Phase
    active_s: float
    promoted: str
    candidate: str
    counts: dict[str, int]


Tell = Callable[[Notice | Published | Progress | StagedChanged], None]


@dataclass(frozen=True, slots=True)
class Edges:
    """What the service is given of the outside.

    Attributes:
        admission: how new phones are let in; None lets nobody in.
    """

    transport: Transport
    signer: StagedSigner
    clock: Clock
    random: Random
    new_id: Callable[[], str]
    admission: Admission | None = None


class CloudService:
    """One service; `start`, `run`, then `close`, also after an error.

    Args:
        tell: called on the caller's thread with what the terminal should show.
    """

    def __init__(self, settings: ServiceSettings, edges: Edges, *, tell: Tell) -> None:
        self._settings = settings
        self._tell = tell
        self._clock = edges.clock
        url = settings.database_url or sqlite_url(settings.cloud_dir / "cloud.db")
        self._database = Database(url, sole=True)
        self._reports = ReportStore(self._database)
        self._releases = ReleaseStore(self._database)
        self._desk = FleetDesk(self._database, clock=edges.clock, new_id=edges.new_id)
        self._tell_again_at_s = 0.0
        self._doubles: SimpleQueue[Double] = SimpleQueue()
        self._admission = edges.admission or Admission(fleet=settings.fleet, broker_url="")
        ingest = Ingest(self._database, clock=edges.clock)
        self._blobs = BlobStore(
            self._database, settings.cloud_dir / "blobs", clock=edges.clock, new_id=edges.new_id
        )
        self._blob_intake = BlobIntake(self._blobs, clock=edges.clock)
        self._session = CloudSession(
            transport=edges.transport,
            fleet=settings.fleet,
            ingest=ingest.commit,
            files=RepositoryFiles(settings.tuf_dir),
            dead_letter=ingest.bury,
            doubled=self._doubles.put,
            blobs=self._blob_intake.take,
            clock=edges.clock,
            random=edges.random,
            new_id=edges.new_id,
        )
        self._publishing = Publishing(
            self._releases,
            signer=edges.signer,
            downlink=self._session,
            adapters_dir=settings.adapters_dir,
            clock=edges.clock,
            tell=tell,
            promote_to=settings.promote_to,
        )
        self._staged_store = StagedStore(self._database, clock=edges.clock)
        self._staged = StagedDirector(
            self._staged_store,
            StagedPhones(self._database, clock=edges.clock),
            EvidenceStore(self._database, clock=edges.clock),
            signer=edges.signer,
            downlink=self._session,
            clock=edges.clock,
            look_every_s=settings.staged_look_s,
            tell=tell,
        )
        self._director = Director(
            CampaignStore(self._database, clock=edges.clock),
            publishing=self._publishing,
            downlink=self._session,
            settings=settings.campaign,
            dispatch=settings.dispatch,
            clock=edges.clock,
            tell=tell,
        )
        self._carrier = FleetCarrier(
            self._desk.store,
            self._desk.task_store,
            downlink=self._session,
            accounts=self._admission.accounts,
            secrets_dir=settings.cloud_dir / "new_credentials",
            clock=edges.clock,
        )
        self._token = TokenFile(settings.token_path)
        self._api: _ApiThread | None = None

    @property
    def phase(self) -> Phase:
        """Where the campaign stands."""
        return self._director.state.phase

    def start(self) -> int:
        """Open the API and connect to the broker; returns the API's port.

        Raises:
            ApiAddressInUseError: somebody else listens there; nothing was started.
            SettingsError: the API's certificate cannot be used; nothing was started.
        """
        api = build_api(
            ApiParts(
                Sources(
                    reports=self._reports,
                    releases=self._releases,
                    desk=self._desk,
                    token=self._token,
                    broker_connected=lambda: self._session.connected,
                    summary=self.summary,
                    wire=lambda: self._session.stats().counters,
                    blobs=self._blob_intake.counts,
                ),
                Enroller(self._desk.claims, self._admission),
                LineageStore(self._database),
                self._settings.tuf_dir,
                self._clock,
                self._blobs,
                StagedDesk(
                    self._staged_store,
                    Census(self._database, clock=self._clock),
                    tuf_dir=self._settings.tuf_dir,
                ),
            )
        )
        config = _api_config(api, self._settings)
        listening = _listen(self._settings.host, self._settings.port)
        self._api = _ApiThread(config, listening)
        self._api.start()
        self._blob_intake.start(self._session)
        self._session.start()
        self._publishing.announce_channels()
        return int(listening.getsockname()[1])

    def run(self, stop: threading.Event, *, until_finished: bool = False) -> None:
        """Direct the campaign until `stop` is set, or until it is finished where that is wanted.

        Raises: StoreInUseError: another service took the database while it was away.
        """
        told_s = self._clock.monotonic_s()
        while not stop.is_set():
            try:
                self._database.check_sole()
                self._note_doubles()
                self._director.tick()
                self._staged.tick()
                self._publishing.renew()
                self._carrier.tick()
                if self._clock.monotonic_s() - told_s >= self._settings.progress_s:
                    told_s = self._clock.monotonic_s()
                    self._tell(self._progress())
                self._tell_again_at_s = 0.0
            except TransientError as error:
                self._tell_postponed(error)
            if until_finished and self.phase is Phase.FINISHED:
                stop.wait(self._settings.linger_s)
                return
            self._session.stats()  # raises where the session's thread ended by an error
            self._blob_intake.stats()  # as above
            stop.wait(self._settings.tick_s)

    def _tell_postponed(self, error: TransientError) -> None:
        """Log why nothing is directed now: once, and again while it stays so."""
        now_s = self._clock.monotonic_s()
        if now_s >= self._tell_again_at_s:
            self._tell_again_at_s = now_s + _TELL_AGAIN_S
            _log.warning("tick_postponed", error=str(error))

    def _note_doubles(self) -> None:
        """Raise the alarms that the session told of; its thread waits for no database."""
        while not self._doubles.empty():
            double = self._doubles.get()
            try:
                self._desk.store.note_double(double)
            except TransientError:
                self._doubles.put(double)
                raise

    def _progress(self) -> Progress:
        state = self._director.state
        return Progress(
            phase=state.phase,
            active_s=self._director.active_s,
            promoted=state.promoted,
            candidate=state.candidate,
            counts=self._reports.counts(),
        )

    def summary(self) -> JsonObject | None:
        """The campaign's figures so far, or None before one began."""
        campaign = self._reports.campaign()
        if campaign is None:
            return None
        return summarise(
            self._reports,
            campaign=campaign,
            releases=self._releases.all(),
            logs=[read_index(path) for path in find_logs(self._settings.phones_dir)],
        )

    def close(self) -> None:
        """Stop in an order in which nothing is acknowledged that is not stored. Idempotent."""
        self._session.close()
        self._blob_intake.close()
        if self._api is not None:
            self._api.stop()
        self._database.close()


class _ApiThread:
    """uvicorn in a thread of its own, on a socket that is already bound."""

    def __init__(self, config: uvicorn.Config, listening: socket.socket) -> None:
        self._server = uvicorn.Server(config)
        self._listening = listening
        self._thread = threading.Thread(
            target=self._server.run, args=([listening],), name="api", daemon=True
        )

    def start(self) -> None:
        self._thread.start()

    def stop(self) -> None:
        self._server.should_exit = True
        self._thread.join(_API_STOP_S)
        with suppress(OSError):
            self._listening.close()


def _api_config(api: object, settings: ServiceSettings) -> uvicorn.Config:
    """How the API is served, its certificate read already.

    Raises: SettingsError: the certificate or its key cannot be read, or do not belong together.
    """
    config = uvicorn.Config(
        api,  # type: ignore[arg-type]  # FastAPI is an ASGI application
        log_config=None,  # uvicorn's own would end the log handlers of the whole process
        log_level="warning",
        access_log=False,
        lifespan="off",
        ssl_certfile=settings.tls_cert or None,
        ssl_keyfile=settings.tls_key or None,
    )
    try:
        config.load()
    except OSError as error:  # ssl's errors are among them
        raise SettingsError(
            f"the API's certificate {settings.tls_cert} with the key {settings.tls_key} cannot be "
            f"used ({error}): name the files of one pair"
        ) from error
    return config


def _listen(host: str, port: int) -> socket.socket:
    listening = socket.socket(socket.AF_INET, socket.SOCK_STREAM)
    listening.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    try:
        listening.bind((host, port))
        listening.listen(128)
    except OSError as error:
        listening.close()
        raise ApiAddressInUseError(host, port) from error
    return listening
