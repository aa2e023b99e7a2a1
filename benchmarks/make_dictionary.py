"""Makes the dictionaries of the wire: of episodes, from typical trees of the clones; of envelopes.

    python -m benchmarks.make_dictionary sync/dictionaries/episodes_1.zdict
    python -m benchmarks.make_dictionary sync/dictionaries/envelopes_1.zdict --envelopes

Texts and names that come again in many episodes, the most frequent last, and behind them whole
episodes: what stands at the end is the cheapest to refer to. Episodes are played by the oracle and
at random, the latter noted as if a release had acted, on seeds that nothing else uses. A dictionary
that was released is never made anew: bodies in outboxes and logs name it.
"""

from __future__ import annotations

import argparse
from collections import Counter
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from random import Random

import msgspec

from apps_mock.actors import Actors
from apps_mock.farm import play
from apps_mock.tasks import templates
from sync import episode_dictionary
from sync.codec import PLAIN, Envelope, encode_body
from sync.columns import packed
from sync.messages import (
    Acknowledgement,
    AssignmentsAccepted,
    BlobAck,
    BlobChunk,
    BlobOffer,
    BlobWant,
    Cancel,
    EpisodeUpload,
    Event,
    FileChunk,
    FileRequest,
    Health,
    Message,
    OwnerAnswer,
    ReportedSettings,
    kind_name,
)
from sync.policy_io import POLICY_IO_VERSION
from sync.versions import MINOR
from sync.vocabulary import Assignment, AssignmentId, Decision

WINDOW_BYTES = 32 * 1024
TEXT_BYTES = 12 * 1024
SEED = 5_000_000
EPISODES = 300
LEAST_EPISODES = 6
_TYPE_MASKS = (b"\xc0o\xe0", b"\xc0o\xc0", b"\xe0o\xe0")
_ENCODE = msgspec.msgpack.Encoder().encode


def played(actor: str, seed: int) -> Iterator[EpisodeUpload]:
    """Episodes of every template by one actor."""
    known = [template for template in templates() if template.counts]
    assignments = (
        Assignment(
            AssignmentId(f"{seed + number}"),
            template=known[number % len(known)].name,
            suite=known[number % len(known)].app,
            seed=seed + number,
            look=seed + number,
            actor=actor,
            step_budget=8,
        )
        for number in range(EPISODES)
    )
    for one in play(assignments, Actors(None).policy_for, seats=8):
        yield EpisodeUpload(episode=one.episode, verdicts=one.verdicts)


def as_release(upload: EpisodeUpload, random: Random) -> EpisodeUpload:
    """An episode that chance played, with what a release's steps say of how they were chosen."""
    steps = tuple(
        replace(
            step,
            decisions=(
                Decision("type", random.randrange(4), -0.5, random.choice(_TYPE_MASKS)),
                Decision("pointer", random.randrange(16), -0.25, b"\xff\xf8"),
            ),
            log_prob=-0.75,
            temperature=1.0,
            policy_version="r0001",
            policy_io_version=POLICY_IO_VERSION,
            input_digest=random.randbytes(32).hex(),
            observed_at_ms=1_800_000_000_000 + 150 * step.index,
            decide_ms=12.345,
            act_ms=0.123,
        )
        for step in upload.episode.steps
    )
    return replace(upload, episode=replace(upload.episode, steps=steps, release_id="r0001"))


def texts(value: object) -> Iterator[str]:
    """Every text and name in packed columns."""
    if isinstance(value, str):
        yield value
    elif isinstance(value, list | tuple):
        for one in value:
            yield from texts(one)
    elif isinstance(value, dict):
        for name, one in value.items():
            yield name
            yield from texts(one)


def dictionary(bodies: list[bytes]) -> bytes:
    """What most bodies have in common, at most `WINDOW_BYTES`."""
    seen: Counter[str] = Counter()
    for body in bodies:
        seen.update(set(texts(msgspec.msgpack.decode(body))))
    common = [text for text, count in seen.items() if count >= LEAST_EPISODES and len(text) > 2]
    common.sort(key=lambda text: (seen[text], text))
    head = b"".join(_ENCODE(text) for text in common)[-TEXT_BYTES:]
    return head + b"".join(bodies)[-(WINDOW_BYTES - len(head)) :]


def envelope_dictionary() -> bytes:
    """What envelopes and short bodies have in common, the most frequent last."""
    now_ms = 1_800_000_000_000
    short: list[Message] = [
        ReportedSettings(version=1, values={"health_every_s": 15.0}, at_ms=now_ms),
        OwnerAnswer(question_id="", agreed=True, at_ms=now_ms),
        Cancel(assignment_ids=(AssignmentId(""),)),
        AssignmentsAccepted(assignment_ids=(AssignmentId(""),)),
        FileRequest(request_id="", path="metadata/timestamp.json", offset=0, length=65_536),
        FileChunk(request_id="", path="targets/", offset=0, total=0, data=b""),
        Event(kind="release_state_entered", fields={"release_id": "", "state": ""}, at_ms=now_ms),
        Health(at_ms=now_ms, uptime_s=1.5),
        BlobOffer(have=((b"\0" * 32, 4096),)),
        BlobChunk(digest=b"\0" * 32, offset=0, total=4096, data=b"", crc32=0),
        BlobAck(stored=(b"\0" * 32,)),
        BlobWant(ranges=((b"\0" * 32, 0, 1),)),
        Acknowledgement(
            install_id="",
            server_epoch=":1",
            server_at_ms=now_ms,
            cumulative=7,
            credit_bytes=1 << 20,
            sequences=(7,),
        ),
    ]
    heads = [
        Envelope(
            v=1,
            kind=kind_name(message),
            device="phone-1",
            install_id="",
            boot_id="",
            stream="live",
            seq=2,
            sent_at_ms=now_ms,
            enc=PLAIN,
            body=encode_body(message).data,
            minor=MINOR,
            check=1 << 31,
        )
        for message in short
    ]
    heads.append(
        Envelope(
            v=1,
            kind="episode_upload",
            device="phone-1",
            install_id="",
            boot_id="",
            stream="outbox",
            seq=7,
            sent_at_ms=now_ms,
            enc=episode_dictionary.newest(),
            body=b"",
            minor=MINOR,
            check=1 << 31,
            oldest=7,
        )
    )
    return b"".join(map(_ENCODE, heads))


def main() -> None:
    """Play, collect and write."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("file", type=Path)
    parser.add_argument("--envelopes", action="store_true", help="the one of envelopes instead")
    arguments = parser.parse_args()
    file: Path = arguments.file
    if arguments.envelopes:
        file.write_bytes(envelope_dictionary())
        return
    bodies = [
        _ENCODE(packed(one))
        for actor, seed in (("oracle", SEED), ("random", SEED + 100_000))
        for number, upload in enumerate(played(actor, seed))
        for one in (upload if actor == "oracle" else as_release(upload, Random(number)),)
    ]
    bodies.sort()
    Random(1).shuffle(bodies)
    file.write_bytes(dictionary(bodies))


if __name__ == "__main__":
    main()
