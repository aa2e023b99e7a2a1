"""How pictures of a device's screens are put together: what is taken, and when it leaves.

Nothing of it is made where the device's own setting says no.
"""

from __future__ import annotations

from dataclasses import replace

from device_runtime.conditions import MAINS, ReadsConditions
from device_runtime.remote_settings import RemoteSettings
from device_runtime.screen_encoder import ScreenForm
from device_runtime.screen_keeper import ScreenPlan
from device_runtime.screen_permit import ScreenPermit
from device_runtime.settings import Settings
from sync.blob_sender import BlobSettings
from sync.clock import SystemClock


def remote_settings(settings: Settings) -> RemoteSettings:
    """What is set from afar, over the device's own values."""
    own = {
        "health_every_s": settings.health_every_s,
        "upload_screens": float(settings.upload_screens),
    }
    return RemoteSettings(settings.phone_dir, clock=SystemClock(), own=own)


def seen_exactly(settings: Settings) -> Settings:
    """The settings of a farm whose policy looks at pictures: they are sent, every pixel of them.

    What is learnt must be what the policy saw, or its probabilities are not those of the step.
    """
    return replace(settings, upload_screens=True, screens_width_px=0, screens_quality=0)


def screen_permit(
    settings: Settings,
    remote: RemoteSettings,
    read_conditions: ReadsConditions = lambda: MAINS,
) -> ScreenPermit | None:
    """Whether pictures may be taken and leave; None where the device's own setting says no."""
    if not settings.upload_screens:
        return None
    return ScreenPermit(
        settings.screens_when,
        is_on=lambda: bool(remote.number("upload_screens")),
        read_conditions=read_conditions,
        clock=SystemClock(),
    )


def screen_plan(settings: Settings) -> ScreenPlan | None:
    """Where pictures go and in which form; None where none are taken."""
    if not settings.upload_screens:
        return None
    is_lossless = settings.screens_quality == 0
    form = ScreenForm(
        width_px=settings.screens_width_px,
        quality=100 if is_lossless else settings.screens_quality,
        lossless=is_lossless,
    )
    return ScreenPlan(settings.blobs_dir, form)


def blob_settings(settings: Settings, permit: ScreenPermit | None) -> BlobSettings | None:
    """What the session sends; None where nothing ever leaves."""
    if permit is None:
        return None
    return BlobSettings(
        settings.blobs_dir, permit.may_send, quota_bytes=settings.screens_quota_mb * 1_000_000
    )
