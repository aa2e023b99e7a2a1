"""The policy that a phone runs of a base that looks and writes: its graphs, and adapters for them.

What `device_runtime.policy.OnnxPolicy` is for layout_t5.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from device_runtime.base_files import FloatArray, Quantisation
from device_runtime.text_graphs import TextBase
from device_runtime.text_policy import TextPolicy


class OnnxTextPolicy(TextPolicy):
    """Chooses actions with an exported base and any number of loaded adapters."""

    def __init__(
        self, base_dir: Path, *, quantisation: Quantisation = "fp32", threads: int = 1
    ) -> None:
        """Open the graphs in `base_dir`; only the factory policy is loaded.

        Args:
            quantisation: which graphs; every step says it.
            threads: threads within one operation.

        Raises:
            PolicyFilesError: files are missing, damaged, or of another version of the language; or
                the library `tokenizers` is not installed.
        """
        self._base = TextBase(base_dir, quantisation=quantisation, threads=threads)
        super().__init__(self._base.network(), quantisation=quantisation)
        self.policy_io_version = self._base.language.version

    @property
    def base_digest(self) -> str:
        """SHA-256 (hex) of the base that adapters must belong to."""
        return self._base.digest

    def adapter_shapes(self, rank: int) -> dict[str, tuple[int, int]]:
        """Shapes of a whole adapter of one rank, by name of its tensors."""
        return self._base.adapter_shapes(rank)

    def load_adapter(self, release_id: str, tensors: Mapping[str, FloatArray]) -> None:
        """Make `release_id` available; one that is loaded already under this name is replaced.

        Args:
            tensors: as for `OnnxPolicy.load_adapter`.

        Raises:
            InstallError: the tensors fit another base ("base_mismatch"), or they or what the graphs
                make of them are not finite ("not_finite"). What was loaded before is unchanged.
            PolicyFilesError: the base's graphs have gone or changed since they were read.
        """
        self.load(release_id, self._base.network(tensors))
