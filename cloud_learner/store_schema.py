"""The version of the cloud database's tables: brought up to date by one, checked by the others."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from importlib.resources import as_file, files

from alembic import command
from alembic.config import Config
from alembic.runtime.migration import MigrationContext
from alembic.script import ScriptDirectory
from sqlalchemy import Engine
from sqlalchemy.exc import DBAPIError

from cloud_learner.errors import StoreMismatchError
from cloud_learner.store_engine import WRITES


def migrate(engine: Engine) -> None:
    """Bring the tables to this version, in one transaction.

    Raises: StoreMismatchError: they are of a newer version.
    """
    with _config() as config, engine.connect() as connection:
        config.attributes["connection"] = connection.execution_options(**{WRITES: True})
        try:
            command.upgrade(config, "head")
        except DBAPIError:
            raise
        except Exception as error:  # alembic has no common error
            raise StoreMismatchError(
                f"the cloud database cannot be upgraded ({error}); use the version that wrote it"
            ) from error


def check(engine: Engine) -> None:
    """See that the tables are of this version.

    Raises: StoreMismatchError: there are none, or they are of another version.
    """
    with _config() as config, engine.connect() as connection:
        found = MigrationContext.configure(connection).get_current_revision()
        scripts = ScriptDirectory.from_config(config)
        known = [one.revision for one in scripts.walk_revisions()]  # newest first
    if found == known[0]:
        return
    if found is None:
        raise StoreMismatchError(
            "the cloud database holds no tables yet; start `outrider cloud serve` on it first"
        )
    if found in known:
        raise StoreMismatchError(
            f"the cloud database is of the older version {found}; start this version's "
            "`outrider cloud serve` on it first, which brings it up to date"
        )
    raise StoreMismatchError(
        f"the cloud database is of version {found}, which is not known here; use the version that "
        "wrote it"
    )


@contextmanager
def _config() -> Iterator[Config]:
    with as_file(files("cloud_learner") / "migrations") as scripts:
        config = Config()
        config.set_main_option("script_location", str(scripts))
        yield config
