"""What this machine has of what outrider needs, and what to do about the rest."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
import sysconfig
from importlib.util import find_spec
from pathlib import Path

from outrider.findings import Finding, advice, fault, fine

OLDEST_PYTHON = (3, 11)
OLDEST_ADB = 39
"""The last part of "1.0.39", the first whose servers know all that the runtime asks for."""
LEAST_FREE_BYTES = 2 * 1024**3
EXTRAS = {
    "device": ("onnxruntime", "PIL"),
    "cloud": ("torch", "peft", "fastapi", "sqlalchemy", "onnx"),
    "clones": ("gymnasium", "PIL"),
}
_VERSION_S = 10.0
_ADB_VERSION = re.compile(r"Android Debug Bridge version (\d+\.\d+\.(\d+))")
_ADB_BUILD = re.compile(r"^Version (\S+)", re.MULTILINE)


def machine_findings(data: Path) -> list[Finding]:
    """What each check found, in the order in which one would repair things.

    A machine that only drives phones is well without the parts of the cloud and of the clones.
    """
    extras = (_extra(extra) for extra in EXTRAS)
    return [_python(), *extras, _broker(), adb_program(), _threads(), _disk(data)]


def adb_program() -> Finding:
    """Whether there is an adb program that the runtime can use."""
    from device_runtime.adb_server_process import find_adb
    from device_runtime.errors import SettingsError

    try:
        path = find_adb()
    except SettingsError as error:
        return fault(
            "adb",
            str(error).partition(";")[0],
            "pip install 'outrider[device]', or install platform-tools",
        )
    if not os.access(path, os.X_OK):
        return fault("adb", f"{path} cannot be run", "pip install --force-reinstall adbutils")
    said = _said_by(path)
    version = _ADB_VERSION.search(said)
    if version is None:
        return fault("adb", f"{path.name} does not run: {said[:80]}", "install platform-tools anew")
    build = _ADB_BUILD.search(said)
    found = f"{version[1]}{f' ({build[1]})' if build else ''}"
    if int(version[2]) < OLDEST_ADB:
        return fault("adb", f"{found} is too old", "install newer platform-tools")
    return fine("adb", found)


def protocol_of(adb: Finding) -> int | None:
    """The number that an adb program and its server compare; None where there is no program."""
    match = re.match(r"\d+\.\d+\.(\d+)", adb.found)
    return int(match[1]) if match else None


def _said_by(path: Path) -> str:
    try:
        done = subprocess.run(
            [str(path), "version"],
            capture_output=True,
            text=True,
            timeout=_VERSION_S,
            check=False,
            stdin=subprocess.DEVNULL,
        )
    except (OSError, subprocess.TimeoutExpired) as error:
        return str(error)
    return done.stdout or done.stderr


def _python() -> Finding:
    found = ".".join(str(part) for part in sys.version_info[:3])
    if sys.version_info >= OLDEST_PYTHON:
        return fine("python", found)
    return fault("python", found, "install Python 3.11 or newer, then run make setup")


def _extra(extra: str) -> Finding:
    absent = [module for module in EXTRAS[extra] if find_spec(module) is None]
    if not absent:
        return fine(f"extra {extra}", "complete")
    judged = fault if extra == "device" else advice
    return judged(
        f"extra {extra}", f"lacks {', '.join(absent)}", f"pip install 'outrider[{extra}]'"
    )


def _broker() -> Finding:
    path = Path(sysconfig.get_path("scripts")) / "nats-server"
    if os.access(path, os.X_OK):
        return fine("broker", path.name)
    return advice("broker", "absent", "pip install 'outrider[cloud]'")


def _threads() -> Finding:
    cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count()
    asked = os.environ.get("OMP_NUM_THREADS", "unset")
    return fine("threads", f"{cores} cores, OMP_NUM_THREADS {asked}")


def _disk(data: Path) -> Finding:
    existing = next(path for path in (data.resolve(), *data.resolve().parents) if path.exists())
    free = shutil.disk_usage(existing).free
    found = f"{free / 1024**3:.1f} GiB free"
    if free >= LEAST_FREE_BYTES:
        return fine("disk", found)
    return fault("disk", found, "free some disk, or choose another --data folder")
