"""Devices as rows for a person's terminal of 80 columns, and how they are fetched page by page."""

from __future__ import annotations

import time
from collections.abc import Iterator, Sequence

from outrider.fleet_access import Api, Json, named

PAGE = 1000
_FEW = 20
_TAIL = 12


def pages(api: Api, where: str = "", *, limit: int = 0) -> Iterator[Json]:
    """Devices that meet a filter, in order of names; at most `limit`, where that is not 0."""
    after, given = "", 0
    while True:
        size = min(PAGE, limit - given) if limit else PAGE
        page = api.get("/v1/fleet/devices", where=where, after=after, limit=size)
        yield from page["devices"]
        given += len(page["devices"])
        after = page["next"]
        if not after or (limit and given >= limit):
            return


def devices_of(api: Api, names: Sequence[str]) -> list[Json]:
    """Some devices: each by its name where they are few, or else out of all."""
    if len(names) <= _FEW:
        return [api.get(f"/v1/fleet/devices/{named(name)}") for name in names]
    wanted = set(names)
    return [row for row in pages(api) if row["device_id"] in wanted]


def short(row: Json, *, now_ms: int | None = None) -> dict[str, object]:
    """What a person wants to see of a device at a glance."""
    battery = row["health"].get("battery_percent")
    return {
        "device": row["device_id"],
        "seen": _seen(row, now_ms or round(time.time() * 1000)),
        "model": row["attributes"].get("model", row["role"]),
        "release": _tail(row["release_id"]) or "-",
        "power": "-" if battery is None else f"{battery}%",
        "set": _settings(row),
        "note": note(row),
    }


def whole(row: Json) -> dict[str, dict[str, object]]:
    """All of a device for a person, by topic; what is empty is left out."""
    health = dict(row["health"])
    if "free_disk_bytes" in health:
        health["free_disk"] = f"{health.pop('free_disk_bytes') / 1e9:.1f} GB"
    control = row["control"]
    topics: dict[str, dict[str, object]] = {
        "seen": {
            "now": row["online"],
            "first": _when(row["first_seen_ms"]),
            "last": _when(row["last_seen_ms"]),
            "clock_off_ms": row["clock_offset_ms"],
        },
        "is": {"role": row["role"], "seats": row["seats"], **row["attributes"]},
        "labels": row["labels"],
        "plays": {
            "channel": row["channel"],
            "release": row["release_id"],
            "base": row["base_digest"][:12],
            "apps": row["apps"],
        },
        "health": health,
        "set": {"version": row["desired"]["version"], **row["desired"]["values"]},
        "says": {"version": row["reported"]["version"], **row["reported"]["values"]},
        "refused": row["reported"]["refused"],
        "last word": {
            "said": control.get("kind"),
            "reason": control.get("reason"),
            "heard": row["control_heard"] if control else None,
        },
        "member": {
            "enrolled": _when(row["enrolled_at_ms"]),
            "credentials": row["credentials"] or None,
            "revoked": _when(row["revoked_at_ms"]),
            "why": row["revoke_reason"],
        },
    }
    kept = {
        topic: {name: value for name, value in said.items() if value not in (None, "", [])}
        for topic, said in topics.items()
    }
    return {topic: said for topic, said in kept.items() if said}


def note(row: Json) -> str:
    """What is out of the ordinary with a device; empty where nothing is."""
    parts = []
    if row["revoked_at_ms"]:
        return "revoked" + (", data excluded" if row["exclude_from_training"] else "")
    if row["alarm"]:
        parts.append("ALARM: another process uses its name")
    if row["stopped"]:
        parts.append(row["stopped"])
    elif row["control"].get("kind") == "stop" and not row["control_heard"]:
        parts.append("a stop waits for it")
    if row["rotating"]:
        parts.append("new credentials wait")
    if row["health"].get("outbox_depth"):
        parts.append(f"{row['health']['outbox_depth']} rows wait to be sent")
    if row["health"].get("outbox_parked"):
        parts.append(f"{row['health']['outbox_parked']} rows refused")
    offset_ms = row["clock_offset_ms"]
    if offset_ms is not None and abs(offset_ms) > 60_000:
        parts.append(f"clock off by {_span(abs(offset_ms))}")
    return "; ".join(parts)


def _seen(row: Json, now_ms: int) -> str:
    if row["online"]:
        return "online"
    if not row["last_seen_ms"]:
        return "never"
    return f"{_span(max(0, now_ms - row['last_seen_ms']))} ago"


def _settings(row: Json) -> str:
    desired, reported = row["desired"]["version"], row["reported"]["version"]
    if row["reported"]["refused"]:
        return f"v{reported} refused"
    return f"v{reported}" if desired == reported else f"v{reported} of {desired}"


def _tail(name: str) -> str:
    """The end of a long id, which tells it from others; `fleet show` has all of it."""
    return name if len(name) <= _TAIL else f"…{name[-_TAIL:]}"


def _when(at_ms: int) -> str | None:
    """A moment in local time; None for never."""
    return time.strftime("%Y-%m-%d %H:%M:%S", time.localtime(at_ms / 1000)) if at_ms else None


def _span(ms: int) -> str:
    """A length of time in its largest unit."""
    for unit, length_ms in (("d", 86_400_000), ("h", 3_600_000), ("min", 60_000)):
        if ms >= length_ms:
            return f"{ms // length_ms} {unit}"
    return f"{ms // 1000} s"
