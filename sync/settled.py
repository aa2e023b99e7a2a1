"""What the cloud has committed of each outbox, so that a lost acknowledgement is made good.

An acknowledgement may be lost (QoS 0). The next one therefore says again what is committed: every
row up to a number, and ranges above it. It is worked out from what this process has committed and
from the lowest open row that each device names in its envelopes, so gaps in the numbers (rows that
a device gave up or parked) do no harm, and a new process that knows nothing says nothing wrong.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Final, NamedTuple


class SenderKey(NamedTuple):
    """Whose rows: a device's, under one name, sent by one of its processes (boots).

    Two devices with one copied database differ in nothing but their boots.
    """

    device_id: str
    install_id: str = ""
    boot_id: str = ""


MAX_SENDERS: Final = 4_096
MAX_ROWS: Final = 512
MAX_RANGES: Final = 16


@dataclass(slots=True)
class _Sender:
    cumulative: int | None = None
    above: set[int] = field(default_factory=set)


class SettledRows:
    """The committed rows of the last senders that were heard; bounded. Used by one thread.

    A sender that says no lowest row gets no cumulative number.
    """

    def __init__(self) -> None:
        self._senders: OrderedDict[SenderKey, _Sender] = OrderedDict()

    def heard(self, sender: SenderKey, oldest: int) -> None:
        """The sender says that every row below `oldest` is settled; 0 (or less) says nothing."""
        known = self._known(sender)
        if oldest > 0 and (known.cumulative is None or oldest - 1 > known.cumulative):
            known.cumulative = oldest - 1
            known.above = {seq for seq in known.above if seq >= oldest}
            _advance(known)

    def committed(self, sender: SenderKey, sequences: Iterable[int]) -> None:
        """These rows are committed."""
        known = self._known(sender)
        known.above.update(seq for seq in sequences if seq > (known.cumulative or 0))
        _advance(known)
        while len(known.above) > MAX_ROWS:
            known.above.discard(min(known.above))

    def has(self, sender: SenderKey, seq: int) -> bool:
        """Whether a row is known to be committed."""
        known = self._senders.get(sender)
        return known is not None and (seq <= (known.cumulative or 0) or seq in known.above)

    def cumulative(self, sender: SenderKey) -> int:
        """Every row up to this one that was ever sent is committed; 0 where nothing is known."""
        known = self._senders.get(sender)
        return 0 if known is None else known.cumulative or 0

    def selective(self, sender: SenderKey) -> tuple[tuple[int, int], ...]:
        """(first, last) of the newest committed rows above that, at most `MAX_RANGES`."""
        known = self._senders.get(sender)
        return () if known is None else _ranges(known.above)[-MAX_RANGES:]

    def _known(self, sender: SenderKey) -> _Sender:
        known = self._senders.setdefault(sender, _Sender())
        self._senders.move_to_end(sender)
        if len(self._senders) > MAX_SENDERS:
            self._senders.popitem(last=False)
        return known


def _advance(known: _Sender) -> None:
    """Take what follows the cumulative number without a gap; only where a number is known."""
    while known.cumulative is not None and known.cumulative + 1 in known.above:
        known.cumulative += 1
        known.above.discard(known.cumulative)


def _ranges(rows: set[int]) -> tuple[tuple[int, int], ...]:
    ranges: list[tuple[int, int]] = []
    for seq in sorted(rows):
        if ranges and ranges[-1][1] == seq - 1:
            ranges[-1] = (ranges[-1][0], seq)
        else:
            ranges.append((seq, seq))
    return tuple(ranges)
