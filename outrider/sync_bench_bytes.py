"""What a step costs on the wire, beside the naive way: counted by a proxy before the broker.

Ours: the phone's own session, outbox and blobs, MQTT frames and all answers included. Naive: the
same uploads as JSON and the same pictures as PNG (level 6), each published once over paho at QoS 1.
"""

from __future__ import annotations

import io
import threading
import time
from collections.abc import Iterator, Sequence
from contextlib import closing
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from outrider.errors import CommandError
from outrider.sync_bench_cloud import FLEET, CloudProcess
from outrider.wire_proxy import CountingProxy

if TYPE_CHECKING:
    from device_runtime.seats import Played
    from sync.broker import BrokerProcess
    from sync.mqtt import MqttAddress

PNG_LEVEL: Final = 6
_SETTLE_S: Final = 1.0
_WAIT_S: Final = 120.0
_PHONE: Final = "phone-bytes"
_NAIVE: Final = "phone-naive"


@dataclass(frozen=True, slots=True)
class Recorded:
    """Episodes that were played, with the pictures that were seen.

    Attributes:
        pngs: by digest, as the phone took them; empty without screenshots.
        shown: digests in the order in which they were seen, as often as they were.
    """

    played: tuple[Played, ...]
    pngs: dict[str, bytes]
    shown: tuple[str, ...]

    @property
    def steps(self) -> int:
        """Steps of all episodes."""
        return sum(len(one.episode.steps) for one in self.played)

    def pictures(self) -> dict[str, int]:
        """How many pictures were seen, how many of them differ, and the bytes of one as sent."""
        blobs = {screen.blob: screen.size_bytes for one in self.played for screen in one.screens}
        mean = round(sum(blobs.values()) / max(len(blobs), 1))
        return {"shown": len(self.shown), "distinct": len(self.pngs), "bytes_each": mean}


@dataclass(frozen=True, slots=True)
class WireBytes:
    """What one way of sending cost, in bytes of TCP payload."""

    up: int
    down: int
    steps: int

    @property
    def per_step(self) -> float:
        """Both ways together."""
        return (self.up + self.down) / self.steps


def record(episodes: int, seed_base: int, *, actor: str, blobs: Path | None) -> Recorded:
    """Play episodes on mock phones; with pictures where there is a folder for blobs."""
    from apps_mock.actors import Actors
    from apps_mock.farm import play
    from device_runtime.screen_encoder import ScreenForm
    from device_runtime.screen_keeper import ScreenKeeper
    from outrider.bench_clones import assignments_of
    from sync.vocabulary import DeviceId

    pngs: dict[str, bytes] = {}

    class Keeper(ScreenKeeper):
        """A keeper that also keeps what a naive phone would send."""

        def keep(self, png: bytes) -> str:
            screen = super().keep(png)
            pngs.setdefault(screen, png)
            return screen

    keeper = None if blobs is None else Keeper(blobs, ScreenForm())
    played = tuple(
        play(
            assignments_of(episodes, seed_base, actor=actor),
            Actors(None).policy_for,
            seats=1,
            device_id=DeviceId(_PHONE),
            screens=keeper,
        )
    )
    shown = tuple(
        step.observation.screenshot
        for one in played
        for step in one.episode.steps
        if step.observation.screenshot
    )
    return Recorded(played, pngs, shown)


def ours(recorded: Recorded, broker: BrokerProcess, folder: Path, blobs: Path | None) -> WireBytes:
    """Send the episodes as a phone does."""
    from device_runtime.trajectory_log import TrajectoryLog
    from sync.blob_sender import BlobSettings
    from sync.clock import SystemClock
    from sync.messages import Birth
    from sync.mqtt import PahoTransport
    from sync.session import DeviceSession
    from sync.vocabulary import DeviceId, new_uuid7

    broker.add_devices([_PHONE])
    folder.mkdir(parents=True)
    address = broker.address(_PHONE)
    log = TrajectoryLog.open(folder / "phone.db", clock=SystemClock(), new_id=new_uuid7)
    with (
        closing(log),
        CloudProcess(folder / "cloud", broker.address()) as cloud,
        CountingProxy(address.host, address.port) as proxy,
    ):
        session = DeviceSession(
            transport=PahoTransport(replace(address, port=proxy.port)),
            database=folder / "phone.db",
            fleet=FLEET,
            birth=Birth(device_id=DeviceId(_PHONE)),
            blobs=None if blobs is None else BlobSettings(blobs),
        )
        session.start()
        session.wait_connected(_WAIT_S)
        time.sleep(_SETTLE_S)  # the birth and its answer
        before = proxy.sent_bytes, proxy.received_bytes
        for one in recorded.played:
            log.append_many([(one.episode, one.verdicts)], screens={one.episode.id: one.screens})
            session.wake()
            session.wait_drained(_WAIT_S)
        cloud.wait_stored(len(recorded.played), _WAIT_S)
        pictures = len({screen.blob for one in recorded.played for screen in one.screens})
        _wait_for_screens(cloud, pictures)
        sent = WireBytes(
            proxy.sent_bytes - before[0], proxy.received_bytes - before[1], recorded.steps
        )
        session.close()
    return sent


def _wait_for_screens(cloud: CloudProcess, count: int) -> None:
    deadline_s = time.monotonic() + _WAIT_S
    while (held := cloud.sample().screens) < count:
        if time.monotonic() > deadline_s:
            raise CommandError(f"{held} of {count} pictures arrived; try a quieter machine")
        time.sleep(0.1)


def naive(recorded: Recorded, broker: BrokerProcess, *, pictures: bool) -> WireBytes:
    """Send the same as JSON and PNG over paho."""
    broker.add_devices([_NAIVE])
    address = broker.address(_NAIVE)
    with CountingProxy(address.host, address.port) as proxy:
        client = _connected(replace(address, port=proxy.port))
        before = proxy.sent_bytes, proxy.received_bytes
        for topic, payload in _naive_messages(recorded, pictures=pictures):
            client.publish(topic, payload, qos=1).wait_for_publish(_WAIT_S)
        sent = WireBytes(
            proxy.sent_bytes - before[0], proxy.received_bytes - before[1], recorded.steps
        )
        client.disconnect()
        client.loop_stop()
    return sent


def _naive_messages(recorded: Recorded, *, pictures: bool) -> Iterator[tuple[str, bytes]]:
    import msgspec

    from sync import topics
    from sync.messages import EpisodeUpload

    topic = topics.build(FLEET, topics.EPISODE, _NAIVE)
    sizes = _Pngs(recorded.pngs)
    for one in recorded.played:
        yield topic, msgspec.json.encode(EpisodeUpload(episode=one.episode, verdicts=one.verdicts))
        for step in one.episode.steps if pictures else ():
            if step.observation.screenshot:
                yield topic, sizes.level_6(step.observation.screenshot)


class _Pngs:
    """Pictures as PNG of level 6, each encoded once."""

    def __init__(self, pngs: dict[str, bytes]) -> None:
        self._pngs = pngs
        self._made: dict[str, bytes] = {}

    def level_6(self, digest: str) -> bytes:
        """One picture."""
        if digest not in self._made:
            from PIL import Image

            made = io.BytesIO()
            with Image.open(io.BytesIO(self._pngs[digest])) as image:
                image.save(made, "PNG", compress_level=PNG_LEVEL)
            self._made[digest] = made.getvalue()
        return self._made[digest]


def _connected(address: MqttAddress) -> Any:  # Any: paho's client
    import paho.mqtt.client as paho
    from paho.mqtt.enums import CallbackAPIVersion

    client = paho.Client(CallbackAPIVersion.VERSION2, client_id=address.client_id)
    client.username_pw_set(address.username, address.password)
    there = threading.Event()
    client.on_connect = lambda *_: there.set()
    client.connect(address.host, address.port)
    client.loop_start()
    if not there.wait(_WAIT_S):
        raise CommandError("the broker does not answer; try a quieter machine")
    return client


def figures(ways: Sequence[tuple[str, WireBytes, WireBytes]]) -> dict[str, dict[str, float]]:
    """Bytes a step of each variant, ours beside the naive way."""
    return {
        name: {
            "up_bytes_per_step": round(our.up / our.steps, 1),
            "down_bytes_per_step": round(our.down / our.steps, 1),
            "bytes_per_step": round(our.per_step, 1),
            "naive_bytes_per_step": round(plain.per_step, 1),
            "ratio": round(our.per_step / plain.per_step, 4),
        }
        for name, our, plain in ways
    }
