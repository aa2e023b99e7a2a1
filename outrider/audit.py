"""`outrider audit`: every figure of a campaign recomputed, every row that differs listed."""

from __future__ import annotations

from dataclasses import asdict
from pathlib import Path

from outrider.cloud_database import CloudDatabase, cloud_database
from outrider.errors import CommandError
from outrider.options import Json
from outrider.output import Output
from outrider.phone_folders import PHONES, phone_folders
from outrider.runs import Data, data_folder


def audit_fleet(
    *,
    data: Data = None,
    database: CloudDatabase = None,
    json: Json = False,
) -> None:
    """Compare the cloud's store with the phones' own logs, episode by episode."""
    from cloud_learner.audit import audit
    from cloud_learner.report_store import ReportStore

    data = data_folder(data)
    out = Output(json_lines=json)
    with cloud_database(data, database) as opened:
        found = audit(
            ReportStore(opened),
            data / PHONES,
            installed={folder.name: _digest(folder) for folder in phone_folders(data)},
        )
    for difference in found.differences:
        out.event("difference", **asdict(difference))
    for episode_id in found.trained_on_test:
        out.event("trained_on_test", episode_id=episode_id)
    out.summary(
        clean=found.is_clean,
        differences=len(found.differences),
        trained_on_test=list(found.trained_on_test),
        too_often_shown=list(found.too_often_shown),
        episodes=dict(found.counts),
        test=dict(found.figures),
        installed=dict(found.installed),
    )
    if not found.is_clean:
        raise CommandError("the store and the phones' logs do not agree; see the lines above")


def _digest(phone: Path) -> str:
    """Digest of the adapter that is installed in a phone's folder; "" for the factory's policy."""
    from device_runtime.slots import Slots

    slots = Slots(phone)
    release = slots.installed(slots.state().active).release
    return "" if release is None else release.adapter_digest
