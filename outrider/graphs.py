"""A base network as phones run it: its exported graphs, made once for each base and kept."""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path

from outrider.errors import MisuseError


def cache_dir(environment: Mapping[str, str] = os.environ) -> Path:
    """Where exported graphs are kept: `OUTRIDER_CACHE`, or `~/.cache/outrider/bases`."""
    given = environment.get("OUTRIDER_CACHE")
    return Path(given) if given else Path.home() / ".cache" / "outrider" / "bases"


def require_base(base: Path | None) -> None:
    """Nothing where the folder exists, or none is named.

    Raises: MisuseError: there is no such folder.
    """
    if base is not None and not base.is_dir():
        raise MisuseError(f"{base} is no folder: name one that holds a base, or leave --base out")


def graphs_of(base: Path | None, cache: Path) -> Path:
    """The exported graphs of a base: those that it carries, else exported to `cache`.

    Only an export loads torch.

    Args:
        base: a folder with a base or with exported graphs; the shipped base if None.

    Raises: MisuseError: there is no base in the folder.
    """
    from device_runtime.policy import BASE_FILE

    if base is not None and (base / BASE_FILE).is_file():
        return base
    require_base(base)
    from exporters.errors import BaseFilesError
    from exporters.shipped import DEFAULT_BASE_DIR, graphs_beside

    source = base or DEFAULT_BASE_DIR
    if (carried := graphs_beside(source)) is not None:
        return carried
    try:
        from exporters.opened_base import exported_graphs

        return exported_graphs(source, cache)
    except ModuleNotFoundError as error:
        raise MisuseError(
            f"{source} carries no graphs and {error.name} is absent: pip install 'outrider[cloud]'"
        ) from error
    except BaseFilesError as error:
        raise MisuseError(str(error)) from error
