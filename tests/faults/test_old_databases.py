"""A phone and a cloud that were left behind by updates: what the old files held arrives, once."""

from __future__ import annotations

import sqlite3
from contextlib import closing
from importlib.resources import as_file, files
from pathlib import Path

import pytest
from alembic import command
from alembic.config import Config
from alembic.script import ScriptDirectory
from sqlalchemy import insert, inspect, select

from cloud_learner.ingest import Ingest
from cloud_learner.report_store import ReportStore
from cloud_learner.store import Database, counters, sqlite_url
from cloud_learner.store_engine import open_engine
from cloud_learner.tables import DEVICES, PHONES
from device_runtime.log_rescue import open_log
from sync.clock import SystemClock
from sync.database import SCHEMA_VERSION
from sync.drop_rules import DROPPED_EVENT
from sync.fetch import DirectoryFiles
from sync.loopback import LoopbackBroker
from sync.messages import Birth
from sync.outbox import parked
from sync.session import CloudSession, DeviceSession
from sync.vocabulary import DeviceId, new_uuid7

pytestmark = pytest.mark.faults

DUMPS = Path(__file__).parents[1] / "golden" / "device_database"
DEVICE_VERSIONS = range(1, SCHEMA_VERSION + 1)
WAIT_S = 30.0


def cloud_config():
    with as_file(files("cloud_learner") / "migrations") as scripts:
        config = Config()
        config.set_main_option("script_location", str(scripts))
        return config


CLOUD_REVISIONS = sorted(
    one.revision for one in ScriptDirectory.from_config(cloud_config()).walk_revisions()
)


PHONE = {
    "device_id": "phone-of-old",
    "role": "phone",
    "seats": 1,
    "boot_id": "b",
    "epoch": 1,
    "online": True,
    "suite_version": "1",
    "policy_io_version": "1",
    "base_digest": "",
    "channel": "stable",
    "release_id": "factory",
    "templates": [],
    "health": {},
    "first_seen_ms": 1,
    "last_seen_ms": 1,
}


def old_cloud(url, revision):
    """A database as the program of that revision made it, with a count and a phone in it."""
    engine = open_engine(url)
    with engine.connect() as connection, connection.begin():
        config = cloud_config()
        config.attributes["connection"] = connection
        command.upgrade(config, revision)
        connection.exec_driver_sql("INSERT INTO counters (name, value) VALUES ('redelivered', 7)")
        connection.execute(insert(PHONES).values(PHONE))
    engine.dispose()


def old_phone(file, version):
    """A phone's file as the program of that version left it, with what waits to be sent."""
    with closing(sqlite3.connect(file)) as raw:
        raw.executescript((DUMPS / f"v{version}.sql").read_text("utf-8"))


@pytest.mark.parametrize(
    ("version", "revision"),
    [
        (1, CLOUD_REVISIONS[0]),
        *(
            pytest.param(version, revision, marks=pytest.mark.slow)
            for version, revision in [
                *((version, CLOUD_REVISIONS[0]) for version in DEVICE_VERSIONS[1:]),
                *((SCHEMA_VERSION, revision) for revision in CLOUD_REVISIONS[1:]),
            ]
        ),
    ],
)
def test_rows_of_an_old_phone_reach_an_old_cloud_after_both_were_updated(
    tmp_path, version, revision
):
    old_phone(tmp_path / "phone.db", version)
    old_cloud(sqlite_url(tmp_path / "cloud.db"), revision)
    broker, clock = LoopbackBroker(), SystemClock()
    database = Database(sqlite_url(tmp_path / "cloud.db"))
    with closing(open_log(tmp_path / "phone.db", clock=clock, new_id=new_uuid7)) as log:
        install, refused = log.install_id, parked(log.connection)
    cloud = CloudSession(
        transport=broker.transport("cloud", service=True),
        fleet="home",
        ingest=Ingest(database, clock=clock).commit,
        files=DirectoryFiles(tmp_path),
    )
    phone = DeviceSession(
        transport=broker.transport("phone-1"),
        database=tmp_path / "phone.db",
        fleet="home",
        birth=Birth(device_id=DeviceId("phone-1")),
    )
    cloud.start()
    assert cloud.wait_connected(WAIT_S)
    phone.start()
    assert phone.wait_drained(WAIT_S)
    phone.close()
    cloud.close()
    reports = ReportStore(database)
    assert install == "install-of-version-1"
    assert [reason for _seq, reason in refused] == ["unknown_version"]
    assert reports.episode_ids() == {"episode-2"}
    said = [row for row in reports.events() if row["kind"] != DROPPED_EVENT]
    assert [row["install_id"] for row in said] == [install]
    assert reports.counts()["redelivered"] >= 7
    database.close()


@pytest.mark.parametrize(
    "revision",
    [
        CLOUD_REVISIONS[0],
        *(pytest.param(one, marks=pytest.mark.slow) for one in CLOUD_REVISIONS[1:]),
    ],
)
def test_an_old_cloud_on_postgresql_comes_up_to_date_with_what_it_held(postgres_server, revision):
    url = postgres_server.empty()
    old_cloud(url, revision)
    with closing(Database(url)) as database, database.read() as connection:
        assert counters(connection) == {"redelivered": 7}
        assert connection.execute(select(PHONES.c.device_id)).scalars().all() == ["phone-of-old"]
        if revision < "0004":  # which gave every phone its row among the devices
            known = connection.execute(select(DEVICES.c.device_id, DEVICES.c.labels)).all()
            assert list(map(tuple, known)) == [("phone-of-old", {})]
    postgres_server.drop(url)


def test_tables_of_others_stay_as_they_are_where_texts_become_longer(postgres_server):
    url = postgres_server.empty()
    old_cloud(url, "0008")
    engine = open_engine(url)
    with engine.connect() as connection, connection.begin():
        connection.exec_driver_sql("CREATE TABLE theirs (name VARCHAR(7))")
    with closing(Database(url)):
        columns = {
            table: {one["name"]: one["type"] for one in inspect(engine).get_columns(table)}
            for table in inspect(engine).get_table_names()
        }
    engine.dispose()
    postgres_server.drop(url)

    theirs = columns.pop("theirs")["name"]
    mark = columns.pop("alembic_version")["version_num"]
    assert (theirs.length, mark.length) == (7, 32)
    ours = [kind for table in columns.values() for kind in table.values()]
    assert not [kind for kind in ours if getattr(kind, "length", None) is not None]
