"""What devices gave up for want of room, as they declared it: totals by device and rule.

Health and the event `storage_dropped` both tell totals since a device's database was made. They may
come in any order and more than once: the highest total counts. Rules that are not known here (a
newer device's, or an enemy's, whose words would become names of metrics) count together as "other",
those that one message tells.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from sqlalchemy import Connection, Float, cast, func, select

from cloud_learner.store import insert_new
from cloud_learner.tables import DEVICE_DROPS
from sync.drop_rules import RULES

OTHER: Final = "other"
_MOST: Final = 1 << 48
"""More than any device ever gave up: nobody's total spoils the fleet's."""


def record_drops(
    connection: Connection,
    device_id: str,
    install_id: str,
    totals: Mapping[str, tuple[int, int]],
    *,
    now_ms: int,
) -> None:
    """Note totals (how many, how many bytes) by rule, inside the caller's transaction."""
    for rule, (items, size_bytes) in _by_known_rule(totals).items():
        key = {"device_id": device_id, "install_id": install_id, "rule": rule}
        said = {"items": items, "bytes": size_bytes, "said_at_ms": now_ms}
        if insert_new(connection, DEVICE_DROPS, {**key, **said}):
            continue
        connection.execute(
            DEVICE_DROPS.update()
            .where(*(DEVICE_DROPS.c[name] == value for name, value in key.items()))
            .where(DEVICE_DROPS.c["items"] < items)
            .values(**said)
        )


def _by_known_rule(totals: Mapping[str, tuple[int, int]]) -> dict[str, tuple[int, int]]:
    """The totals of one message, those of unknown rules as one."""
    found: dict[str, tuple[int, int]] = {}
    for rule, total in totals.items():
        name = rule if rule in RULES else OTHER
        pairs = zip(found.get(name, (0, 0)), total, strict=True)
        items, size_bytes = (min(before + max(0, more), _MOST) for before, more in pairs)
        found[name] = items, size_bytes
    return found


def read_drops(connection: Connection) -> dict[str, tuple[int, int]]:
    """By rule: how many things all devices gave up, and how many bytes."""
    columns = DEVICE_DROPS.c
    sums = (func.sum(cast(one, Float)) for one in (columns["items"], columns.bytes))
    rows = connection.execute(
        select(columns.rule, *sums).group_by(columns.rule).order_by(columns.rule)
    )
    return {str(rule): (int(items), int(size_bytes)) for rule, items, size_bytes in rows}
