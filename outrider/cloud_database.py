"""Which database a fleet's cloud has: what a command says, or the environment, or its folder."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Final

import typer

from outrider.errors import MisuseError

if TYPE_CHECKING:
    from cloud_learner.store import Database

DATABASE_VARIABLE: Final = "OUTRIDER_DATABASE"
CloudDatabase = Annotated[
    str | None,
    typer.Option(
        "--database",
        envvar=DATABASE_VARIABLE,
        show_envvar=False,
        help=f"Database URL; or {DATABASE_VARIABLE}; DATA/cloud/cloud.db if neither is set.",
    ),
]


def named_database() -> str | None:
    """The one that the environment names, for who has no option for it."""
    return os.environ.get(DATABASE_VARIABLE) or None


def has_database(data: Path | None, database: str | None) -> bool:
    """Whether there is one to be opened."""
    return bool(database) or (data is not None and _file(data).is_file())


@contextmanager
def cloud_database(data: Path | None, database: str | None = None) -> Iterator[Database]:
    """The database that is named, or that of the cloud whose folder is `data`; closed at last.

    Raises:
        MisuseError: none is named, and the folder holds none.
        StoreMismatchError: it holds no tables, or those of another version.
    """
    from cloud_learner.store import Database, sqlite_url

    if not database:
        if data is None or not has_database(data, None):
            raise MisuseError(
                f"{data} holds no cloud database: name another folder with --data, or start "
                "`outrider cloud serve` first"
            )
        database = sqlite_url(_file(data))
    opened = Database(database, migrate=False)
    try:
        yield opened
    finally:
        opened.close()


def _file(data: Path) -> Path:
    from cloud_learner.settings import ServiceSettings

    return ServiceSettings(data_dir=data).cloud_dir / "cloud.db"
