"""The messages that phone and cloud exchange: frozen values, one class per kind.

Change is additive only: a new field has a default, a reader ignores fields it does not know, and a
message whose `schema_version` is newer than the reader's is rejected with a reason, never dropped
silently. `sync.codec` turns them into bytes; `sync.topics` says where each travels.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import StrEnum
from typing import Final

from sync.vocabulary import Assignment, AssignmentId, DeviceId, Episode, TemplateInfo, Verdict

SCHEMA_VERSION: Final = 1
"""What this code writes and the newest that it reads."""


class Role(StrEnum):
    """What kind of device announces itself."""

    PHONE = "phone"
    FARM = "farm"


@dataclass(frozen=True, slots=True, kw_only=True)
class Birth:
    """A device that just connected: who it is and what it can play. Retained.

    Attributes:
        boot_id: new with each start of the device's process; filled in by the session.
        epoch: rises by one with each connection of an install; filled in by the session.
        seats: how many episodes it plays at a time.
        templates: what it can be assigned.
        release_id: the release that plays now.
        channel: the release channel that it follows.
        attributes: what it is, for choosing devices by (model, android, …).
        credentials: version of the credentials that it connected with; 0 where it was not enrolled.
    """

    device_id: DeviceId
    role: Role = Role.PHONE
    seats: int = 1
    templates: tuple[TemplateInfo, ...] = ()
    suite_version: str = ""
    policy_io_version: str = ""
    base_digest: str = ""
    release_id: str = ""
    channel: str = "stable"
    boot_id: str = ""
    epoch: int = 0
    sent_at_ms: int = 0
    attributes: dict[str, str] = field(default_factory=dict)
    credentials: int = 0
    schema_version: int = SCHEMA_VERSION


@dataclass(frozen=True, slots=True, kw_only=True)
class Offline:
    """A device that left: published on a clean end, and the broker's will otherwise. Retained."""

    device_id: DeviceId
    boot_id: str
    epoch: int
    clean: bool = False
    schema_version: int = SCHEMA_VERSION


@dataclass(frozen=True, slots=True, kw_only=True)
class ScreenPicture:
    """Which blob holds the picture of a screen that steps name.

    Attributes:
        screen: the steps' `Observation.screenshot`.
        blob: SHA-256 of the blob's bytes.
        media_type: what the bytes are.
    """

    screen: str
    blob: bytes
    size_bytes: int
    media_type: str = "image/webp"


@dataclass(frozen=True, slots=True, kw_only=True)
class EpisodeUpload:
    """An ended episode and what its verifiers said.

    Attributes:
        screens: pictures of its screens that can be asked for once it is committed.
    """

    episode: Episode
    verdicts: tuple[Verdict, ...] = ()
    screens: tuple[ScreenPicture, ...] = ()
    schema_version: int = SCHEMA_VERSION


@dataclass(frozen=True, slots=True, kw_only=True)
class Event:
    """Something that happened once on a device; `kind` is a past-tense snake_case word."""

    kind: str
    fields: dict[str, str] = field(default_factory=dict)
    at_ms: int = 0
    schema_version: int = SCHEMA_VERSION


@dataclass(frozen=True, slots=True, kw_only=True)
class Health:
    """How a device does right now; None where it cannot know.

    Attributes:
        stopped: why it may not act; empty where it may.
        oldest_unsent_s: age of the oldest row that waits to be sent.
        clock_offset_ms: the cloud's clock minus the device's, once it was measured.
        control_id: the last stop or start that it obeyed.
        contended: somebody else connects under its name (see Acknowledgement).
        drops: what was given up for want of room since the device's database was made: by rule
            (sync.drop_rules), how many and how many bytes.
    """

    at_ms: int
    uptime_s: float = 0.0
    release_id: str = ""
    episodes: int = 0
    env_errors: int = 0
    outbox_depth: int = 0
    outbox_parked: int = 0
    resident_bytes: int | None = None
    free_disk_bytes: int | None = None
    battery_percent: int | None = None
    temperature_c: float | None = None
    stopped: str = ""
    oldest_unsent_s: float | None = None
    clock_offset_ms: int | None = None
    control_id: str = ""
    contended: bool = False
    drops: dict[str, tuple[int, int]] = field(default_factory=dict)
    schema_version: int = SCHEMA_VERSION


@dataclass(frozen=True, slots=True, kw_only=True)
class FileRequest:
    """Asks for `length` bytes of a release file from `offset` on; answered by one FileChunk."""

    request_id: str
    path: str
    offset: int
    length: int
    schema_version: int = SCHEMA_VERSION


@dataclass(frozen=True, slots=True, kw_only=True)
class AssignmentsAccepted:
    """Assignments that are durably in the device's inbox; also said of ones that came again."""

    assignment_ids: tuple[AssignmentId, ...]
    schema_version: int = SCHEMA_VERSION


class QuestionState(StrEnum):
    """What became of a question to the owner."""

    ASKED = "asked"
    AGREED = "agreed"
    REFUSED = "refused"
    EXPIRED = "expired"


@dataclass(frozen=True, slots=True, kw_only=True)
class OwnerQuestion:
    """A device's question to its owner before a sensitive action, and later its end. Retained.

    Attributes:
        question_id: what an answer names.
        text: the question; secrets of the screen are slots in it.
        action: kind of the action that waits.
        expires_at_ms: when silence becomes a no, on the device's clock.
    """

    question_id: str
    text: str
    action: str = ""
    state: QuestionState = QuestionState.ASKED
    asked_at_ms: int = 0
    expires_at_ms: int = 0
    schema_version: int = SCHEMA_VERSION


@dataclass(frozen=True, slots=True, kw_only=True)
class Acknowledgement:
    """What became of outbox rows: committed (delete), rejected (park) or put off (send again).

    Attributes:
        install_id: the outbox that the sequence numbers belong to.
        boot: the last 8 characters of the boot whose rows these are: a copied database is another
            process's outbox of one name; "" where the cloud does not say, or answers no row.
        sequences: rows that were committed just now.
        rejected: (sequence, reason code) of rows that will never be accepted.
        postponed: (sequence, reason code) of rows that could not be taken now.
        cumulative: every row up to this one that was ever sent is committed; 0 says nothing.
        selective: (first, last) of further rows that are committed; what an earlier one of these
            messages said and was lost on its way.
        credit: how many rows the device may have outstanding from now on.
        credit_bytes: how many bytes of them; 0 leaves that to the device.
        backoff_ms: send nothing of the outbox for this long; 0 for no pause.
        server_epoch: new with each start of the cloud session: what was outstanding is lost.
        server_at_ms: the cloud's clock.
        contended: another process connects under this device's name while this one lives: wait
            long before connecting again once thrown off, or both throw each other off for ever.
    """

    install_id: str
    sequences: tuple[int, ...] = ()
    rejected: tuple[tuple[int, str], ...] = ()
    credit: int = 64
    server_epoch: str = ""
    server_at_ms: int = 0
    contended: bool = False
    postponed: tuple[tuple[int, str], ...] = ()
    cumulative: int = 0
    selective: tuple[tuple[int, int], ...] = ()
    credit_bytes: int = 0
    backoff_ms: int = 0
    boot: str = ""
    schema_version: int = SCHEMA_VERSION


@dataclass(frozen=True, slots=True, kw_only=True)
class AssignmentBatch:
    """Episodes to play; an assignment that comes twice is played once."""

    assignments: tuple[Assignment, ...]
    schema_version: int = SCHEMA_VERSION


@dataclass(frozen=True, slots=True, kw_only=True)
class Cancel:
    """Assignments that are not to be started any more."""

    assignment_ids: tuple[AssignmentId, ...]
    schema_version: int = SCHEMA_VERSION


@dataclass(frozen=True, slots=True, kw_only=True)
class FileChunk:
    """Part of a release file.

    Attributes:
        total: size of the whole file in bytes.
        version: changes when the file changes; chunks of two versions never belong together.
        missing: there is no such file.
    """

    request_id: str
    path: str
    offset: int = 0
    total: int = 0
    data: bytes = b""
    version: str = ""
    missing: bool = False
    schema_version: int = SCHEMA_VERSION


@dataclass(frozen=True, slots=True, kw_only=True)
class Stop:
    """The owner's stop: nothing is played until a Start. Retained, so an absent device hears it.

    Attributes:
        control_id: new with each command; one that was obeyed is not obeyed again.
    """

    control_id: str
    reason: str = ""
    at_ms: int = 0
    schema_version: int = SCHEMA_VERSION


@dataclass(frozen=True, slots=True, kw_only=True)
class Start:
    """The owner's permit to act again, for good or until a moment. Retained in a Stop's place.

    Attributes:
        control_id: as in Stop.
        until_ms: when the permit runs out by itself, Unix time; 0 leaves that to the device.
    """

    control_id: str
    until_ms: int = 0
    at_ms: int = 0
    schema_version: int = SCHEMA_VERSION


@dataclass(frozen=True, slots=True, kw_only=True)
class OwnerAnswer:
    """The owner's answer to one question; only the first counts."""

    question_id: str
    agreed: bool
    at_ms: int = 0
    schema_version: int = SCHEMA_VERSION


SettingValue = bool | int | float | str
"""What a setting from afar can be; which it is, the device checks."""


@dataclass(frozen=True, slots=True, kw_only=True)
class DesiredSettings:
    """How a device's settings are to be. Retained, so an absent device hears the last word.

    Attributes:
        version: rises with each change; a device takes only a higher one than it has.
        values: by name; a setting that is not named keeps its default.
    """

    version: int
    values: dict[str, SettingValue] = field(default_factory=dict)
    at_ms: int = 0
    schema_version: int = SCHEMA_VERSION


@dataclass(frozen=True, slots=True, kw_only=True)
class ReportedSettings:
    """Which settings a device goes by: said for each DesiredSettings and connection. Retained.

    Attributes:
        version: of the desired settings that it took last; 0 before any.
        values: all that can be set from afar, as it is now.
        refused: (name, reason code) of values that it did not take: "unknown", "type" or "range".
        unknown: names that it did not know, over all desired settings that it took.
    """

    version: int = 0
    values: dict[str, SettingValue] = field(default_factory=dict)
    refused: tuple[tuple[str, str], ...] = ()
    unknown: int = 0
    at_ms: int = 0
    schema_version: int = SCHEMA_VERSION


@dataclass(frozen=True, slots=True, kw_only=True)
class NewCredentials:
    """What a device is to connect with from soon on; it keeps the old ones until these worked.

    The device stores them and says so by the event `credentials_stored`; only then does the broker
    take the new password in place of the old one.

    Attributes:
        version: rises with each rotation.
    """

    version: int
    password: str
    schema_version: int = SCHEMA_VERSION

    def __repr__(self) -> str:
        """Without the password: representations end up in logs."""
        return f"NewCredentials(version={self.version})"


@dataclass(frozen=True, slots=True, kw_only=True)
class BlobOffer:
    """Blobs that a device can send, named by committed episodes; repeated until they are settled.

    Attributes:
        have: (SHA-256, size in bytes) of each.
        lost: digests of blobs that it was asked for and does not have any more.
    """

    have: tuple[tuple[bytes, int], ...] = ()
    lost: tuple[bytes, ...] = ()
    schema_version: int = SCHEMA_VERSION


@dataclass(frozen=True, slots=True, kw_only=True)
class BlobWant:
    """Chunks that a device is asked to send; no others are taken.

    Attributes:
        ranges: (SHA-256 of the blob, number of the first chunk, how many).
        store_id: names the cloud's store; another one holds nothing of what was sent before.
    """

    ranges: tuple[tuple[bytes, int, int], ...]
    store_id: str = ""
    schema_version: int = SCHEMA_VERSION


@dataclass(frozen=True, slots=True, kw_only=True)
class BlobChunk:
    """Part of a blob: 64 KiB of it, its last part less.

    Attributes:
        digest: SHA-256 of the whole blob.
        offset: of the part, in bytes; a multiple of 64 KiB.
        total: size of the whole blob in bytes.
        crc32: of `data`.
    """

    digest: bytes
    offset: int
    total: int
    data: bytes
    crc32: int
    schema_version: int = SCHEMA_VERSION


@dataclass(frozen=True, slots=True, kw_only=True)
class BlobAck:
    """What became of blobs that a device offered.

    Attributes:
        stored: digests that the cloud holds, whoever sent them.
        refused: (digest, reason code) of blobs that the cloud will never take from this device.
        unknown: digests that no committed episode names: offer them again much later.
        store_id: as in BlobWant.
    """

    stored: tuple[bytes, ...] = ()
    refused: tuple[tuple[bytes, str], ...] = ()
    unknown: tuple[bytes, ...] = ()
    store_id: str = ""
    schema_version: int = SCHEMA_VERSION


@dataclass(frozen=True, slots=True, kw_only=True)
class ReleaseAnnouncement:
    """A channel points at a release. A hint to look: only signed files are believed.

    Attributes:
        spread_s: devices look at a moment of their own within so many seconds, so that a large
            fleet does not ask at once; 0: now.
    """

    channel: str
    release_id: str
    version: int
    schema_version: int = SCHEMA_VERSION
    spread_s: float = 0.0


DurableMessage = EpisodeUpload | Event
"""What goes through the outbox: delivered at least once, committed exactly once."""

LiveMessage = Health | AssignmentsAccepted | FileRequest | OwnerQuestion | ReportedSettings
"""What a device sends when it is connected and forgets otherwise."""

BlobUpMessage = BlobOffer | BlobChunk
BlobDownMessage = BlobWant | BlobAck
"""How blobs travel: neither through the outbox nor through ingest."""

UpMessage = Birth | Offline | DurableMessage | LiveMessage | BlobUpMessage
ControlMessage = Stop | Start | OwnerAnswer
"""What an owner says to a device; heard at once, whatever the device is doing."""

DownMessage = (
    Acknowledgement
    | AssignmentBatch
    | Cancel
    | FileChunk
    | ControlMessage
    | DesiredSettings
    | NewCredentials
    | BlobDownMessage
)
InboxMessage = AssignmentBatch | Cancel | ReleaseAnnouncement
"""What a device's session hands to its owner."""

Message = UpMessage | DownMessage | ReleaseAnnouncement

KINDS: Final[dict[str, type[Message]]] = {
    "birth": Birth,
    "offline": Offline,
    "episode_upload": EpisodeUpload,
    "event": Event,
    "health": Health,
    "file_request": FileRequest,
    "assignments_accepted": AssignmentsAccepted,
    "acknowledgement": Acknowledgement,
    "assignment_batch": AssignmentBatch,
    "cancel": Cancel,
    "file_chunk": FileChunk,
    "release_announcement": ReleaseAnnouncement,
    "owner_question": OwnerQuestion,
    "owner_answer": OwnerAnswer,
    "stop": Stop,
    "start": Start,
    "desired_settings": DesiredSettings,
    "reported_settings": ReportedSettings,
    "new_credentials": NewCredentials,
    "blob_offer": BlobOffer,
    "blob_want": BlobWant,
    "blob_chunk": BlobChunk,
    "blob_ack": BlobAck,
}
"""Every message by the name that its envelope carries."""

_NAMES: Final = {cls: name for name, cls in KINDS.items()}


def kind_name(message: Message) -> str:
    """The name that `message` travels under."""
    return _NAMES[type(message)]
