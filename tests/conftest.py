"""What every test may ask for: requirements that CI must meet, shared data, a moment in time."""

from __future__ import annotations

import os
import signal
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from hypothesis import settings

from tests.postgresql import PostgresServer, start_server

# Whoever runs the tests in the background ignores Ctrl-C; children would inherit that, and those
# that a test interrupts would never end.
signal.signal(signal.SIGINT, signal.default_int_handler)

ROOT = Path(__file__).resolve().parent.parent

settings.register_profile("default", deadline=None, max_examples=50)
settings.load_profile("default")


def require(condition: object, reason: str) -> None:
    """Go on where `condition` holds; else skip, or fail in CI, where nothing may be missing."""
    if condition:
        return
    if os.environ.get("CI"):
        pytest.fail(f"CI must have this: {reason}", pytrace=False)
    pytest.skip(reason)


@pytest.fixture(name="require")
def require_fixture() -> Callable[[object, str], None]:
    """`require(condition, reason)`: skip outside CI, fail in CI."""
    return require


@pytest.fixture(scope="session")
def root() -> Path:
    """The repository's root."""
    return ROOT


@pytest.fixture(scope="session")
def shared_data() -> Path:
    """The folder with dumps and task lists that lies beside the repository."""
    folder = ROOT.parent / "shared" / "data"
    require(folder.is_dir(), "the folder ../shared/data is missing beside the repository")
    return folder


@pytest.fixture(scope="session")
def postgres_server() -> Iterator[PostgresServer]:
    """A PostgreSQL server of our own; skipped where none is installed, and in CI one is."""
    server = start_server(require)
    yield server
    server.remove()


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Tests carry the marker of the folder that they lie in."""
    for item in items:
        folder = item.path.relative_to(ROOT / "tests").parts[0]
        if folder in {"integration", "e2e", "faults"}:
            item.add_marker(folder)
