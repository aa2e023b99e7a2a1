"""What must hold on the wire, each under an id that a test names (`pytest.mark.requirement`).

docs/protocol.md lists them from here; `outrider sync conformance` checks those that can be seen
from outside. An id is never used again for something else; a new one takes the next number of its
group. Groups: CON connection, TOP topics, ENV envelope, VER versions, ACK outbox and
acknowledgements, ROM room on the device, PRE presence, ENR enrolment, ASG assignments and tasks,
FIL files, OWN owner, SET settings, REL releases, BLB blobs, BRK what a broker must do.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from typing import Final


class Party(StrEnum):
    """Who has to meet a requirement."""

    DEVICE = "device"
    CLOUD = "cloud"
    BROKER = "broker"
    OWNER = "owner"
    BOTH = "device, cloud"


@dataclass(frozen=True, slots=True)
class Requirement:
    """One thing that must hold.

    Attributes:
        must: False for what a broker may do and nothing rests on.
    """

    id: str
    who: Party
    text: str
    must: bool = True


REQUIREMENTS: Final = (
    # Connection
    Requirement(
        "OR-CON-1",
        Party.BOTH,
        "Sessions MUST be clean: nothing is left to the broker to keep for a client that is away.",
    ),
    Requirement(
        "OR-CON-2",
        Party.BOTH,
        "A lost connection MUST be made again after waits that grow and are drawn at random.",
    ),
    Requirement(
        "OR-CON-3",
        Party.BOTH,
        "A message MUST be acknowledged to the broker only after it is stored; a row of an outbox "
        "also after its device was told that it is put off, any other also while it is held in "
        "memory to be stored.",
    ),
    Requirement(
        "OR-CON-4",
        Party.BOTH,
        "Bytes that are no MQTT MUST end the connection; it is made again, as a lost one.",
    ),
    # Topics
    Requirement(
        "OR-TOP-1",
        Party.BOTH,
        "A message MUST travel on the one topic of the table that names it, with its QoS and "
        "retain flag.",
    ),
    Requirement(
        "OR-TOP-2",
        Party.CLOUD,
        "A message whose envelope names another device than its topic MUST be dead-lettered as "
        "`wrong_device` and not be answered.",
    ),
    Requirement(
        "OR-TOP-3",
        Party.DEVICE,
        "A message for another device, or on a topic that does not carry its kind, MUST be dropped "
        "and counted.",
    ),
    Requirement(
        "OR-TOP-4",
        Party.CLOUD,
        "A retained message where the table allows none MUST be dead-lettered as `retained` and "
        "taken from the broker.",
    ),
    # Envelope
    Requirement(
        "OR-ENV-1",
        Party.BOTH,
        "Bytes that cannot be read MUST be dropped with a reason code, and never end the reader.",
    ),
    Requirement(
        "OR-ENV-2",
        Party.BOTH,
        "A payload of more than 3,900,000 bytes, or a body that inflates to more than 32,000,000, "
        "MUST be refused as `too_large` before it is read.",
    ),
    Requirement(
        "OR-ENV-3",
        Party.BOTH,
        "A message whose check does not fit MUST be dropped as `damaged`, and never be taken for "
        "another.",
    ),
    # Versions
    Requirement(
        "OR-VER-1",
        Party.BOTH,
        "An envelope MUST say the newest minor version that its sender speaks; one that says none "
        "is of minor version 1.",
    ),
    Requirement(
        "OR-VER-2",
        Party.BOTH,
        "The minor version before the own one MUST be spoken too.",
    ),
    Requirement(
        "OR-VER-3",
        Party.BOTH,
        "Fields that a reader does not know MUST be ignored and counted.",
    ),
    Requirement(
        "OR-VER-4",
        Party.CLOUD,
        "A row of an unknown version or kind MUST be dead-lettered and answered with its reason.",
    ),
    Requirement(
        "OR-VER-5",
        Party.BOTH,
        "A message that the peer's minor version does not know MUST NOT be sent to it.",
    ),
    # Outbox and acknowledgements
    Requirement(
        "OR-ACK-1",
        Party.DEVICE,
        "A row MUST be kept and sent again until the cloud has acknowledged or rejected it.",
    ),
    Requirement(
        "OR-ACK-2",
        Party.CLOUD,
        "A row MUST be acknowledged only after it is committed.",
    ),
    Requirement(
        "OR-ACK-3",
        Party.CLOUD,
        "A row that comes again MUST be committed once and acknowledged again.",
    ),
    Requirement(
        "OR-ACK-4",
        Party.DEVICE,
        "A rejected row MUST be kept with its reason and not be sent again.",
    ),
    Requirement(
        "OR-ACK-5",
        Party.DEVICE,
        "No more rows than the cloud's credit MUST be outstanding; with none, nothing is sent.",
    ),
    Requirement(
        "OR-ACK-6",
        Party.DEVICE,
        "An acknowledgement for another install MUST change no row.",
    ),
    Requirement(
        "OR-ACK-7",
        Party.DEVICE,
        "A sequence number MUST never be used twice within an install.",
    ),
    Requirement(
        "OR-ACK-8",
        Party.DEVICE,
        "What is outstanding MUST be sent again when the connection broke or the cloud started "
        "anew.",
    ),
    Requirement(
        "OR-ACK-9",
        Party.CLOUD,
        "A row whose number another row has MUST be rejected as `sequence_taken` and change "
        "nothing.",
    ),
    Requirement(
        "OR-ACK-10",
        Party.DEVICE,
        "A row that is rejected as `sequence_taken` MUST be sent again under a new install, which "
        "later rows bear, too.",
    ),
    Requirement(
        "OR-ACK-11",
        Party.BOTH,
        "An acknowledgement MUST name the process whose rows it answers, and MUST change no row "
        "of another.",
    ),
    Requirement(
        "OR-ACK-12",
        Party.CLOUD,
        "Rows that cannot be stored now MUST be answered as put off, with a pause that grows while "
        "that lasts.",
    ),
    Requirement(
        "OR-ACK-13",
        Party.DEVICE,
        "No row MUST be sent in a pause that the cloud asks for, which ends after 7.5 minutes at "
        "the latest.",
    ),
    Requirement(
        "OR-ACK-14",
        Party.DEVICE,
        "A row that nobody answered for MUST be sent again after waits that grow and are drawn at "
        "random.",
    ),
    Requirement(
        "OR-ACK-15",
        Party.DEVICE,
        "Events MUST be sent before episodes, whatever episodes are outstanding.",
    ),
    Requirement(
        "OR-ACK-16",
        Party.CLOUD,
        "Devices that send MUST share what may be outstanding, each a row at least while uploads "
        "are not held back.",
    ),
    Requirement(
        "OR-ACK-17",
        Party.CLOUD,
        "A row that no transaction takes MUST be dead-lettered as `unstorable` and hold up no "
        "other.",
    ),
    Requirement(
        "OR-ACK-18",
        Party.DEVICE,
        "No more bytes than the cloud allows MUST be outstanding, but for one row alone.",
    ),
    Requirement(
        "OR-ACK-19",
        Party.CLOUD,
        "What an acknowledgement says to be committed, row by row, up to a number or in ranges, "
        "MUST be committed.",
    ),
    Requirement(
        "OR-ACK-20",
        Party.DEVICE,
        "An acknowledgement up to a number or in ranges MUST settle every row in them that was "
        "sent, and none that was not or that is parked.",
    ),
    # Room
    Requirement(
        "OR-ROM-1",
        Party.DEVICE,
        "Rows beyond the quota MUST be given up in the order of the drop rules, oldest first, and "
        "none for a row that would itself go sooner.",
    ),
    Requirement(
        "OR-ROM-2",
        Party.DEVICE,
        "The outbox MUST NOT grow while less than the floor is free on the disk.",
    ),
    Requirement(
        "OR-ROM-3",
        Party.DEVICE,
        "Every drop MUST be declared in the transaction that drops, and the totals of each rule be "
        "told to the cloud.",
    ),
    Requirement(
        "OR-ROM-4",
        Party.DEVICE,
        "On a disk that takes nothing rows MUST still be sent, and no episode that ended be lost "
        "while the process lives.",
    ),
    # Presence
    Requirement(
        "OR-PRE-1",
        Party.DEVICE,
        "Each connection MUST begin with a birth of a higher epoch, and leave a will of the same "
        "epoch.",
    ),
    Requirement(
        "OR-PRE-2",
        Party.CLOUD,
        "An offline of another boot or epoch than the last birth's MUST be ignored.",
    ),
    Requirement(
        "OR-PRE-3",
        Party.CLOUD,
        "A birth MUST be answered with an acknowledgement that carries the credit.",
    ),
    Requirement(
        "OR-PRE-4",
        Party.CLOUD,
        "Births of two boots in turns MUST be told as two processes of one name, and answered with "
        "`contended`; a restart MUST NOT be.",
    ),
    Requirement(
        "OR-PRE-5",
        Party.DEVICE,
        "A device that is told `contended` MUST wait 30 s or longer before it connects again.",
    ),
    Requirement(
        "OR-PRE-6",
        Party.DEVICE,
        "What has expired MUST be judged by the cloud's time, never by the device's own clock once "
        "the cloud was heard.",
    ),
    # Enrolment
    Requirement(
        "OR-ENR-1",
        Party.CLOUD,
        "A claim token MUST let in one key only, before it expires; that key may show it again.",
    ),
    Requirement(
        "OR-ENR-2",
        Party.CLOUD,
        "An enrolment request that its own key did not sign MUST be refused.",
    ),
    Requirement(
        "OR-ENR-3",
        Party.DEVICE,
        "New credentials MUST be stored before `credentials_stored` is said, and the old ones kept "
        "until the new ones worked.",
    ),
    Requirement(
        "OR-ENR-4",
        Party.CLOUD,
        "Rows of a revoked device MUST be rejected as `revoked`.",
    ),
    Requirement(
        "OR-ENR-5",
        Party.CLOUD,
        "What a broker keeps of a revoked device and for it MUST be taken away, also what it says "
        "later or the broker brings back.",
    ),
    Requirement(
        "OR-ENR-6",
        Party.CLOUD,
        "A device that came in by a claim MUST count as a phone, also where its birth says `farm`.",
    ),
    # Assignments
    Requirement(
        "OR-ASG-1",
        Party.DEVICE,
        "An assignment MUST be stored before it is acknowledged to the broker and to the cloud.",
    ),
    Requirement(
        "OR-ASG-2",
        Party.DEVICE,
        "An assignment that comes twice MUST be played once.",
    ),
    Requirement(
        "OR-ASG-3",
        Party.DEVICE,
        "A cancelled assignment MUST NOT be started, also where it arrives after its cancellation.",
    ),
    # Files
    Requirement(
        "OR-FIL-1",
        Party.DEVICE,
        "Chunks of two versions of a file MUST NOT be put together.",
    ),
    Requirement(
        "OR-FIL-2",
        Party.CLOUD,
        "Nothing outside the served directory MUST be readable.",
    ),
    Requirement(
        "OR-FIL-3",
        Party.BOTH,
        "A file that is fetched chunk by chunk MUST arrive byte for byte.",
    ),
    # Owner
    Requirement(
        "OR-OWN-1",
        Party.DEVICE,
        "A stop MUST reach a device that was away, and hold until a start.",
    ),
    Requirement(
        "OR-OWN-2",
        Party.BROKER,
        "A device's account MUST NOT stop, start, answer or set another device.",
    ),
    Requirement(
        "OR-OWN-3",
        Party.DEVICE,
        "The first answer to a question MUST count, and none before it expires MUST be a no.",
    ),
    Requirement(
        "OR-OWN-4",
        Party.DEVICE,
        "A command MUST be obeyed once, however often it comes.",
    ),
    # Settings
    Requirement(
        "OR-SET-1",
        Party.DEVICE,
        "Desired settings MUST be taken only where their version is higher than the last.",
    ),
    Requirement(
        "OR-SET-2",
        Party.DEVICE,
        "A value of unknown name, wrong type or out of range MUST leave the one before in force, "
        "and be reported with its reason.",
    ),
    Requirement(
        "OR-SET-3",
        Party.CLOUD,
        "A change that was made from another version of the settings than the last MUST be refused "
        "as `conflict`.",
    ),
    # Releases
    Requirement(
        "OR-REL-1",
        Party.DEVICE,
        "A release announcement MUST be taken as a hint: only signed files decide what is "
        "installed.",
    ),
    Requirement(
        "OR-REL-2",
        Party.CLOUD,
        "An announcement MUST be said again on each new connection to the broker.",
    ),
    Requirement(
        "OR-REL-3",
        Party.CLOUD,
        "A channel's last announcement MUST reach a device that connects later.",
    ),
    # Blobs
    Requirement(
        "OR-BLB-1",
        Party.DEVICE,
        "A blob MUST be offered only after the cloud has committed an episode that names it.",
    ),
    Requirement(
        "OR-BLB-2",
        Party.DEVICE,
        "Blobs MUST NOT be offered or sent where the device's own setting says no, or the one from "
        "afar, which cannot say yes in its place.",
    ),
    Requirement(
        "OR-BLB-3",
        Party.DEVICE,
        "A blob whose bytes are not what its name says MUST NOT be sent; the cloud is told.",
    ),
    Requirement(
        "OR-BLB-4",
        Party.DEVICE,
        "Chunks MUST wait while a row of the outbox waits to be sent.",
    ),
    Requirement(
        "OR-BLB-5",
        Party.DEVICE,
        "Blobs that were stored MUST be offered again where `store_id` is another one.",
    ),
    Requirement(
        "OR-BLB-6",
        Party.CLOUD,
        "Only chunks MUST be taken that were asked for, of blobs that a committed episode names.",
    ),
    Requirement(
        "OR-BLB-7",
        Party.CLOUD,
        "A blob MUST NOT be believed before the SHA-256 of the whole is its name.",
    ),
    Requirement(
        "OR-BLB-8",
        Party.CLOUD,
        "A blob MUST be asked of one device at a time, and of another that has it when that one "
        "falls silent; whoever offered it is told when it is stored.",
    ),
    Requirement(
        "OR-BLB-9",
        Party.BOTH,
        "After either side was killed, only the chunks that are missing MUST be sent.",
    ),
    # Broker
    Requirement(
        "OR-BRK-1",
        Party.BROKER,
        "An account with its password MUST be let in, and nobody else.",
    ),
    Requirement(
        "OR-BRK-2",
        Party.BROKER,
        "A QoS 1 message MUST be acknowledged and reach a subscriber byte for byte.",
    ),
    Requirement(
        "OR-BRK-3",
        Party.BROKER,
        "The last retained message of a topic MUST reach whoever subscribes later, marked as "
        "retained.",
    ),
    Requirement(
        "OR-BRK-4",
        Party.BROKER,
        "An empty retained message MUST remove the retained message of its topic.",
    ),
    Requirement(
        "OR-BRK-5",
        Party.BROKER,
        "The will MUST be published, and retained, when a connection breaks.",
    ),
    Requirement(
        "OR-BRK-6",
        Party.BROKER,
        "The will MUST NOT be published after a clean end.",
    ),
    Requirement(
        "OR-BRK-7",
        Party.BROKER,
        "Messages of one publisher on one topic MUST arrive in order.",
    ),
    Requirement(
        "OR-BRK-8",
        Party.BROKER,
        "What a kept session did not acknowledge MUST come again after it connected again.",
    ),
    Requirement(
        "OR-BRK-9",
        Party.BROKER,
        "What was not acknowledged may come again on the same connection.",
        must=False,
    ),
    Requirement(
        "OR-BRK-10",
        Party.BROKER,
        "Messages of 3,900,000 bytes MUST pass.",
    ),
    Requirement(
        "OR-BRK-11",
        Party.BROKER,
        "What a device publishes below another device's topics MUST reach nobody.",
    ),
    Requirement(
        "OR-BRK-12",
        Party.BROKER,
        "A device MUST NOT receive another device's messages, whatever it subscribes to.",
    ),
    Requirement(
        "OR-BRK-13",
        Party.BROKER,
        "A device MUST NOT receive another device's retained messages, whatever it subscribes to.",
    ),
    Requirement(
        "OR-BRK-14",
        Party.BROKER,
        "A device MUST NOT publish what only the cloud may: downward topics and announcements.",
    ),
    Requirement(
        "OR-BRK-15",
        Party.BROKER,
        "A second connection with a client id MUST end the first.",
    ),
    Requirement(
        "OR-BRK-16",
        Party.BROKER,
        "An account that is removed MUST be refused, and its live connection MUST end.",
    ),
    Requirement(
        "OR-BRK-17",
        Party.BROKER,
        "A device MUST reach the cloud, and the cloud a device, on every topic of the table.",
    ),
    Requirement(
        "OR-BRK-18",
        Party.BROKER,
        "A device MUST NOT publish on topics that are not in the table.",
    ),
)
"""Every requirement; the order is that of the docs."""

BY_ID: Final = {one.id: one for one in REQUIREMENTS}
