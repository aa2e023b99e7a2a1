"""A policy whose pictures are kept, so that what it did can be learnt from."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

from device_runtime.ports import Decided, Policy, PolicyRequest


class KeepsPictures(Protocol):
    """Where pictures go: a folder for who learns here, blobs for who learns elsewhere."""

    def keep(self, png: bytes) -> str:
        """The digest under which steps name `png`. Idempotent."""
        ...


class PictureKeeper:
    """Any policy; the pictures of the screens it is asked about are kept, secrets painted over.

    A teacher that needs no pictures is shown them all the same, for whoever learns from it.
    """

    wants_picture = True

    def __init__(self, policy: Policy, folder: KeepsPictures) -> None:
        self.policy = policy
        self._folder = folder
        self.wants_encoding = policy.wants_encoding

    def decide(self, requests: Sequence[PolicyRequest]) -> list[Decided]:
        """What the policy decides."""
        for request in requests:
            if request.picture is not None:
                self._folder.keep(request.picture)
        return self.policy.decide(requests)
