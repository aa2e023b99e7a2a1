"""Every setting of the cloud service, with unit and default; read once where the wiring is."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path

from cloud_learner.curriculum import CurriculumSettings
from sync.releases import require_channel

MAX_DEMONSTRATIONS = 4
"""A new app is shown at most this often per template before anything is learnt."""


@dataclass(frozen=True, slots=True)
class GateSettings:
    """When a candidate release is promoted.

    Attributes:
        per_template: validation instances per template of the new app.
        margin: how much worse than the promoted release a candidate's success may be (share).
        env_error_limit: share of env_errors above which the figures are invalid and repeated.
        attempts: how often invalid figures are tried before the candidate is reverted.
    """

    per_template: int = 8
    margin: float = 0.05
    env_error_limit: float = 0.02
    attempts: int = 3


@dataclass(frozen=True, slots=True)
class CampaignSettings:
    """What one campaign teaches the fleet, and how much of everything it plays.

    Attributes:
        app, more_apps: the app that is new to the policy, and others that are, too.
        old_apps: those that must not be forgotten.
        templates: only these templates of the new apps; empty takes all.
        env_steps, minutes: the campaign learns until so many training steps are stored, or its
            time (pauses between runs left out) is up.
        demonstrations, old_demonstrations: oracle episodes per template.
        evaluate_new, evaluate_old: test instances at least, spread evenly over the templates.
        new_share: share of training episodes on the new app.
        group_size: training episodes in a row that play one task on one look; what learns by
            comparing such episodes says how many (1: no groups).
        in_flight_limit: training episodes that may be issued or stored without being consumed.
        temperature: of the training episodes.
        reserve_minutes: of `minutes`, kept for what follows the learning.
        settle_timeout_s: how long the learner may take for its last adapter.
        show_timeout_s: how long the phone may take for the episode that is shown.
        overtime_minutes: after `minutes`, when the campaign gives up on what is still missing.
        excluded_tags: templates with one of these are neither trained nor counted.
        curriculum: which templates are played more often, and which are shown again.
    """

    app: str = "tickets"
    more_apps: tuple[str, ...] = ()
    templates: tuple[str, ...] = ()
    old_apps: tuple[str, ...] = ("settings", "contacts", "clock")
    seed: int = 0
    env_steps: int = 30_000
    minutes: float = 15.0
    demonstrations: int = MAX_DEMONSTRATIONS
    old_demonstrations: int = 6
    evaluate_new: int = 252
    evaluate_old: int = 480
    new_share: float = 0.65
    group_size: int = 1
    in_flight_limit: int = 96
    temperature: float = 1.0
    reserve_minutes: float = 1.5
    settle_timeout_s: float = 90.0
    show_timeout_s: float = 60.0
    overtime_minutes: float = 5.0
    excluded_tags: tuple[str, ...] = ("infeasible", "no_parameters", "starts_satisfied")
    gate: GateSettings = field(default_factory=GateSettings)
    curriculum: CurriculumSettings = field(default_factory=CurriculumSettings)

    def __post_init__(self) -> None:
        if not 0 <= self.demonstrations <= MAX_DEMONSTRATIONS:
            raise ValueError(
                f"demonstrations is 0..{MAX_DEMONSTRATIONS}, got {self.demonstrations}"
            )
        if not 0.0 <= self.new_share <= 1.0:
            raise ValueError(f"new_share is 0..1, got {self.new_share}")
        if min(self.env_steps, self.evaluate_new, self.evaluate_old, self.in_flight_limit) < 0:
            raise ValueError("counts of a campaign are not negative")
        for app in self.new_apps:
            if app in self.old_apps:
                raise ValueError(f"{app!r} cannot be both the new app and an old one")
        if not 1 <= self.group_size <= max(self.in_flight_limit, 1):
            raise ValueError(
                f"group_size is 1..in_flight_limit ({self.in_flight_limit}), got {self.group_size}"
            )

    @property
    def new_apps(self) -> tuple[str, ...]:
        """Every app that is new to the policy."""
        return (self.app, *self.more_apps)

    @property
    def most_shown(self) -> int:
        """Demonstrations of a template of a new app over the whole campaign, at most."""
        return max(self.demonstrations, self.curriculum.most_shown * self.curriculum.enabled)

    @property
    def learn_until_s(self) -> float:
        """Active seconds after which no more training episodes are issued."""
        return max(0.0, self.minutes - self.reserve_minutes) * 60

    @property
    def give_up_s(self) -> float:
        """Active seconds after which the campaign ends with what it has."""
        return (self.minutes + self.overtime_minutes) * 60


@dataclass(frozen=True, slots=True)
class DispatchSettings:
    """How assignments reach farms and phones.

    Attributes:
        farm_seats_factor: outstanding assignments per seat of a farm.
        phone_capacity: outstanding assignments of a phone.
        message_limit: assignments in one message.
        deadline_s: after which an unplayed assignment is sent again, perhaps to another device.
        silence_s: after which a device without any message counts as gone.
    """

    farm_seats_factor: int = 2
    phone_capacity: int = 1
    message_limit: int = 32
    deadline_s: float = 150.0
    silence_s: float = 60.0


@dataclass(frozen=True, slots=True)
class ServiceSettings:
    """The cloud service as one process.

    Attributes:
        data_dir: DIR; the service keeps everything below DIR/cloud, DIR/tuf, DIR/releases.
        database_url: SQLAlchemy URL; empty means the SQLite file DIR/cloud/cloud.db.
        fleet: first level of the topics.
        host, port: of the API; port 0 takes a free one.
        tls_cert, tls_key: files of the API's certificate chain and its private key, both in PEM; it
            then speaks https only.
        tick_s: pause of the director between two looks at the facts.
        progress_s: pause between two reports of progress.
        linger_s: how long a service that ends with its campaign still listens to late messages.
        promote_to: channel that the campaign's promoted releases go to. With "beta", stable gets
            them by `outrider release stage` only.
        staged_look_s: least pause between two looks at how staged releases do.
    """

    data_dir: Path
    database_url: str = ""
    fleet: str = "home"
    host: str = "127.0.0.1"
    port: int = 0
    tls_cert: str = ""
    tls_key: str = ""
    tick_s: float = 0.2
    progress_s: float = 2.0
    linger_s: float = 3.0
    promote_to: str = "stable"
    staged_look_s: float = 60.0
    campaign: CampaignSettings = field(default_factory=CampaignSettings)
    dispatch: DispatchSettings = field(default_factory=DispatchSettings)

    def __post_init__(self) -> None:
        require_channel(self.promote_to)
        if bool(self.tls_cert) != bool(self.tls_key):
            raise ValueError("tls_cert and tls_key go together: name both files")

    @property
    def cloud_dir(self) -> Path:
        """Database, token, adapters and checkpoints."""
        return self.data_dir / "cloud"

    @property
    def adapters_dir(self) -> Path:
        """Where the learner puts its adapter files."""
        return self.cloud_dir / "adapters"

    @property
    def token_path(self) -> Path:
        """Where the hash of the API's token lies."""
        return self.cloud_dir / "token"

    @property
    def tuf_dir(self) -> Path:
        """The signed releases that devices fetch from."""
        return self.data_dir / "tuf"

    @property
    def phones_dir(self) -> Path:
        """Logs of the phones that run on this machine."""
        return self.data_dir / "phones"
