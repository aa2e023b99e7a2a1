"""Recordings: what is written is what is read, and nothing else that anybody may send is."""

import contextlib
import json
import zipfile

import pytest
from hypothesis import given
from hypothesis import strategies as st

from device_runtime.errors import RecordingError
from device_runtime.phone_questions import TREE, Answer
from device_runtime.recording import INDEX_FILE, Recording, read_recording, write_recording

ANSWERS = {
    "wm size": Answer(b"Physical size: 1080x2400\n", b"", 0, 12.5),
    "screencap -p": Answer(b"\x89PNG\r\n\x1a\n\x00\xff", b"", 0, 300.0),
    TREE: Answer(b"UI hierchary dumped to: FILE\n", b"note\n", 0, 2000.0, b"<hierarchy/>"),
    "input keyevent 0": Answer(b"", b"INJECT_EVENTS", 255, 200.0),
    "ime list -s": Answer(file=b""),
}


@pytest.fixture
def path(tmp_path):
    return tmp_path / "phone.zip"


def test_a_recording_is_read_as_it_was_written(path):
    size = write_recording(Recording(1_700_000_000_123, ANSWERS), path)

    read = read_recording(path)

    assert size == path.stat().st_size
    assert read == Recording(1_700_000_000_123, ANSWERS)


def test_the_same_recording_gives_the_same_bytes(path, tmp_path):
    write_recording(Recording(5, ANSWERS), path)
    write_recording(Recording(5, ANSWERS), tmp_path / "again.zip")
    assert path.read_bytes() == (tmp_path / "again.zip").read_bytes()


def changed(path, **fields):
    """Write the recording again with some fields of its index replaced."""
    with zipfile.ZipFile(path) as archive:
        members = {name: archive.read(name) for name in archive.namelist()}
    members[INDEX_FILE] = json.dumps(json.loads(members[INDEX_FILE]) | fields).encode()
    with zipfile.ZipFile(path, "w") as archive:
        for name, data in members.items():
            archive.writestr(name, data)


def entry(**fields):
    return {"command": "id", "exit_code": 0, "elapsed_ms": 1.0, **fields}


@pytest.mark.parametrize(
    "fields",
    [
        {"format": "something"},
        {"version": 2},
        {"made_at_ms": -1},
        {"made_at_ms": "now"},
        {"answers": None},
        {"answers": [entry(exit_code=256)]},
        {"answers": [entry(command="two\nlines")]},
        {"answers": [entry(command="x" * 201)]},
        {"answers": [entry(stdout="../../etc/passwd")]},
        {"answers": [entry(stdout="999.out")]},
        {"answers": [entry(stdout="000.out", stderr="000.out")]},
        {"answers": [entry(command=f"c{number}") for number in range(257)]},
    ],
)
def test_an_index_that_no_recording_has_is_refused(path, fields):
    write_recording(Recording(1, ANSWERS), path)
    changed(path, **fields)
    with pytest.raises(RecordingError):
        read_recording(path)


def test_a_bomb_is_refused_before_it_is_unpacked(path):
    write_recording(Recording(1, ANSWERS), path)
    with zipfile.ZipFile(path, "a", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("900.out", b"\0" * (65 * 1024**2))
    with pytest.raises(RecordingError, match="more than"):
        read_recording(path)


@pytest.mark.parametrize("cut", [0, 1, 100, -1, -30])
def test_a_cut_off_file_is_refused(path, cut):
    write_recording(Recording(1, ANSWERS), path)
    path.write_bytes(path.read_bytes()[:cut])
    with pytest.raises(RecordingError):
        read_recording(path)


def test_a_missing_file_and_a_folder_are_refused(path, tmp_path):
    for place in (path, tmp_path):
        with pytest.raises(RecordingError, match="cannot be read"):
            read_recording(place)


def test_a_place_that_cannot_be_written_is_named(tmp_path):
    with pytest.raises(RecordingError, match="cannot be written"):
        write_recording(Recording(1, {}), tmp_path / "absent" / "phone.zip")


@given(data=st.binary(max_size=400), at=st.integers(0, 5000))
def test_no_bytes_make_reading_raise_anything_else(tmp_path_factory, data, at):
    path = tmp_path_factory.getbasetemp() / "damaged.zip"
    write_recording(Recording(1, ANSWERS), path)
    whole = bytearray(path.read_bytes())
    place = at % len(whole)
    whole[place : place + len(data)] = data
    path.write_bytes(whole)
    with contextlib.suppress(RecordingError):
        assert isinstance(read_recording(path), Recording)
