"""Who acts when a command is told so: a release, a base, a hand-written policy, a user's file."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from hashlib import sha256
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Any

from outrider.errors import CommandError, MisuseError
from sync.errors import RejectedError
from sync.vocabulary import FACTORY_RELEASE

if TYPE_CHECKING:
    from apps_mock.actors import Actors
    from device_runtime.base_files import Quantisation
    from device_runtime.policies import BasePolicy
    from device_runtime.ports import Decided, Policy, PolicyRequest
    from sync.vocabulary import Release

RELEASE = "release"
VISION_LANGUAGE = "hf_vlm:"
"""Before the folder of a vision-language checkpoint, or of its exported graphs."""
SCRIPTED = ("lexical", "random", "oracle", "noop")


@dataclass(frozen=True, slots=True)
class Actor:
    """Who is evaluated.

    Attributes:
        name: as assignments name it.
        actors: who plays them.
        release_id: what acts where `name` is "release".
        digest: SHA-256 (hex) of the adapter, or of the base where there is none; None for others.
    """

    name: str
    actors: Actors
    release_id: str = FACTORY_RELEASE
    digest: str | None = None


class UsersPolicy:
    """A user's policy whose mistakes become one line that names its file."""

    def __init__(self, file: str, policy: Policy) -> None:
        self._file = file
        self._policy = policy
        self.wants_encoding = bool(getattr(policy, "wants_encoding", False))

    def decide(self, requests: Sequence[PolicyRequest]) -> list[Decided]:
        """What the user's policy decides.

        Raises: CommandError: it failed, or its answer is no decision.
        """
        from device_runtime.ports import Decided
        from sync.vocabulary import Action

        try:
            decided: list[Any] = list(self._policy.decide(requests))  # Any: a user's code
        except Exception as error:  # the user's code may raise anything
            raise CommandError(f"{self._file} failed ({type(error).__name__}: {error})") from error
        if not all(isinstance(one, Decided) and isinstance(one.action, Action) for one in decided):
            raise CommandError(f"{self._file} decided on something that is no Action: return one")
        return decided


def require_paths(policy: str | None, *, bundle: Path | None, base: Path | None) -> None:
    """Nothing where the named files are there; loads nothing.

    Raises: MisuseError: one is missing, or two policies are named.
    """
    from outrider.graphs import require_base

    if bundle is not None and policy not in {None, RELEASE}:
        raise MisuseError(f"--bundle and --policy {policy} are two policies: name one of them")
    if bundle is not None and not bundle.is_file():
        raise MisuseError(f"{bundle} is no file: name a release's bundle, DATA/releases/ID.zip")
    require_base(base)


def actor_of(
    policy: str | None,
    *,
    bundle: Path | None,
    base: Path | None,
    quantisation: Quantisation = "fp32",
) -> Actor:
    """Who is meant by `--policy`, `--bundle` and `--base`.

    Args:
        quantisation: how the graphs of a base compute.

    Raises: MisuseError: no such policy, bundle or base, or they do not go together.
    """
    require_paths(policy, bundle=bundle, base=base)
    from apps_mock.actors import Actors, read_policy_file

    if policy is None or policy == RELEASE:
        return _release_of(bundle, base, quantisation)
    if policy in SCRIPTED:
        return Actor(policy, Actors())
    if policy.startswith(VISION_LANGUAGE):
        folder = Path(policy.removeprefix(VISION_LANGUAGE))
        acting, digest = _vision_language(folder, quantisation)
        return Actor(policy, Actors(files={policy: acting}), digest=digest)
    if not policy.endswith(".py"):
        known = ", ".join((*SCRIPTED, RELEASE, f"{VISION_LANGUAGE}DIR"))
        raise MisuseError(f"no policy is called {policy!r}; there are {known}, and any .py file")
    try:
        read = read_policy_file(Path(policy))
    except RejectedError as error:
        raise MisuseError(str(error)) from error
    return Actor(policy, Actors(files={policy: UsersPolicy(policy, read)}))


def _vision_language(folder: Path, quantisation: Quantisation) -> tuple[Policy, str]:
    """The policy of exported graphs, which need no torch, or of a Hugging Face checkpoint.

    With it comes the SHA-256 (hex) of the base, or of the checkpoint's files.

    Raises: MisuseError: there is neither in the folder, it is not whole, or cannot compute so.
    """
    from device_runtime.base_files import BASE_FILE
    from device_runtime.errors import PolicyFilesError
    from device_runtime.onnx_text_policy import OnnxTextPolicy
    from device_runtime.text_policy import TextPolicy

    if (folder / BASE_FILE).is_file():
        try:
            graphs = OnnxTextPolicy(folder, quantisation=quantisation)
        except PolicyFilesError as error:
            raise MisuseError(str(error)) from error
        return graphs, graphs.base_digest
    if quantisation != "fp32":
        raise MisuseError(
            f"{folder} is a checkpoint, and torch computes in fp32: name its exported graphs"
        )
    try:
        from exporters.checkpoint_folder import contents_digest
        from exporters.errors import BaseFilesError
        from exporters.families.hf_checkpoint import load_checkpoint
    except ModuleNotFoundError as error:
        raise MisuseError(
            f"{folder} has no graphs and {error.name} is absent: pip install 'outrider[cloud]'"
        ) from error
    try:
        return TextPolicy(load_checkpoint(folder)), contents_digest(folder)
    except BaseFilesError as error:
        raise MisuseError(str(error)) from error


def installed_actor(
    phone: Path, *, base: Path | None, cache: Path, quantisation: Quantisation = "fp32"
) -> Actor:
    """What is installed in a phone's folder; the base as it is where nothing is.

    Where the release came with a base of its own, that is what acts, unless `base` is named.

    Raises:
        MisuseError: it belongs to another base, or there is no base.
        InstalledFilesError: the folder is damaged.
    """
    from apps_mock.actors import Actors
    from device_runtime.errors import InstallError
    from device_runtime.held_bases import HeldBases
    from device_runtime.slots import Slots
    from exporters.shipped import base_with

    slots = Slots(phone)
    installed = slots.checked(slots.state().active)
    adapter = installed.read()
    held = HeldBases(phone)
    if base is None and adapter is not None and held.holds(adapter.base_digest):
        base = held.path(adapter.base_digest)
    elif base is None and adapter is not None:
        base = base_with(adapter.base_digest)
    onnx = _base_policy(base, cache, quantisation)
    if adapter is None or installed.release is None:
        return Actor(RELEASE, Actors(onnx), digest=onnx.base_digest)
    try:
        _require_base(installed.release, onnx)
        onnx.load_adapter(installed.release_id, adapter.tensors)
    except (RejectedError, InstallError) as error:
        raise MisuseError(f"{phone} cannot act: {error}") from error
    return Actor(RELEASE, Actors(onnx), installed.release_id, adapter.digest)


def _require_base(release: Release, onnx: BasePolicy) -> None:
    """Nothing where `release` belongs to the base of `onnx`.

    Raises: RejectedError: "base_mismatch" or "policy_io_mismatch".
    """
    from sync.releases import require_fits

    require_fits(release, base_digest=onnx.base_digest, policy_io_version=onnx.policy_io_version)


def _base_policy(base: Path | None, cache: Path, quantisation: Quantisation) -> BasePolicy:
    from device_runtime.policies import open_base
    from outrider.graphs import graphs_of

    return open_base(graphs_of(base, cache), quantisation=quantisation, planned=False)


def _laid(packed: bytes, digest: str, cache: Path) -> Path:
    """The folder in `cache` with the files of a base that came in a bundle."""
    from sync.base_file import is_whole, unpack_base

    folder = cache / f"{digest}-{sha256(packed).hexdigest()[:16]}"
    if not is_whole(folder, digest=digest):
        cache.mkdir(parents=True, exist_ok=True)
        with TemporaryDirectory(prefix="bundle-", dir=cache) as aside:
            unpack_base(packed, Path(aside) / folder.name, digest=digest)
            (Path(aside) / folder.name).replace(folder)
    return folder


def _release_of(bundle: Path | None, base: Path | None, quantisation: Quantisation) -> Actor:
    from apps_mock.actors import Actors
    from device_runtime.errors import InstallError
    from exporters.shipped import base_with
    from outrider.graphs import cache_dir
    from sync.adapter_file import adapter_digest, unpack
    from sync.releases import read_bundle

    if bundle is None:
        onnx = _base_policy(base, cache_dir(), quantisation)
        return Actor(RELEASE, Actors(onnx), digest=onnx.base_digest)
    try:
        parts = read_bundle(bundle)
        release = parts.release()
        if base is None and parts.base is not None:
            base = _laid(parts.base, release.base_digest, cache_dir())
        base = base or base_with(release.base_digest)
        onnx = _base_policy(base, cache_dir(), quantisation)
        _require_base(release, onnx)
        if adapter_digest(parts.adapter) != release.adapter_digest:
            raise MisuseError(f"{bundle} does not hold the adapter it describes: fetch it anew")
        onnx.load_adapter(release.id, unpack(parts.adapter).tensors)
    except (OSError, RejectedError, InstallError) as error:
        raise MisuseError(f"{bundle} cannot act: {error}") from error
    return Actor(RELEASE, Actors(onnx), release.id, release.adapter_digest)
