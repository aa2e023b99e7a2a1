"""Tells a device that was started again from two that use one name at once.

Each process of a device has a boot id of its own. A device that starts again goes from one boot to
the next and never back; two of one name come in turns, because each connection ends the other's, or
speak side by side where the broker lets them. Both show here, whatever the broker binds to an
account, and neither a restart nor a message that comes twice does.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Final

PARTING_S: Final = 10.0
"""How long after a new boot's birth the old one's last messages may still arrive."""
CONTENDED_S: Final = 3600.0
"""How long after it was last seen a double is reckoned with."""
_MOST_BOOTS: Final = 8


@dataclass(frozen=True, slots=True)
class Double:
    """Two processes use one device's name.

    Attributes:
        how: "came_back" (a boot that another had replaced connects again) or "side_by_side".
    """

    device_id: str
    boot_id: str
    other_boot_id: str
    how: str


@dataclass(slots=True)
class _Boots:
    """What is known of one device.

    Attributes:
        past: earlier boots, each with its highest epoch and when it was replaced.
        seen_at_s: when its double was last seen.
    """

    boot_id: str
    epoch: int
    past: dict[str, tuple[int, float]] = field(default_factory=dict)
    seen_at_s: float | None = None


class BootWatch:
    """Watches the boots of all devices; used by one thread. Keeps nothing over a restart."""

    def __init__(self) -> None:
        self._devices: dict[str, _Boots] = {}

    def born(self, device_id: str, boot_id: str, epoch: int, *, now_s: float) -> Double | None:
        """Take a birth; a double where it shows one that was not known yet."""
        boots = self._devices.get(device_id)
        if boots is None:
            self._devices[device_id] = _Boots(boot_id, epoch)
            return None
        if boot_id == boots.boot_id:
            boots.epoch = max(boots.epoch, epoch)
            return None
        known_epoch, _ = boots.past.pop(boot_id, (-1, 0.0))
        if epoch <= known_epoch:  # its birth came again
            boots.past[boot_id] = (known_epoch, now_s)
            return None
        other = boots.boot_id
        boots.past[other] = (boots.epoch, now_s)
        if len(boots.past) > _MOST_BOOTS:
            boots.past.pop(next(iter(boots.past)))
        boots.boot_id, boots.epoch = boot_id, epoch
        if known_epoch < 0:
            return None
        return self._seen(boots, Double(device_id, boot_id, other, "came_back"), now_s)

    def heard(self, device_id: str, boot_id: str, *, now_s: float) -> Double | None:
        """Take a live message that is never delivered twice; as `born`."""
        boots = self._devices.get(device_id)
        if boots is None or boot_id not in boots.past:
            return None
        if now_s - boots.past[boot_id][1] < PARTING_S:
            return None
        return self._seen(boots, Double(device_id, boot_id, boots.boot_id, "side_by_side"), now_s)

    def is_contended(self, device_id: str, *, now_s: float) -> bool:
        """Whether a device's double was seen lately."""
        boots = self._devices.get(device_id)
        return boots is not None and _is_recent(boots.seen_at_s, now_s)

    def _seen(self, boots: _Boots, double: Double, now_s: float) -> Double | None:
        is_known = _is_recent(boots.seen_at_s, now_s)
        boots.seen_at_s = now_s
        return None if is_known else double


def _is_recent(seen_at_s: float | None, now_s: float) -> bool:
    return seen_at_s is not None and now_s - seen_at_s < CONTENDED_S
