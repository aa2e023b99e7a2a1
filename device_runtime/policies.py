"""The policies of releases that belong to different bases, as one policy.

A new base comes as a release, so for a while episodes of two bases are played side by side. Each
release acts on the base that its adapter is made for; a base is opened with its first release and
closed with its last. Not safe to use from several threads at once.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path

from device_runtime.base_files import FloatArray, Quantisation, family_in
from device_runtime.onnx_text_policy import OnnxTextPolicy
from device_runtime.policy import OnnxPolicy
from device_runtime.ports import Decided, PolicyRequest
from sync.text_policy_io import FAMILY as TEXT_FAMILY

BasePolicy = OnnxPolicy | OnnxTextPolicy


def open_base(
    directory: Path, *, quantisation: Quantisation = "fp32", threads: int = 1, planned: bool = True
) -> BasePolicy:
    """The policy of an exported base, of whichever family.

    Args:
        quantisation, threads, planned: as for `OnnxPolicy`.

    Raises: PolicyFilesError: it cannot be loaded.
    """
    if family_in(directory) == TEXT_FAMILY:
        return OnnxTextPolicy(directory, quantisation=quantisation, threads=threads)
    return OnnxPolicy(directory, quantisation=quantisation, threads=threads, planned=planned)


class Policies:
    """Chooses actions with any number of releases, whatever base they belong to.

    The bases of one phone are all asked in the same way: `policy_io_version` is the factory's, and
    releases of another are refused before they come here.

    Args:
        base_dir: the exported base that is the factory's policy.
        bases_dir: folders of other exported bases, by digest; None where there are none.
        quantisation, threads: as for `OnnxPolicy`.

    Raises: PolicyFilesError: the factory's base cannot be loaded.
    """

    def __init__(
        self,
        base_dir: Path,
        *,
        bases_dir: Path | None = None,
        quantisation: Quantisation = "fp32",
        threads: int = 1,
    ) -> None:
        self._bases_dir = bases_dir
        self._quantisation: Quantisation = quantisation
        self._threads = threads
        self._factory = self._opened(base_dir)
        self.policy_io_version = self._factory.policy_io_version
        self.wants_encoding = self._factory.wants_encoding
        self.wants_picture = self._factory.wants_picture
        self._others: dict[str, BasePolicy] = {}
        self._base_of: dict[str, str] = {}

    @property
    def base_digest(self) -> str:
        """SHA-256 (hex) of the factory's base."""
        return self._factory.base_digest

    def load_adapter(
        self, release_id: str, tensors: Mapping[str, FloatArray], *, base_digest: str = ""
    ) -> None:
        """Make `release_id` available (see `OnnxPolicy.load_adapter`).

        Args:
            base_digest: of the base that it is made for; the factory's where empty.

        Raises:
            InstallError: the adapter cannot act on its base.
            PolicyFilesError: its base is not here, or not whole.
        """
        digest = base_digest or self.base_digest
        policy = self._policy_of(digest)
        policy.load_adapter(release_id, tensors)
        before = self._base_of.get(release_id, digest)
        self._base_of[release_id] = digest
        if policy is not self._factory:
            self._others[digest] = policy
        if before != digest:
            self._on(before).unload(release_id)
            self._close_unused(before)

    def rename(self, release_id: str, new_id: str) -> None:
        """Give a loaded release another name; what had that name before is forgotten.

        Raises: InstallError: it is not loaded.
        """
        digest = self._base_of.get(release_id, self.base_digest)
        on = self._on(digest)
        before = self._base_of.get(new_id, digest)
        if before != digest:
            self.unload(new_id)
        on.rename(release_id, new_id)
        self._base_of[new_id] = digest
        self._base_of.pop(release_id, None)

    def unload(self, release_id: str) -> None:
        """Forget a release, and its base where no other release needs that."""
        digest = self._base_of.pop(release_id, self.base_digest)
        self._on(digest).unload(release_id)
        self._close_unused(digest)

    def base_policy(self, release_id: str) -> BasePolicy:
        """The policy of the base that a release acts on; the factory's where it is not loaded."""
        return self._on(self._base_of.get(release_id, self.base_digest))

    def decide(self, requests: Sequence[PolicyRequest]) -> list[Decided]:
        """One decision per request, in order; requests of one base are decided together."""
        groups: dict[str, list[int]] = {}
        for row, request in enumerate(requests):
            digest = self._base_of.get(request.release_id, self.base_digest)
            groups.setdefault(digest, []).append(row)
        decided: dict[int, Decided] = {}
        for digest, rows in groups.items():
            chosen = self._on(digest).decide([requests[row] for row in rows])
            decided.update(zip(rows, chosen, strict=True))
        return [decided[row] for row in range(len(requests))]

    def _on(self, digest: str) -> BasePolicy:
        return self._others.get(digest, self._factory)

    def _policy_of(self, digest: str) -> BasePolicy:
        """The policy of a base, opened if need be."""
        if digest == self.base_digest:
            return self._factory
        if digest in self._others:
            return self._others[digest]
        return self._opened((self._bases_dir or Path("bases")) / digest)

    def _opened(self, directory: Path) -> BasePolicy:
        return open_base(directory, quantisation=self._quantisation, threads=self._threads)

    def _close_unused(self, digest: str) -> None:
        if digest not in self._base_of.values():
            self._others.pop(digest, None)
