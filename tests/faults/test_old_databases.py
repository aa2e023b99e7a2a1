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
from sqlalchemy import create_engine

from cloud_learner.ingest import Ingest
from cloud_learner.report_store import ReportStore
from cloud_learner.store import Database, sqlite_url
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


def old_cloud(file, revision):
    """A database as the program of that revision made it, with a count in it."""
    engine = create_engine(sqlite_url(file))
    with engine.begin() as connection:
        config = cloud_config()
        config.attributes["connection"] = connection
        command.upgrade(config, revision)
        connection.exec_driver_sql("INSERT INTO counters (name, value) VALUES ('redelivered', 7)")
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
    old_cloud(tmp_path / "cloud.db", revision)
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
