"""An independent client, adbutils, sees a phone: what it parses is what the mock prints."""

from __future__ import annotations

import adbutils
import pytest

from apps_mock.adb_clone import AdbClone
from apps_mock.catalogue import LOCALES
from apps_mock.look import draw_look, look_number
from sync.vocabulary import Assignment, AssignmentId, Split


@pytest.fixture(scope="module")
def clone(tmp_path_factory):
    clone = AdbClone(tmp_path_factory.mktemp("adb"))
    clone.start()
    yield clone
    clone.close()


@pytest.fixture
def size(clone):
    """Of the clone's screen, in pixels."""
    info = clone.phone.info()
    return info.width_px, info.height_px


@pytest.fixture
def device(clone):
    clone.reset(Assignment(AssignmentId("a"), template="contacts_search", seed=1))
    return adbutils.AdbClient(port=clone.server.port).device(clone.daemon.serial)


def test_it_reads_size_model_and_foreground(device, size):
    assert tuple(device.window_size()) == size
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


def test_it_takes_screenshots(device, size):
    assert device.screenshot(error_ok=False).size == size


def test_it_holds_a_field_and_pulls_the_shade(device, clone):
    device.app_start("org.outrider.clones.contacts")
    field = next(each for each in clone.observe().elements if each.editable)
    left, top, right, bottom = field.bounds
    x, y = (left + right) // 2, (top + bottom) // 2
    device.click(x, y)
    device.send_keys("Anna")

    device.shell(f"input swipe {x} {y} {x} {y} 800")
    assert clone.phone.state.overlay.kind == "text_menu"
    device.keyevent("BACK")

    device.shell("cmd statusbar expand-notifications")
    assert clone.observe().activity.endswith("ShadeActivity")
    device.shell("cmd statusbar collapse")
    assert clone.observe().package == "org.outrider.clones.contacts"


@pytest.mark.parametrize("locale", LOCALES)
def test_it_reads_density_and_locale_of_the_look(device, clone, locale):
    look = look_number(locale, 5)
    clone.reset(Assignment(AssignmentId("a"), template="contacts_search", seed=1, look=look))

    assert device.prop.get("persist.sys.locale") == locale
    density = round(draw_look(Split.TRAIN, look).density * 160)
    assert device.shell("wm density") == f"Physical density: {density}"


def test_it_pushes_lists_and_pulls(device, tmp_path):
    device.sync.push(b"x" * 100_000, "/sdcard/Download/x.bin")

    assert [entry.path for entry in device.sync.list("/sdcard/Download")] == ["x.bin"]
    assert device.sync.pull("/sdcard/Download/x.bin", tmp_path / "x.bin") == 100_000
    assert (tmp_path / "x.bin").read_bytes() == b"x" * 100_000


def test_it_lists_the_installed_apps(device):
    assert "org.outrider.clones.contacts" in device.list_packages()
