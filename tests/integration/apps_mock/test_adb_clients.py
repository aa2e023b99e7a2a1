"""An independent client, adbutils, sees a phone: what it parses is what the mock prints."""

from __future__ import annotations

import adbutils
import pytest

from apps_mock.adb_clone import AdbClone
from sync.vocabulary import Assignment, AssignmentId


@pytest.fixture(scope="module")
def clone(tmp_path_factory):
    clone = AdbClone(tmp_path_factory.mktemp("adb"))
    clone.start()
    yield clone
    clone.close()


@pytest.fixture
def device(clone):
    clone.reset(Assignment(AssignmentId("a"), template="contacts_search", seed=1))
    return adbutils.AdbClient(port=clone.server.port).device(clone.daemon.serial)


def test_it_reads_size_model_and_foreground(device):
    assert tuple(device.window_size()) == (1080, 2400)
    assert device.prop.model == "Clone 1"
    assert device.app_current().package == "org.outrider.clones.launcher"


def test_it_runs_commands_in_both_framings(device):
    assert device.shell("echo hello") == "hello"
    assert device.shell2("exit 3", v2=True).returncode == 3
    assert device.shell2("nope", v2=False).returncode == 127


def test_it_dumps_clicks_and_types(device, clone):
    device.app_start("org.outrider.clones.contacts")
    field = next(each for each in clone.observe().elements if each.editable)
    left, top, right, bottom = field.bounds

    device.click((left + right) // 2, (top + bottom) // 2)
    device.send_keys("Anna Berg")

    assert 'text="Anna Berg"' in device.dump_hierarchy()
    assert clone.observe().keyboard_shown


def test_it_takes_screenshots(device):
    assert device.screenshot(error_ok=False).size == (1080, 2400)


def test_it_pushes_lists_and_pulls(device, tmp_path):
    device.sync.push(b"x" * 100_000, "/sdcard/Download/x.bin")

    assert [entry.path for entry in device.sync.list("/sdcard/Download")] == ["x.bin"]
    assert device.sync.pull("/sdcard/Download/x.bin", tmp_path / "x.bin") == 100_000
    assert (tmp_path / "x.bin").read_bytes() == b"x" * 100_000


def test_it_lists_the_installed_apps(device):
    assert "org.outrider.clones.contacts" in device.list_packages()
