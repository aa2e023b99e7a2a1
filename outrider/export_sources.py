"""What `outrider export` takes: an adapter from a file or a learner, and logged observations."""

from __future__ import annotations

import copy
import shutil
from collections.abc import Iterator, Mapping
from itertools import islice
from pathlib import Path
from random import Random
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING

from outrider.errors import CommandError, MisuseError
from sync.adapter_file import AdapterFile, FloatArray, unpack
from sync.errors import RejectedError
from sync.policy_io import POLICY_IO_VERSION, EncodedInput, encode_episode
from sync.releases import read_bundle

if TYPE_CHECKING:
    from device_runtime.policy import OnnxPolicy
    from exporters.families.layout_t5 import LayoutT5
    from sync.vocabulary import Episode

_SEED_BASE = 3_500_000_000
_SEATS = 32
_STEPS_OF_AN_EPISODE = 2
"""Observations of one played episode: those of one are much alike."""
_RELEASE = "export"


def read_adapter(
    path: Path, *, base_digest: str, policy_io_version: str = POLICY_IO_VERSION
) -> AdapterFile:
    """The adapter in a file of its own or in a release's bundle.

    Args:
        policy_io_version: encoding that it must be for.

    Raises: MisuseError: the file is none, or its adapter is for another base or encoding.
    """
    try:
        data = read_bundle(path).adapter if path.suffix == ".zip" else path.read_bytes()
        adapter = unpack(data)
    except (OSError, RejectedError) as error:
        raise MisuseError(
            f"{path} holds no adapter ({error}): name an adapter file or a bundle"
        ) from error
    _require_fit(adapter, path, base_digest, policy_io_version)
    return adapter


def learnt_adapter(data: Path, base: LayoutT5, *, base_digest: str) -> dict[str, FloatArray]:
    """The learner's own adapter in a fleet's folder, before rounding; else the one delivered last.

    Args:
        data: folder of a fleet.
        base: without an adapter; a copy gets one.

    Raises:
        MisuseError: nothing was learnt there, or for another base.
        CheckpointError: the checkpoint cannot be read.
    """
    from cloud_learner.checkpoints import load_checkpoint
    from cloud_learner.families import family_of
    from exporters import lora

    cloud = data / "cloud"
    delivered = sorted((cloud / "adapters").glob("*.bin"), key=lambda path: path.stat().st_mtime)
    if not delivered:
        raise MisuseError(f"{data} holds no adapter: name the folder of a fleet that has learnt")
    latest = read_adapter(delivered[-1], base_digest=base_digest)
    rank = rank_of(latest.tensors)
    if rank is None:
        return dict(latest.tensors)
    identity = family_of(base).identity(base_digest=base_digest, rank=rank)
    with TemporaryDirectory(prefix="outrider-export-") as folder:
        # a copy: reading cleans up after dead learners, and this one may be alive
        for file in (cloud / "checkpoints").glob("learner*.pt"):
            shutil.copy(file, folder)
        checkpoint = load_checkpoint(Path(folder), network=identity)
    if checkpoint is None or not checkpoint.adapter:
        return dict(latest.tensors)
    network = lora.attach(copy.deepcopy(base), rank)
    network.load_state_dict(checkpoint.adapter, strict=False)
    return lora.adapter_tensors(network)


def rank_of(tensors: Mapping[str, FloatArray]) -> int | None:
    """The rank that an adapter's layers share; None of an adapter without tensors.

    Raises: MisuseError: they have several.
    """
    ranks = {one.shape[1] for name, one in tensors.items() if name.endswith(".lora_a")}
    if len(ranks) > 1:
        raise MisuseError(f"the adapter's layers have ranks {sorted(ranks)}: only one is checked")
    return next(iter(ranks), None)


def logged_inputs(data: Path, count: int) -> list[EncodedInput]:
    """The observations of a fleet's newest logged episodes, encoded as they were when they acted.

    Raises: CommandError: fewer are logged there.
    """
    found = list(islice(_encoded(_newest(data)), count))
    if len(found) < count:
        raise CommandError(
            f"{data} has {len(found)} logged observations: ask for no more with --check"
        )
    return found


def played_inputs(
    policy: OnnxPolicy, tensors: Mapping[str, FloatArray], count: int
) -> list[EncodedInput]:
    """Observations of episodes that the adapter plays now on mock phones, of every template."""
    from apps_mock.actors import Actors
    from apps_mock.evaluation import instances, templates_of
    from apps_mock.farm import play
    from sync.vocabulary import ReleaseId, Split

    policy.load_adapter(_RELEASE, tensors)
    wanted = instances(
        templates_of("all"),
        count=count,
        seed_base=_SEED_BASE,
        split=Split.VALIDATION,
        actor="release",
        temperature=1.0,
    )
    Random(0).shuffle(wanted)
    played = play(wanted, Actors(policy).policy_for, seats=_SEATS, release_id=ReleaseId(_RELEASE))
    random = Random(1)
    inputs = (step for one in played for step in _drawn(list(encode_episode(one.episode)), random))
    return list(islice(inputs, count))


def _require_fit(adapter: AdapterFile, path: Path, base_digest: str, version: str) -> None:
    if adapter.policy_io_version != version:
        raise MisuseError(
            f"{path} is for encoding {adapter.policy_io_version}, this program has "
            f"{version}: take an adapter that was learnt with it"
        )
    if adapter.base_digest != base_digest:
        raise MisuseError(
            f"{path} belongs to base {adapter.base_digest[:12]}, not to {base_digest[:12]}: "
            "name its own with --base"
        )


def _newest(data: Path) -> Iterator[Episode]:
    from contextlib import closing

    from device_runtime.trajectory_log import TrajectoryLog
    from outrider.phone_folders import log_of, phone_folders
    from sync.clock import SystemClock
    from sync.vocabulary import EpisodeId, new_uuid7

    for folder in phone_folders(data):
        log = TrajectoryLog.open(log_of(folder), clock=SystemClock(), new_id=new_uuid7)
        with closing(log):
            for summary in log.summaries():
                found = log.read(EpisodeId(summary.id))
                if found is not None:
                    yield found[0]


def _encoded(episodes: Iterator[Episode]) -> Iterator[EncodedInput]:
    for episode in episodes:
        yield from encode_episode(episode)


def _drawn(steps: list[EncodedInput], random: Random) -> list[EncodedInput]:
    return random.sample(steps, min(len(steps), _STEPS_OF_AN_EPISODE))
