"""What the device extra costs and whether it decides alike: one JSON line.

    python benchmarks/bench_install.py [--every | --python P …] [--onnxruntime V …] [--venvs DIR]

For each Python and each onnxruntime a fresh virtual environment gets this repository's wheel with
`[device]` and nothing else: no torch, no test tools. There `outrider bench policy` decides 200
made-up screens, and `outrider do` plays a goal on a mock phone over a real adb server that this
process holds. Figures: MiB of the environment without pip, MiB resident at most (VmHWM of the
playing process alone), the digest of all decisions, and whether it is the same everywhere.
"""

from __future__ import annotations

import argparse
import json
import os
import platform
import re
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

from apps_mock.adb_clone import AdbClone
from apps_mock.own_goals import OwnGoalPhone
from sync.vocabulary import Assignment, AssignmentId

ROOT = Path(__file__).resolve().parent.parent
GOAL = "Open the settings"
MIB = 1024**2
MINORS = range(11, 15)
"""Python 3.11 to 3.14."""
COUNTED = r"""
import json, os, re, sys
from outrider.cli import run
code = run(sys.argv[1:])
with open("/proc/self/status") as status:
    peak = re.search(r"VmHWM:\s*(\d+)", status.read())
os.write(2, json.dumps(["peak_kib", int(peak[1])]).encode())
sys.exit(code)
"""
"""Runs a command and says how much memory its process ever had: `ru_maxrss` of a child holds its
parent's as well."""


def main() -> None:
    """Measure every combination and print the line."""
    options = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else "")
    options.add_argument("--python", action="append", help="an interpreter; this one by default")
    options.add_argument("--every", action="store_true", help="each Python 3.11 to 3.14 here")
    options.add_argument("--onnxruntime", action="append", help="a version beside the pinned one")
    options.add_argument("--venvs", type=Path, help="keep and reuse the environments here")
    wanted = options.parse_args()
    named = [Path(each) for each in wanted.python or [sys.executable]]
    pythons = pythons_here() if wanted.every else named
    with tempfile.TemporaryDirectory(prefix="outrider-install-") as folder:
        venvs = wanted.venvs or Path(folder)
        wheel = built_wheel(Path(folder))
        with mock_phone(Path(folder) / "adb") as (serial, port):
            rows = [
                measured(installed(python, runtime, wheel, venvs), serial=serial, port=port)
                for python in pythons
                for runtime in [None, *(wanted.onnxruntime or [])]
            ]
    alike = len({row["decisions"] for row in rows}) == 1
    print(
        json.dumps({"what": "install", "machine": platform.machine(), "alike": alike, "rows": rows})
    )


def pythons_here() -> list[Path]:
    """One interpreter of each version that this machine has and that can make environments."""
    found: list[Path] = []
    for minor in MINORS:
        named = [shutil.which(f"python3.{minor}"), sys.executable]
        kept = sorted(Path.home().glob(f".pyenv/versions/3.{minor}.*/bin/python"), reverse=True)
        candidates = [*kept, *(Path(each) for each in named if each)]
        found += [each for each in candidates if makes_environments(each, minor)][:1]
    return found


def makes_environments(python: Path, minor: int) -> bool:
    """Whether this is a Python 3.`minor` with what virtual environments need."""
    script = f"import ensurepip, sys; sys.exit(sys.version_info[:2] != (3, {minor}))"
    try:
        ran = subprocess.run([str(python), "-c", script], capture_output=True, check=False)
    except OSError:
        return False
    return ran.returncode == 0


def built_wheel(folder: Path) -> Path:
    """This repository's wheel, from the files that are under version control."""
    source = folder / "source"
    source.mkdir()
    packed = subprocess.run(
        ["git", "archive", "HEAD"], cwd=ROOT, capture_output=True, check=True
    ).stdout
    subprocess.run(["tar", "-x", "-C", str(source)], input=packed, check=True)
    pip = [sys.executable, "-m", "pip", "wheel", "--quiet", "--no-deps"]
    subprocess.run([*pip, "--wheel-dir", str(folder), str(source)], check=True)
    return next(folder.glob("outrider-*.whl"))


def installed(python: Path, runtime: str | None, wheel: Path, venvs: Path) -> Path:
    """An environment with the device extra, made where it is not there yet."""
    version = subprocess.run(
        [str(python), "-c", "import platform; print(platform.python_version())"],
        capture_output=True, text=True, check=True,
    ).stdout.strip()  # fmt: skip
    venv = venvs / f"{version}-{runtime or 'pinned'}"
    pip = [str(venv / "bin" / "python"), "-m", "pip", "install", "--quiet"]
    if not venv.exists():
        subprocess.run([str(python), "-m", "venv", str(venv)], check=True)
        lock = ["--constraint", str(ROOT / "requirements.lock")]
        subprocess.run([*pip, *lock, f"{wheel}[device]"], check=True)
        if runtime is not None:
            subprocess.run([*pip, "--no-deps", f"onnxruntime=={runtime}"], check=True)
    subprocess.run([*pip, "--no-deps", "--force-reinstall", str(wheel)], check=True)
    return venv


@contextmanager
def mock_phone(folder: Path) -> Iterator[tuple[str, int]]:
    """A phone with every clone behind an adb server: its serial, and the server's port."""
    clone = AdbClone(folder, phone=OwnGoalPhone())
    clone.start()
    try:
        clone.reset(Assignment(AssignmentId("bench"), goal=GOAL, seed=1))
        yield clone.daemon.serial, clone.server.port
    finally:
        clone.close()


def measured(venv: Path, *, serial: str, port: int) -> dict[str, object]:
    """Size, memory and decisions of one environment."""
    script = (
        "import onnxruntime, platform; print(platform.python_version(), onnxruntime.__version__)"
    )
    versions = run(venv, ["-c", script]).stdout.split()
    bench = run(venv, ["-m", "outrider", "bench", "policy", "--actions", "200", "--json"])
    phone = ["--serial", serial, "--adb-port", str(port), "--yes", "--steps", "8", "--json"]
    played = run(venv, ["-c", COUNTED, "do", GOAL, *phone])
    peak = re.search(r'\["peak_kib", (\d+)\]', played.stderr)
    assert peak is not None
    return {
        "python": versions[0],
        "onnxruntime": versions[1],
        "size_mib": round(size_of(venv) / MIB),
        "peak_rss_mib": round(int(peak[1]) / 1024),
        "end_reason": json.loads(played.stdout.splitlines()[-1])["end_reason"],
        "decisions": json.loads(bench.stdout.splitlines()[-1])["decisions"],
        "has_torch": any(venv.glob("lib/python*/site-packages/torch")),
    }


def run(venv: Path, arguments: Sequence[str]) -> subprocess.CompletedProcess[str]:
    """What the environment's Python printed."""
    ran = subprocess.run(
        [str(venv / "bin" / "python"), *arguments],
        cwd=venv, env={**os.environ, "OMP_NUM_THREADS": "1"}, capture_output=True, text=True,
        check=False,
    )  # fmt: skip
    if ran.returncode != 0:
        raise SystemExit(f"{' '.join(arguments)} ended with {ran.returncode}: {ran.stderr}")
    return ran


def size_of(venv: Path) -> int:
    """Bytes of the installed packages, pip not among them."""
    return sum(
        path.lstat().st_size
        for path in venv.glob("lib/python*/site-packages/**/*")
        if path.is_file() and not path.parts[len(venv.parts) + 3].startswith("pip")
    )


if __name__ == "__main__":
    main()
