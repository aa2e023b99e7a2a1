"""Which database a fleet's cloud has: what a command says, or the environment, or its folder."""

from __future__ import annotations

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


def has_database(data: Path, database: str | None) -> bool:
    """Whether there is one to be opened."""
    return database is not None or _file(data).is_file()


@contextmanager
def cloud_database(data: Path, database: str | None = None) -> Iterator[Database]:
    """The database of the cloud whose folder is `data`, or the one that is named; closed at last.

    Raises:
        MisuseError: none is named, and the folder holds none.
        StoreMismatchError: it holds no tables, or those of another version.
    """
    from cloud_learner.store import Database, sqlite_url

    if not has_database(data, database):
        raise MisuseError(
            f"{data} holds no cloud database: name another folder with --data, or start "
            "`outrider cloud serve` first"
        )
    opened = Database(database or sqlite_url(_file(data)), migrate=False)
    try:
        yield opened
    finally:
        opened.close()


def _file(data: Path) -> Path:
    from cloud_learner.settings import ServiceSettings

    return ServiceSettings(data_dir=data).cloud_dir / "cloud.db"
