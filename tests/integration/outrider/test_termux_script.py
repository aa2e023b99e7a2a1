"""The script for phones that run Outrider themselves, with stand-ins for Termux's programs.

It shows what the script asks for and in which order; it was not run on a phone.
"""

import os
import shutil
import subprocess

import pytest

BASH = shutil.which("bash")


@pytest.fixture(autouse=True)
def _bash(require):
    require(BASH, "the script needs bash")


@pytest.fixture
def termux(root, tmp_path):
    """`termux(*words)`: run the script; `.stub(name, body)` makes a program, `.calls()` tells."""
    return Termux(root / "deploy" / "termux.sh", tmp_path)


class Termux:
    def __init__(self, script, folder):
        self.script, self.folder = script, folder
        self.bin = folder / "bin"
        self.bin.mkdir()
        for tool in "bash dirname mktemp grep rm awk mkdir chmod sleep cat env".split():
            (self.bin / tool).symlink_to(shutil.which(tool))
        self.home = folder / "home"
        self.home.mkdir()

    def stub(self, name, body="true"):
        path = self.bin / name
        path.unlink(missing_ok=True)
        log = self.folder / "calls"
        path.write_text(f'#!{BASH}\necho "{name} $*" >>{log}\n{body}\n')
        path.chmod(0o755)

    def calls(self):
        log = self.folder / "calls"
        return log.read_text().splitlines() if log.exists() else []

    def __call__(self, *words):
        return subprocess.run(
            [BASH, str(self.script), *words],
            env={"PATH": str(self.bin), "HOME": str(self.home), "LC_ALL": "C"},
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            timeout=30,
            check=False,
        )


def connected(termux, serial="127.0.0.1:5555"):
    termux.stub("adb", f'[ "$1" = devices ] && printf "List\\n{serial}\\tdevice\\n"; true')


def test_the_script_is_one_that_bash_reads(termux):
    done = subprocess.run([BASH, "-n", termux.script], capture_output=True, check=False)
    assert (done.returncode, done.stderr) == (0, b"")
    assert os.access(termux.script, os.X_OK)


@pytest.mark.parametrize("words", [[], ["dance"], ["pair"], ["pair", "x", "1"], ["connect", "70k"]])
def test_misuse_is_one_line_and_code_2(termux, words):
    termux.stub("adb")
    done = termux(*words)
    assert done.returncode == 2
    assert done.stderr.count("\n") == 1
    assert done.stderr.startswith("error: ")


def test_outside_termux_nothing_is_installed(termux):
    termux.stub("pip")
    done = termux("install")
    assert done.returncode == 1
    assert "run this in Termux" in done.stderr
    assert not termux.calls()


def test_what_termux_ships_is_not_built_by_pip(termux):
    termux.stub("pkg")
    termux.stub("pip", f'[ "$2" = --constraint ] && cat "$3" >{termux.folder}/pins; true')
    termux.stub("python")
    done = termux("install")
    assert done.returncode == 0, done.stderr
    pkg, needed, own, check = termux.calls()
    assert pkg.startswith("pkg install -y python python-numpy python-pillow python-onnxruntime")
    built = ("numpy", "pillow", "onnxruntime", "cryptography", "adbutils")
    assert not any(name in needed for name in built)
    assert own.startswith("pip install --no-deps ")
    assert check.startswith("python -c")
    pins = (termux.folder / "pins").read_text().splitlines()
    assert any(line.startswith("msgspec==") for line in pins)
    assert not any(line.startswith(("numpy==", "onnxruntime==", "pillow==")) for line in pins)


def test_what_rust_has_to_build_is_told_the_phones_android(termux):
    termux.stub("pkg")
    termux.stub("python")
    termux.stub("getprop", '[ "$1" = ro.build.version.sdk ] && echo 34')
    termux.stub("pip", f'echo "$ANDROID_API_LEVEL" >>{termux.folder}/level')
    assert termux("install").returncode == 0
    assert {"rust", "binutils"} <= set(termux.calls()[0].split())
    assert (termux.folder / "level").read_text().split() == ["34", "34"]


def test_every_package_that_the_runtime_depends_on_is_installed(termux, root):
    import re
    import tomllib

    project = tomllib.loads((root / "pyproject.toml").read_text())["project"]
    device = [*project["dependencies"], *project["optional-dependencies"]["device"]]
    names = {re.split(r"[=\[<>]", line)[0] for line in device}
    text = termux.script.read_text()
    for name in names - {"adbutils"}:  # the adb program is Termux's
        assert re.search(rf"\b(python-)?{name}\b", text), name


def test_a_phone_that_is_connected_is_left_so(termux):
    connected(termux)
    done = termux("connect")
    assert done.returncode == 0
    assert done.stdout == "connected: 127.0.0.1:5555\n"
    assert not [call for call in termux.calls() if call.startswith(("adb connect", "adb -s"))]


def test_a_random_port_is_made_a_fixed_one(termux):
    connected(termux, "127.0.0.1:41234")
    assert termux("connect", "41234").returncode == 0
    assert "adb -s 127.0.0.1:41234 tcpip 5555" in termux.calls()


def test_a_phone_that_is_not_there_is_a_failure_with_what_to_do(termux):
    termux.stub("adb")
    termux.stub("sleep")
    termux.stub("getprop", "echo 39999")
    done = termux("connect")
    assert done.returncode == 1
    assert "switch wireless debugging on" in done.stderr
    tried = [call for call in termux.calls() if call.startswith("adb connect")]
    assert tried == ["adb connect 127.0.0.1:5555", "adb connect 127.0.0.1:39999"]


def test_android_is_told_to_leave_termux_alone(termux):
    connected(termux)
    done = termux("protect")
    assert done.returncode == 0, done.stderr
    calls = "\n".join(termux.calls())
    for words in ("whitelist +com.termux", "monitor_phantom_procs false", "max_phantom_processes"):
        assert words in calls


def test_it_runs_as_configured_and_starts_again_after_it_failed(termux):
    connected(termux)
    secret = termux.folder / "secret"
    secret.write_text("x")
    assert termux("configure", "phone-7", "mqtts://b:8883", str(secret)).returncode == 0
    termux.stub("termux-wake-lock")
    termux.stub("sleep")
    flag = termux.folder / "failed"
    termux.stub("outrider", f"[ -e {flag} ] || {{ echo >{flag}; exit 1; }}")
    done = termux("run")
    assert done.returncode == 0, done.stderr
    runs = [call for call in termux.calls() if call.startswith("outrider")]
    assert len(runs) == 2
    wanted = "outrider phone run --serial 127.0.0.1:5555 "
    assert runs[0].startswith(wanted)
    assert runs[0].endswith(f"--id phone-7 --broker mqtts://b:8883 --credentials {secret}")
    assert "sleep 1" in termux.calls()


def test_it_is_not_run_before_it_is_configured(termux):
    done = termux("run")
    assert done.returncode == 1
    assert "configure ID BROKER" in done.stderr


def test_the_boot_script_is_whole_and_private(termux):
    assert termux("boot").returncode == 0
    script = termux.home / ".termux" / "boot" / "outrider"
    assert script.stat().st_mode & 0o777 == 0o700
    assert subprocess.run([BASH, "-n", script], check=False).returncode == 0
    assert "termux.sh run" in script.read_text()


def test_status_tells_what_is_missing(termux):
    termux.stub("adb")
    done = termux("status")
    assert done.returncode == 0
    assert "adb: there" in done.stdout
    assert "outrider: missing" in done.stdout
    assert "phone: not connected" in done.stdout
