"""What a release says of itself, and which release may follow which."""

import dataclasses
import io
import json
import zipfile

import pytest

from sync.errors import RejectedError
from sync.releases import (
    Bundle,
    ChannelPointer,
    Reason,
    pointer_from_json,
    pointer_to_json,
    read_bundle,
    release_from_json,
    release_to_json,
    require_channel,
    require_fits,
    require_newer,
    roll_back_of,
    write_bundle,
)
from sync.vocabulary import Evaluation, Release, ReleaseId, Split

RELEASE = Release(
    id=ReleaseId("r7"),
    version=7,
    base_digest="b" * 64,
    adapter_digest="a" * 64,
    adapter_size_bytes=100,
    policy_io_version="1",
    parent="r6",
    evaluations=(Evaluation(suite="tickets", split=Split.VALIDATION, n=80, successes=50),),
    extra={"why": "größer"},
)
BUNDLE = Bundle(
    description=release_to_json(RELEASE),
    adapter=b"adapter",
    metadata={"metadata/timestamp.json": b"{}", "metadata/1.root.json": b"{}"},
)


def reason_of(call, *args, **options):
    with pytest.raises(RejectedError) as caught:
        call(*args, **options)
    return caught.value.reason


def changed(**fields):
    return dataclasses.replace(RELEASE, **fields)


def test_a_release_comes_back_from_its_description():
    assert release_from_json(release_to_json(RELEASE)) == RELEASE


def test_the_description_is_canonical():
    text = release_to_json(RELEASE)
    assert text == json.dumps(json.loads(text), sort_keys=True, separators=(",", ":")).encode()
    assert text.isascii()


def test_fields_of_a_later_program_are_passed_over():
    document = json.loads(release_to_json(RELEASE))
    document["release"]["trained_on"] = "moon"
    document["approved_by"] = ["x"]
    assert release_from_json(json.dumps(document).encode()) == RELEASE


@pytest.mark.parametrize(
    "fields",
    [
        {"id": "../up"},
        {"id": ""},
        {"id": "a" * 65},
        {"version": 0},
        {"adapter_size_bytes": 0},
        {"base_digest": "B" * 64},
        {"adapter_digest": "a" * 63},
    ],
)
def test_a_release_that_no_phone_would_take_is_never_described(fields):
    assert reason_of(release_to_json, changed(**fields)) == Reason.MALFORMED


@pytest.mark.parametrize(
    "data",
    [b"", b"[]", b"{", b"\xff", b"[" * 60_000, b'{"schema_version":2,"release":{}}', b"null"],
)
def test_what_is_no_description_is_malformed(data):
    assert reason_of(release_from_json, data) == Reason.MALFORMED


def test_a_description_without_end_is_too_large():
    assert reason_of(release_from_json, b" " * 70_000) == Reason.TOO_LARGE


def test_a_description_of_a_later_form_is_refused():
    document = json.loads(release_to_json(RELEASE)) | {"schema_version": 2}
    assert reason_of(release_from_json, json.dumps(document).encode()) == Reason.MALFORMED


def test_a_channel_pointer_comes_back():
    pointer = ChannelPointer(channel="canary", release_id=ReleaseId("r7"), version=7)
    assert pointer_from_json(pointer_to_json(pointer)) == pointer


def test_a_pointer_out_of_the_repository_is_malformed():
    pointer = ChannelPointer(channel="canary", release_id=ReleaseId("../r7"), version=7)
    assert reason_of(pointer_from_json, pointer_to_json(pointer)) == Reason.MALFORMED


def test_an_unknown_channel_is_misuse():
    with pytest.raises(ValueError, match="canary, beta, stable"):
        require_channel("gamma")


def test_a_fitting_release_passes():
    require_fits(RELEASE, base_digest="b" * 64, policy_io_version="1")


def test_another_base_is_a_base_mismatch():
    reason = reason_of(require_fits, RELEASE, base_digest="c" * 64, policy_io_version="1")
    assert reason == Reason.BASE_MISMATCH


def test_a_phone_without_a_base_takes_nothing():
    reason = reason_of(require_fits, RELEASE, base_digest="", policy_io_version="1")
    assert reason == Reason.BASE_MISMATCH


def test_another_encoding_is_a_policy_io_mismatch():
    reason = reason_of(require_fits, RELEASE, base_digest="b" * 64, policy_io_version="2")
    assert reason == Reason.POLICY_IO_MISMATCH


@pytest.mark.parametrize(
    ("installed", "floor"),
    [(None, 0), (None, 7), (changed(version=6, id="r6"), 6), (RELEASE, 7), (RELEASE, 0)],
)
def test_a_newer_or_the_very_same_release_may_follow(installed, floor):
    require_newer(RELEASE, installed=installed, floor=floor)


@pytest.mark.parametrize(
    ("installed", "floor"),
    [
        (None, 8),
        (changed(version=8, id="r8"), 8),
        (changed(version=8, id="r8"), 0),
        (changed(id="other"), 7),
        (changed(version=6, id="r6"), 9),
    ],
)
def test_an_older_or_contradicting_release_may_not_follow(installed, floor):
    reason = reason_of(require_newer, RELEASE, installed=installed, floor=floor)
    assert reason == Reason.OLDER_VERSION


def test_a_roll_back_is_a_new_version_with_the_old_adapter():
    back = roll_back_of(RELEASE, new_id=ReleaseId("r9"), version=9, now_ms=5)
    assert (back.id, back.version, back.created_at_ms) == ("r9", 9, 5)
    assert back.adapter_digest == RELEASE.adapter_digest
    assert back.extra["rolls_back_to"] == "r7"
    require_newer(back, installed=changed(id="r8", version=8), floor=8)


def test_a_roll_back_to_no_higher_version_is_misuse():
    with pytest.raises(ValueError):
        roll_back_of(RELEASE, new_id=ReleaseId("r9"), version=7, now_ms=5)


def test_a_bundle_comes_back_from_its_zip(tmp_path):
    path = tmp_path / "any name.zip"
    path.write_bytes(write_bundle(BUNDLE))
    found = read_bundle(path)
    assert (found.description, found.adapter, dict(found.metadata)) == (
        BUNDLE.description,
        BUNDLE.adapter,
        BUNDLE.metadata,
    )
    assert found.release() == RELEASE


def test_the_same_bundle_gives_the_same_zip():
    turned = dataclasses.replace(BUNDLE, metadata=dict(reversed(BUNDLE.metadata.items())))
    assert write_bundle(turned) == write_bundle(BUNDLE)


def zip_of(tmp_path, entries, **options):
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w", **options) as archive:
        for name, data in entries:
            archive.writestr(name, data)
    path = tmp_path / "made.zip"
    path.write_bytes(buffer.getvalue())
    return path


ENTRIES = [
    ("release.json", BUNDLE.description),
    ("adapter.bin", BUNDLE.adapter),
    ("metadata/timestamp.json", b"{}"),
]


def test_strange_entries_are_passed_over(tmp_path):
    strange = [("../../etc/passwd", b"x"), ("metadata/evil.sh", b"x"), ("README", b"x")]
    found = read_bundle(zip_of(tmp_path, [*ENTRIES, *strange]))
    assert set(found.metadata) == {"metadata/timestamp.json"}


@pytest.mark.parametrize("missing", range(3))
def test_a_bundle_without_one_of_its_parts_is_malformed(tmp_path, missing):
    entries = [entry for at, entry in enumerate(ENTRIES) if at != missing]
    assert reason_of(read_bundle, zip_of(tmp_path, entries)) == Reason.MALFORMED


@pytest.mark.filterwarnings("ignore:Duplicate name")
def test_an_entry_that_occurs_twice_is_malformed(tmp_path):
    path = zip_of(tmp_path, [*ENTRIES, ("adapter.bin", b"other")])
    assert reason_of(read_bundle, path) == Reason.MALFORMED


def test_a_zip_bomb_is_too_large_before_it_is_inflated(tmp_path):
    entries = [*ENTRIES[:1], ("adapter.bin", bytes(65 * 1024 * 1024)), ENTRIES[2]]
    path = zip_of(tmp_path, entries, compression=zipfile.ZIP_DEFLATED)
    assert path.stat().st_size < 1_000_000
    assert reason_of(read_bundle, path) == Reason.TOO_LARGE


def test_too_many_entries_are_too_large(tmp_path):
    entries = [*ENTRIES, *((f"x{at}", b"") for at in range(400))]
    assert reason_of(read_bundle, zip_of(tmp_path, entries)) == Reason.TOO_LARGE


@pytest.mark.parametrize("data", [b"", b"not a zip", b"PK\x03\x04" + bytes(60)])
def test_what_is_no_zip_is_malformed(tmp_path, data):
    path = tmp_path / "r7.zip"
    path.write_bytes(data)
    assert reason_of(read_bundle, path) == Reason.MALFORMED


def test_bytes_flipped_in_the_file_are_noticed_by_the_zip_itself(tmp_path):
    data = write_bundle(BUNDLE)
    path = tmp_path / "r7.zip"
    path.write_bytes(
        data.replace(b"adapter", b"ADAPTER", 2).replace(b"ADAPTER.bin", b"adapter.bin")
    )
    assert reason_of(read_bundle, path) == Reason.TAMPERED


def test_every_reason_is_explained_to_the_operator(root):
    page = (root / "docs" / "releases.md").read_text(encoding="utf-8")
    assert [reason for reason in Reason if f"| `{reason}` |" not in page] == []
