"""The releases that one policy has loaded, and which of them acts where nobody names one."""

from __future__ import annotations

from typing import Generic, TypeVar

from device_runtime.errors import InstallError
from sync.vocabulary import FACTORY_RELEASE

Acting = TypeVar("Acting")


class LoadedReleases(Generic[Acting]):
    """What acts for each loaded release of one base; the factory's policy is always among them.

    Several are loaded at once, and each request says which is to act, so a swap is a change of name
    between two actions. Not safe to use from several threads at once.

    Args:
        factory: acts as the factory release: the base as it is.
    """

    def __init__(self, factory: Acting) -> None:
        self._acting: dict[str, Acting] = {FACTORY_RELEASE: factory}
        self._current = str(FACTORY_RELEASE)

    @property
    def current(self) -> str:
        """The release that acts where a request names none."""
        return self._current

    @property
    def loaded(self) -> tuple[str, ...]:
        """Releases that requests may name."""
        return tuple(self._acting)

    def use(self, release_id: str) -> None:
        """Let `release_id` act where a request names none.

        Raises: InstallError: it is not loaded ("unknown_release").
        """
        self.acting(release_id)
        self._current = release_id

    def load(self, release_id: str, acting: Acting) -> None:
        """Make `release_id` available; one that is loaded already under this name is replaced."""
        if release_id == FACTORY_RELEASE:
            raise ValueError("the factory release is the base itself and takes no adapter")
        self._acting[release_id] = acting

    def rename(self, release_id: str, new_id: str) -> None:
        """Give a loaded release another name; one that is loaded under that name is replaced.

        Raises: InstallError: it is not loaded ("unknown_release").
        """
        self.load(new_id, self.acting(release_id))
        self.unload(release_id)

    def unload(self, release_id: str) -> None:
        """Forget a release; the factory release acts where it was the current one."""
        if release_id == FACTORY_RELEASE:
            raise ValueError("the factory release is always there")
        self._acting.pop(release_id, None)
        if self._current == release_id:
            self._current = FACTORY_RELEASE

    def acting(self, release_id: str) -> Acting:
        """What acts for a release; for the current one where none is named.

        Raises: InstallError: it is not loaded ("unknown_release").
        """
        found = self._acting.get(release_id or self._current)
        if found is None:
            raise InstallError(
                f"release {release_id} is not loaded: install it first", reason="unknown_release"
            )
        return found
