"""A PostgreSQL server of the tests' own: a fresh cluster on a socket, and databases in it."""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import tempfile
import time
from collections.abc import Callable
from contextlib import closing, suppress
from itertools import count
from pathlib import Path
from urllib.parse import quote

from cloud_learner.store import Database

PASSWORD = "se/cr@et:100%"  # with every letter that has a meaning in a URL
_USER = "postgres"
_START_S = 60.0
_QUICK = {
    "fsync": "off",
    "full_page_writes": "off",
    "autovacuum": "off",
    "shared_buffers": "16MB",
    "max_connections": "60",
    "listen_addresses": "",
}


def binaries() -> Path | None:
    """Where the server's programs lie; None where it is not installed."""
    found = list(Path("/usr/lib/postgresql").glob("*/bin/initdb"))
    if found:
        return max(found, key=lambda one: float(one.parts[-3])).parent
    on_path = shutil.which("initdb")
    return Path(on_path).resolve().parent if on_path else None


class PostgresServer:
    """One cluster; its databases are reached with a password over a socket in its folder."""

    def __init__(self, programs: Path) -> None:
        self._programs = programs
        self._folder = Path(tempfile.mkdtemp(prefix="outrider-pg-"))
        self._process: subprocess.Popen[bytes] | None = None
        self._names = count(1)
        password_file = self._folder / "password"
        password_file.write_text(PASSWORD + "\n")
        if os.geteuid() == 0:  # the server refuses to run as root
            for path in (self._folder, password_file):
                shutil.chown(path, _USER, _USER)
        options = ["-D", self._data, "-U", _USER, "-A", "scram-sha-256", "-E", "UTF8", "--no-sync"]
        made = subprocess.run(
            self._command("initdb", *options, f"--pwfile={password_file}", "--locale=C.UTF-8"),
            capture_output=True,
            text=True,
            cwd=self._folder,
            check=False,
        )
        assert made.returncode == 0, made.stderr
        self.start()

    @property
    def _data(self) -> Path:
        return self._folder / "data"

    def url(self, name: str, password: str = PASSWORD) -> str:
        """The URL of a database of this cluster."""
        secret = quote(password, safe="")
        return f"postgresql://{_USER}:{secret}@/{name}?host={quote(str(self._folder), safe='')}"

    def start(self) -> None:
        """Start the server and wait until it answers. Idempotent."""
        if self._process is not None:
            return
        settings = {**_QUICK, "unix_socket_directories": str(self._folder)}
        options = [word for name, value in settings.items() for word in ("-c", f"{name}={value}")]
        with (self._folder / "server.log").open("ab") as log:
            self._process = subprocess.Popen(
                self._command("postgres", "-D", self._data, *options),
                stdout=log,
                stderr=log,
                cwd=self._folder,
            )
        deadline_s = time.monotonic() + _START_S
        while not self._answers():
            assert self._process.poll() is None, (self._folder / "server.log").read_text()
            assert time.monotonic() < deadline_s, "the PostgreSQL server does not answer"
            time.sleep(0.02)

    def stop(self, number: signal.Signals = signal.SIGINT) -> None:
        """Stop the server at once, cutting off who uses it; with SIGQUIT as if it had crashed.

        Idempotent.
        """
        if self._process is not None:
            self._process.send_signal(number)
            self._process.wait(30)
            self._process = None

    def remove(self) -> None:
        """Stop the server and remove the cluster."""
        self.stop()
        shutil.rmtree(self._folder, ignore_errors=True)

    def empty(self) -> str:
        """The URL of a new database without tables."""
        name = f"empty_{next(self._names)}"
        self.execute(f"CREATE DATABASE {name}")
        return self.url(name)

    def drop(self, url: str) -> None:
        """Remove a database, cutting off who uses it."""
        name = url.partition("?")[0].rpartition("/")[2]
        self.execute(f"DROP DATABASE {name} WITH (FORCE)")

    def execute(self, statement: str) -> None:
        """Run a statement as the administrator."""
        with closing(self._connect()) as connection:
            connection.execute(statement)

    def _connect(self):
        import psycopg

        return psycopg.connect(
            host=str(self._folder), user=_USER, password=PASSWORD, dbname=_USER, autocommit=True
        )

    def _answers(self) -> bool:
        import psycopg

        with suppress(psycopg.OperationalError), closing(self._connect()):
            return True
        return False

    def _command(self, program: str, *arguments: object) -> list[str]:
        words = [str(self._programs / program), *map(str, arguments)]
        if os.geteuid() != 0:
            return words
        return ["setpriv", f"--reuid={_USER}", f"--regid={_USER}", "--clear-groups", *words]


def start_server(require: Callable[[object, str], None]) -> PostgresServer:
    """A cluster that runs; a test is skipped where there is no server, and fails in CI."""
    programs = binaries()
    require(programs is not None, "PostgreSQL's server is not installed")
    assert programs is not None
    return PostgresServer(programs)


def url_of(database: Database) -> str:
    """By which another process opens the same database, its password in it."""
    return database.engine.url.render_as_string(hide_password=False)
