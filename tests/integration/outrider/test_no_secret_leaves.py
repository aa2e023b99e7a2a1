"""Secrets on a phone over ADB: nothing that the phone or the cloud keeps holds any of them."""

from __future__ import annotations

import base64
import io
import re
import sqlite3
import threading
import zipfile
import zlib
from collections.abc import Iterator
from contextlib import redirect_stderr, redirect_stdout, suppress
from dataclasses import dataclass, replace
from pathlib import Path

import pytest
from PIL import Image

from apps_mock.adb_clone import AdbClone
from apps_mock.phone import MockPhone
from cloud_learner.ingest import Ingest
from cloud_learner.store import Database, sqlite_url
from device_runtime.gate import Gate
from device_runtime.owner import DeskRules
from device_runtime.painting import safe_picture
from device_runtime.phone_owner import PhoneOwner
from device_runtime.safety import Safety
from device_runtime.scripted import FunctionPolicy
from device_runtime.seats import SeatPhone
from device_runtime.settings import Settings
from device_runtime.stop import StopSwitch
from device_runtime.supervisor import Supervisor
from device_runtime.ui_tree import Node, to_xml
from outrider import cli
from outrider.device_wiring import assemble, local_seats
from outrider.owned_phone import OwnedPhone, guarded_phone, owner_rules
from sync import episode_dictionary
from sync.broker import BrokerProcess
from sync.clock import SystemClock
from sync.fetch import DirectoryFiles
from sync.messages import AssignmentBatch, Role
from sync.mqtt import PahoTransport
from sync.session import CloudSession
from sync.vocabulary import (
    Assignment,
    AssignmentId,
    DeviceId,
    finish,
    new_uuid7,
    type_text,
    wait,
)

WAIT_S = 90.0
SECRETS = {
    "password": "Tr0ub4dor-Zebra",
    "code": "739184",
    "card": "4556 7375 8689 9855",
    "phone": "+49 151 7264 8391",
    "mail": "quagga.owner@example.org",
    "owner": "Mulberry-Lane-77",
}
SHOWN = (
    f"Your verification code is {SECRETS['code']}",
    f"Visa {SECRETS['card']}",
    f"Call me: {SECRETS['phone']}",
    f"Mail {SECRETS['mail']} today",
    f"Home: {SECRETS['owner']}",
)
FIELD = (40, 1000, 640, 1100)


class SecretPhone(MockPhone):
    """A clone whose screen shows secrets: a password field that has the focus, and messages."""

    def tree_xml(self) -> bytes:
        """The same screen, whatever the clone shows."""
        info = self.info()
        messages = [
            Node(
                "android.widget.TextView",
                (40, 150 * row, 640, 150 * row + 100),
                text=text if row % 2 else "",
                description="" if row % 2 else text,
                package="org.example.mail",
            )
            for row, text in enumerate(SHOWN, start=1)
        ]
        password = Node(
            "android.widget.EditText",
            FIELD,
            text=SECRETS["password"],
            resource_id="org.example.mail:id/secret",
            package="org.example.mail",
            clickable=True,
            focused=True,
            password=True,
        )
        root = (0, 0, info.width_px, info.height_px)
        frame = Node("android.widget.FrameLayout", root, children=(*messages, password))
        return to_xml((frame,))


class WatchedClone(AdbClone):
    """A clone over ADB that notes what its driver is told to type."""

    typed: list[str]

    def start(self) -> None:
        """As the clone does."""
        self.typed = []
        super().start()

    def act(self, action):
        """As the clone does, noted."""
        if isinstance(action.text, str):
            self.typed.append(action.text)
        return super().act(action)


@dataclass(frozen=True)
class Played:
    """What is left after an episode: the folder, and what the driver was told to type."""

    folder: Path
    typed: list[str]
    picture: bytes


def speaks_slots(request):
    """Types two slots as a policy that copies words would, then ends."""
    script = (type_text("⟨password_1⟩"), type_text("see ⟨owner_1⟩"), wait(1), finish())
    return script[min(len(request.history.entries), len(script) - 1)]


def play(folder: Path, *, guarded: bool) -> Played:
    """One episode on a phone with secrets, from the assignment to the cloud's database."""
    listed = folder.parent / f"{folder.name}-listed.txt"
    listed.write_text(SECRETS["owner"])
    rules_file = folder.parent / f"{folder.name}-guard.toml"
    rules_file.write_text(
        '[guard]\nslots = "allow"\nactions_a_minute = 0\n'
        '[guard.screens.password]\nthen = "allow"\n'
        f'[redaction]\nowner_secrets_file = "{listed}"\n'
    )
    folder.mkdir()
    broker = BrokerProcess(folder / "broker", fleet="home")
    broker.start()
    clone = WatchedClone(folder / "phones" / "phone-1" / "adb", phone=SecretPhone(serial="secret"))
    clone.start()
    credentials = folder / "credentials.txt"
    credentials.write_text(broker.add_device("phone-1").password)
    settings = Settings(
        device_id=DeviceId("phone-1"),
        data_dir=folder,
        broker_url=f"mqtt://127.0.0.1:{broker.port}",
        credentials_file=credentials,
    )
    rules = owner_rules(rules_file)
    owned = (
        guarded_phone(settings, rules, interrupt=threading.Event()) if guarded else bare(settings)
    )
    database = Database(sqlite_url(folder / "cloud.db"))
    ingest = Ingest(database, clock=SystemClock())
    cloud = CloudSession(
        transport=PahoTransport(broker.address()),
        fleet="home",
        ingest=ingest.commit,
        files=DirectoryFiles(folder),
    )
    pictures: list[bytes] = []

    def photograph(assignment, step):
        if step.index == 0:
            pictures.append(safe_picture(clone, owned.safety.redaction_rules))
            (folder / "picture.png").write_bytes(pictures[0])
            if guarded:
                report_phone(folder, clone)

    parts = assemble(
        settings,
        role=Role.PHONE,
        table=local_seats(
            settings,
            [SeatPhone(clone)],
            lambda assignment, phone: FunctionPolicy(speaks_slots, wants_encoding=True),
            safety=owned.safety,
            on_step=photograph,
        ),
        seats=1,
        policy=None,
        host=None,
        owner=owned.owner,
        gate=owned.gate,
    )
    item = Assignment(
        AssignmentId(new_uuid7()), template="contacts_search", actor="release", step_budget=8
    )

    ended = threading.Event()

    def assign():
        assert parts.wire.wait_connected(WAIT_S)
        assert cloud.wait_connected(WAIT_S)
        cloud.send("phone-1", AssignmentBatch(assignments=(item,)))
        while not ended.wait(1.0):  # until its subscription has heard it
            cloud.send("phone-1", AssignmentBatch(assignments=(item,)))

    cloud.start()
    helper = threading.Thread(target=assign)
    helper.start()
    supervisor = Supervisor(parts, settings, clock=SystemClock(), report=lambda event, **_: None)
    try:
        with (folder / "run.log").open("w") as log, redirect_stdout(log), redirect_stderr(log):
            counts = supervisor.run(threading.Event(), max_episodes=1)
        assert (counts.logged, counts.env_errors) == (1, 0)
        assert counts.acknowledged == 1
        report_episodes(folder)
    finally:
        ended.set()
        helper.join()
        cloud.close()
        clone.close()
        broker.stop()
    return Played(folder, clone.typed, pictures[0])


def report_phone(folder: Path, clone: AdbClone) -> None:
    """What commands tell of the phone, and a recording of it, into files of the folder."""
    client = ("--serial", clone.daemon.serial, "--adb-port", clone.server.port)
    record = ("--rounds", 1, "--record", folder / "recording.zip", "--hide", SECRETS["owner"])
    told(folder / "phone.txt", ("doctor", *client, *record))
    told(folder / "phone.txt", ("phone", "guard", "explain", *client, "--action", "tap:0.5,0.1"))


def report_episodes(folder: Path) -> None:
    """What commands tell of what was played, into a file of the folder."""
    told(folder / "reports.txt", ("episodes", "list", "--data", folder))
    store = ("--database", sqlite_url(folder / "cloud.db"))
    told(folder / "reports.txt", ("audit", "--data", folder, *store))


def told(file: Path, words: tuple[object, ...]) -> None:
    """Run a command for people and for programs; what it says goes to the end of a file."""
    with file.open("a") as out, redirect_stdout(out), redirect_stderr(out):
        for form in ((), ("--json",)):
            cli.run([str(word) for word in (*words, *form)])


def bare(settings):
    """A phone on which nothing is hidden: what the search must find."""
    clock = SystemClock()
    switch = StopSwitch(settings.phone_dir, clock=clock)
    rules = owner_rules(None)
    owner = PhoneOwner(switch, DeskRules(1.0, settings.phone_dir), clock=clock, new_id=lambda: "q")
    redaction = replace(
        rules.redaction,
        password_fields=False,
        one_time_codes=False,
        cards=False,
        phone_numbers=False,
        mail_addresses=False,
        thorough=False,
    )
    gate = Gate(replace(rules.guard, actions_a_minute=0), switch, clock=clock)
    return OwnedPhone(Safety(redaction_rules=redaction, gate=gate), gate, owner)


def contents(folder: Path) -> Iterator[tuple[str, bytes]]:
    """Every file, every value of every database, and whatever of it unfolds as zlib or base64."""
    for path in sorted(folder.rglob("*")):
        if not path.is_file():
            continue
        data = path.read_bytes()
        yield f"{path}", data
        for found in re.finditer(rb"\x78[\x01\x5e\x9c\xda\xf9]", data):
            yield f"{path} zlib at {found.start()}", unfolded(data[found.start() :])
        if zipfile.is_zipfile(path):
            yield from ((f"{path} file", one) for one in unzipped(path))
        if data.startswith(b"SQLite format 3"):
            for value in values(path):
                yield f"{path} row", value
                if value[:1] == b"\x78":
                    yield f"{path} row, zlib", unfolded(value)


def unzipped(path: Path) -> list[bytes]:
    with zipfile.ZipFile(path) as archive:
        return [archive.read(name) for name in archive.namelist()]


def unfolded(data: bytes) -> bytes:
    for unfolding in (
        zlib.decompressobj(),
        episode_dictionary.inflater(episode_dictionary.newest()),
    ):
        with suppress(zlib.error):
            return unfolding.decompress(data, 4_000_000)
    return b""


def values(path: Path) -> Iterator[bytes]:
    with sqlite3.connect(f"file:{path}?mode=ro", uri=True) as conn:
        tables = [
            row[0] for row in conn.execute("SELECT name FROM sqlite_master WHERE type='table'")
        ]
        for table in tables:
            for row in conn.execute(f'SELECT * FROM "{table}"'):
                yield from (
                    value if isinstance(value, bytes) else str(value).encode() for value in row
                )
    conn.close()


def disguises(secret: str) -> set[bytes]:
    """A secret as it may stand in a file: also without its spaces, encoded and escaped."""
    texts = {secret, re.sub(r"[ +]", "", secret), secret.casefold(), secret.replace(" ", "%s")}
    found = set()
    for text in texts:
        plain = text.encode()
        found |= {plain, plain[::-1], text.encode("utf-16-le"), text.encode("utf-16-be")}
        found |= {plain.hex().encode(), plain.hex().upper().encode()}
        for shift in range(3):
            coded = base64.b64encode(b"\0" * shift + plain)
            found.add(coded[4 if shift else 0 : len(coded) // 4 * 4 - 4])
    return {one for one in found if len(one) >= 6}


def leaks(folder: Path) -> set[str]:
    wanted = {name: disguises(secret) for name, secret in SECRETS.items()}
    return {
        name
        for _, data in contents(folder)
        for name, forms in wanted.items()
        if any(form in data for form in forms)
    }


@pytest.fixture(scope="module")
def owned(tmp_path_factory):
    return play(tmp_path_factory.mktemp("owned") / "data", guarded=True)


def test_the_search_finds_what_is_not_hidden(tmp_path):
    assert leaks(play(tmp_path / "data", guarded=False).folder) == set(SECRETS)


def test_no_secret_is_in_anything_that_phone_broker_and_cloud_keep(owned):
    names = {path.name for path in owned.folder.rglob("*")}
    assert {"phone.db", "cloud.db", "picture.png", "nats.log", "run.log"} <= names
    recorded = b"".join(unzipped(owned.folder / "recording.zip"))
    assert b"org.example.mail" in recorded
    assert "contacts_search" in (owned.folder / "reports.txt").read_text("utf-8")
    assert leaks(owned.folder) == set()


def test_the_driver_typed_what_the_slots_stand_for(owned):
    assert owned.typed == [SECRETS["password"], f"see {SECRETS['owner']}"]


def test_slots_are_what_was_logged(owned):
    logged = b"".join(data for _, data in contents(owned.folder))
    for slot in ("password_1", "code_1", "card_1", "phone_1", "mail_1", "owner_1"):
        assert f"⟨{slot}⟩".encode() in logged


def test_the_picture_is_painted_over_where_the_secrets_are(owned):
    picture = Image.open(io.BytesIO(owned.picture)).convert("RGB")
    rows = [(40, 150 * row, 640, 150 * row + 100) for row in range(1, len(SHOWN) + 1)]
    for left, top, right, bottom in (*rows, FIELD):
        assert picture.crop((left, top, right, bottom)).getcolors() == [
            ((right - left) * (bottom - top), (96, 96, 96))
        ]
