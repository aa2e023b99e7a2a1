"""`outrider cloud learn`: the learner process beside a cloud service."""

from __future__ import annotations

import os
from dataclasses import replace
from enum import Enum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from outrider.cloud_database import CloudDatabase, cloud_database
from outrider.device_options import DataDir
from outrider.errors import MisuseError
from outrider.options import Json
from outrider.output import Output

if TYPE_CHECKING:
    from cloud_learner.learner_settings import LearnerSettings
    from cloud_learner.process_group import Place

POLL_S = 0.05


class Device(Enum):
    """Where the learner computes."""

    AUTO = "auto"
    CPU = "cpu"
    CUDA = "cuda"


Learner = Annotated[
    str,
    typer.Option(
        "--learner",
        help="What learns: a_ride, a_ride_published, digirl, grpo, gigpo, filtered_bc; or bc, "
        "which only goes on imitating demonstrations (control); or a TOML or JSON file that "
        "changes one of them.",
    ),
]
ControlCpu = Annotated[
    float | None,
    typer.Option("--learner-cpu-s", min=1.0, help="CPU seconds that the control arm spends."),
]
WarmUp = Annotated[
    int | None,
    typer.Option("--warm-up-updates", min=1, help="Optimiser steps of the warm-up."),
]


def learn(
    *,
    data: DataDir,
    learner: Learner = "a_ride",
    learner_cpu_s: ControlCpu = None,
    warm_up_updates: WarmUp = None,
    base: Annotated[
        Path | None,
        typer.Option(
            "--base",
            help="Folder of a base or a checkpoint; the shipped base if not set.",
        ),
    ] = None,
    device: Annotated[
        Device,
        typer.Option("--device", help="Where it computes; auto takes a GPU if any."),
    ] = Device.AUTO,
    database: CloudDatabase = None,
    json: Json = False,
) -> None:
    """Learn from the episodes in a cloud's database until its campaign is finished or Ctrl-C.

    Under torchrun its processes share the work: the first one reads and delivers.
    """
    import torch

    from cloud_learner.data_parallel import sharing
    from cloud_learner.errors import StoreUnavailableError
    from cloud_learner.learner import Learner as LearnerLoop
    from cloud_learner.learner_store import LearnerStore
    from cloud_learner.process_group import joined, place_of
    from cloud_learner.screen_pictures import ScreenPictures
    from cloud_learner.settings import ServiceSettings
    from exporters.opened_base import open_base
    from exporters.shipped import DEFAULT_BASE_DIR
    from outrider.device_wiring import stop_on_signals
    from outrider.graphs import require_base
    from sync.clock import SystemClock

    torch.set_num_threads(1)
    out = Output(json_lines=json)
    settings = replace(
        learner_settings(learner, learner_cpu_s, warm_up_updates), device=device.value
    )
    require_base(base)
    place = place_of(os.environ)
    source = base or DEFAULT_BASE_DIR
    if not place.leads:
        _share_the_work(place, source, settings)
        return
    paths = ServiceSettings(data_dir=data)
    with (
        cloud_database(data, database) as opened,
        joined(place),
        sharing(place) as share,
        stop_on_signals() as stop,
    ):
        learnt_on = open_base(source, data / "base")
        pictures = ScreenPictures(opened, paths.cloud_dir / "blobs", wait=stop.wait).of
        loop = LearnerLoop(
            LearnerStore(
                opened, adapters_dir=paths.adapters_dir, clock=SystemClock(), wait=stop.wait
            ),
            learnt_on.network,
            base_digest=learnt_on.digest,
            settings=settings,
            export=learnt_on.exporter(rank=settings.rank, pictures=pictures),
            checkpoints_dir=paths.cloud_dir / "checkpoints",
            pictures=pictures,
            share=share,
        )
        out.event(
            "started",
            role="learner",
            pid=os.getpid(),
            learner=settings.name,
            processes=place.size,
        )
        try:
            while not stop.is_set() and not loop.finished:
                if not loop.poll():
                    stop.wait(POLL_S)
        except StoreUnavailableError:
            if not stop.is_set():
                raise
        finally:
            loop.save()
    out.summary(
        rounds=loop.state.round_index,
        delivered=loop.state.delivered,
        learner_cpu_s=round(loop.state.cpu_s, 2),
        warm_up_cpu_s=round(loop.state.warm_up_cpu_s, 2),
    )


def _share_the_work(place: Place, source: Path, settings: LearnerSettings) -> None:
    """Score for the first process until it ends, whatever the terminal says meanwhile."""
    from cloud_learner.compute import compute_on
    from cloud_learner.data_parallel import serve
    from cloud_learner.families import family_of
    from cloud_learner.process_group import joined
    from exporters.opened_base import load_network
    from outrider.interrupts import on_interrupt

    family = family_of(load_network(source), compute=compute_on(settings.device))
    with joined(place), on_interrupt(lambda: None):
        serve(family.replica(family.adapted(settings.rank)))


def learner_settings(
    learner: str, control_cpu_s: float | None, warm_up_updates: int | None
) -> LearnerSettings:
    """The learner's settings behind a choice on the command line.

    Raises: MisuseError: there is no such learner, or its file cannot be used.
    """
    from cloud_learner.learner_settings import settings_of

    try:
        chosen = settings_of(learner)
    except ValueError as error:
        raise MisuseError(f"--learner: {error}") from error
    if control_cpu_s is not None:
        chosen = replace(chosen, control_cpu_s=control_cpu_s)
    if warm_up_updates is not None:
        chosen = replace(chosen, warm_up=replace(chosen.warm_up, updates=warm_up_updates))
    return chosen
