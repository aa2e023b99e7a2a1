"""What service and learner need from elsewhere: a way to devices, a signer, a scorer of steps."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Protocol

from sync.cohorts import StagedOffer
from sync.messages import DownMessage, ReleaseAnnouncement
from sync.releases import ChannelPointer
from sync.vocabulary import Release, ReleaseId

if TYPE_CHECKING:  # the service never loads torch
    from cloud_learner.batch import StepSample
    from cloud_learner.scoring import Scores


class Downlink(Protocol):
    """The way from the cloud to the devices. Nothing is kept for a device that is away.

    Calls return at once, from any thread; messages to one device stay in order.

    Raises: TransientError: there is no connection now; whoever calls tries again later.
    """

    def send(self, device_id: str, message: DownMessage) -> None:
        """Send one message to one device."""
        ...

    def announce(self, announcement: ReleaseAnnouncement) -> None:
        """Tell every device where a channel points; kept for devices that come later."""
        ...

    def forget(self, device_id: str) -> None:
        """Take away what the broker keeps of a device and for it. Idempotent."""
        ...


class ReleaseSigner(Protocol):
    """Signs releases and points channels at them: `sync.repository.Repository`, or a fake.

    Used by one thread. Every change is on disk, whole, when the call returns.
    """

    @property
    def latest_version(self) -> int:
        """The highest version that was published; 0 where there is none."""
        ...

    def release(self, release_id: ReleaseId | str) -> Release:
        """A published release. Raises: RejectedError: "unknown_release"."""
        ...

    def adapter(self, release_id: ReleaseId | str) -> bytes:
        """The adapter file of a published release. Raises: RejectedError: "unknown_release"."""
        ...

    def channel(self, channel: str) -> ChannelPointer | None:
        """Where a channel points, or None."""
        ...

    def publish(self, release: Release, adapter: bytes, channel: str | None = None) -> Path:
        """Sign a release, point the channel at it, write its bundle. Idempotent.

        Raises: RejectedError: the release contradicts what was published before.
        """
        ...

    def set_channel(self, channel: str, release_id: ReleaseId | str) -> None:
        """Point a channel at a published release of at least the version it points at now."""
        ...

    def renew(self) -> bool:
        """Sign again what expires soon; whether anything was. Cheap where nothing is due."""
        ...


class StagedSigner(ReleaseSigner, Protocol):
    """What staged releases need of the signer beyond that."""

    def offer(self, channel: str, offer: StagedOffer | None) -> None:
        """Offer a release to part of a channel's phones; None takes the offer back. Idempotent.

        Raises: RejectedError: "unknown_release", or "older_version" where it is not above what the
            channel points at.
        """
        ...


class StepScorer(Protocol):
    """What an algorithm asks about steps: `scoring.Scorer`, or one that many processes share."""

    def __call__(self, samples: Sequence[StepSample]) -> Scores:
        """Scores of `samples`, in their order, with gradients to what is trained."""
        ...
