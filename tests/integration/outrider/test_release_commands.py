"""`release list` and `release apply` on real signed bundles."""

from __future__ import annotations

import json
import shutil
import zipfile
from contextlib import nullcontext
from pathlib import Path

import numpy as np
import pytest
import torch

from device_runtime.installer import enrol
from device_runtime.slots import PhoneBase
from exporters.base import base_digest
from exporters.families.layout_t5 import LayoutT5, LayoutT5Config
from exporters.onnx_graph import export_base
from outrider import cli
from outrider.publisher import sole_publisher
from sync.adapter_file import adapter_digest, pack
from sync.policy_io import POLICY_IO_VERSION
from sync.published import PublishedReleases
from sync.releases import read_bundle
from sync.text_policy_io import AUTOUI
from sync.trust import Repository
from sync.vocabulary import Release, ReleaseId

BASE = PhoneBase(digest="ab" * 32, policy_io_version="1")


def an_adapter(value: float) -> bytes:
    tensors = {"encoder.q.A": np.full((4, 8), value, dtype=np.float32)}
    return pack(tensors, base_digest=BASE.digest, policy_io_version=BASE.policy_io_version)


class Fleet:
    """A repository with releases, and one phone that trusts it."""

    def __init__(self, folder):
        self.folder = folder
        self.phone = folder / "phones" / "p"
        self.repository = Repository.create(folder / "tuf", folder / "keys")
        enrol(self.phone, self.repository.root_bytes, BASE)

    def publish(self, version: int):
        data = an_adapter(version / 10)
        release = Release(
            id=ReleaseId(f"r{version}"),
            version=version,
            base_digest=BASE.digest,
            adapter_digest=adapter_digest(data),
            adapter_size_bytes=len(data),
            policy_io_version=BASE.policy_io_version,
        )
        return self.repository.publish(release, data, "canary")


@pytest.fixture
def fleet(tmp_path):
    return Fleet(tmp_path / "fleet")


def run_json(capsys, *arguments: object):
    code = cli.run([*map(str, arguments), "--json"])
    captured = capsys.readouterr()
    return code, [json.loads(line) for line in captured.out.splitlines()], captured.err


def rewritten(bundle, target, entry: str, change):
    """A copy of a bundle with one entry changed."""
    with zipfile.ZipFile(bundle) as source, zipfile.ZipFile(target, "w") as copy:
        for name in source.namelist():
            data = source.read(name)
            copy.writestr(name, change(data) if name == entry else data)
    return target


def test_a_bundle_is_installed_and_reported_state_by_state(capsys, fleet):
    bundle = fleet.publish(1)
    code, lines, _ = run_json(capsys, "release", "apply", bundle, "--phone", fleet.phone)
    assert code == 0
    states = [line["state"] for line in lines if line["event"] == "transition"]
    assert states[0] == "announced"
    assert states[-1] == "trial"
    assert lines[-1]["event"] == "summary"
    assert lines[-1]["applied"] is True
    assert lines[-1]["installed"]["release_id"] == "r1"


def test_a_tampered_adapter_is_refused_and_the_phone_goes_on(capsys, fleet, tmp_path):
    run_json(capsys, "release", "apply", fleet.publish(1), "--phone", fleet.phone)
    bad = rewritten(
        fleet.publish(2),
        tmp_path / "bad.zip",
        "adapter.bin",
        lambda data: data[:-1] + bytes([data[-1] ^ 1]),
    )
    code, lines, error = run_json(capsys, "release", "apply", bad, "--phone", fleet.phone)
    assert code == 1
    assert lines[-1]["reason"] == "tampered"
    assert lines[-1]["installed"]["release_id"] == "r1"
    assert error.startswith("error: refused (tampered)")
    assert error.count("\n") == 1


def test_another_fleets_release_is_refused_as_signed_with_another_key(capsys, fleet, tmp_path):
    stranger = Fleet(tmp_path / "stranger")
    code, lines, _ = run_json(
        capsys, "release", "apply", stranger.publish(1), "--phone", fleet.phone
    )
    assert code == 1
    assert lines[-1]["reason"] == "wrong_key"
    assert lines[-1]["installed"]["release_id"] == "factory"


def test_an_older_version_is_refused(capsys, fleet):
    older = fleet.publish(1)
    run_json(capsys, "release", "apply", fleet.publish(2), "--phone", fleet.phone)
    code, lines, _ = run_json(capsys, "release", "apply", older, "--phone", fleet.phone)
    assert code == 1
    assert lines[-1]["reason"] == "older_version"
    assert lines[-1]["installed"]["release_id"] == "r2"


def test_a_phone_that_was_never_enrolled_is_one_line(capsys, fleet, tmp_path):
    folder = tmp_path / "fresh"
    folder.mkdir()
    code, lines, error = run_json(capsys, "release", "apply", fleet.publish(1), "--phone", folder)
    assert code == 1
    assert lines == []
    assert error.count("\n") == 1
    assert list(folder.iterdir()) == []


def test_releases_are_listed_by_version_and_damaged_files_named(capsys, fleet):
    for version in (1, 2, 10):
        bundle = fleet.publish(version)
    shutil.copy(bundle, bundle.with_name("broken.zip"))
    bundle.with_name("broken.zip").write_bytes(b"no zip")
    code, lines, _ = run_json(capsys, "release", "list", "--data", fleet.folder)
    assert code == 0
    assert [line["version"] for line in lines[:-1]] == [None, 1, 2, 10]
    assert lines[-1] == {"event": "summary", "releases": 3, "unreadable": ["broken.zip"]}


@pytest.fixture(scope="module")
def graphs(tmp_path_factory):
    """The exported graphs of a small untrained base."""
    torch.manual_seed(3)
    network = LayoutT5(LayoutT5Config(d_model=16, d_ff=16, heads=2, encoder_layers=1)).eval()
    folder = tmp_path_factory.mktemp("graphs") / "graphs"
    export_base(network, folder, digest=base_digest(network))
    return folder


def of_this_encoding(fleet):
    """A phone of the fleet that speaks today's encoding."""
    phone = fleet.folder / "phones" / "q"
    enrol(phone, fleet.repository.root_bytes, PhoneBase("ab" * 32, POLICY_IO_VERSION))
    return phone


def test_a_base_is_published_installed_and_taken_back(capsys, fleet, graphs):
    first = fleet.publish(1)
    options = ("--data", fleet.folder)
    code, lines, errors = run_json(capsys, "release", "publish", "--base", graphs, *options)
    assert (code, errors) == (0, "")
    made = lines[-1]
    assert made["base_is_new"] is True
    assert (made["version"], made["parent"]) == (2, "r1")

    phone = of_this_encoding(fleet)
    code, lines, _ = run_json(capsys, "release", "apply", made["bundle"], "--phone", phone)
    assert code == 0
    assert lines[-1]["installed"]["release_id"] == made["release_id"]

    code, lines, _ = run_json(capsys, "release", "rollback", "r1", *options)
    assert code == 0
    assert (lines[-1]["version"], lines[-1]["base_digest"]) == (3, BASE.digest)
    assert PublishedReleases(fleet.folder / "tuf").channel("canary").version == 3

    code, lines, _ = run_json(capsys, "release", "lineage", made["release_id"], *options)
    assert code == 0
    assert [line["release_id"] for line in lines[:-1]] == [made["release_id"], "r1"]
    assert lines[-1]["bases"] == [made["base_digest"], BASE.digest]
    assert first.exists()


def test_a_base_that_phones_have_is_not_sent_again(capsys, fleet, graphs):
    options = ("release", "publish", "--base", graphs, "--data", fleet.folder)
    _, first, _ = run_json(capsys, *options)
    code, second, _ = run_json(capsys, *options)
    assert code == 0
    assert (first[-1]["base_is_new"], second[-1]["base_is_new"]) == (True, False)
    assert read_bundle(Path(second[-1]["bundle"])).base is None


@pytest.fixture
def text_graphs(graphs, tmp_path):
    """A base that says of itself that it writes its actions as text."""
    folder = shutil.copytree(graphs, tmp_path / "texts")
    described = json.loads((folder / "base.json").read_text())
    described["policy_io_version"] = AUTOUI.version
    (folder / "base.json").write_text(json.dumps(described))
    return folder


def test_a_base_without_an_adapter_is_released_for_its_own_encoding(capsys, fleet, text_graphs):
    options = ("release", "publish", "--base", text_graphs, "--data", fleet.folder)
    code, lines, errors = run_json(capsys, *options)
    assert (code, errors) == (0, "")
    release = PublishedReleases(fleet.folder / "tuf").release(lines[-1]["release_id"])
    assert release.policy_io_version == AUTOUI.version
    assert release.min_runtime == 1


def test_an_adapter_of_another_encoding_than_its_base_is_one_line(
    capsys, fleet, text_graphs, tmp_path
):
    digest = json.loads((text_graphs / "base.json").read_text())["digest"]
    file = tmp_path / "adapter.bin"
    file.write_bytes(pack({}, base_digest=digest, policy_io_version=POLICY_IO_VERSION))
    options = ("publish", "--base", text_graphs, "--adapter", file, "--data", fleet.folder)
    code, lines, errors = run_json(capsys, "release", *options)
    assert (code, lines) == (2, [])
    assert f"is for {POLICY_IO_VERSION}, this base for {AUTOUI.version}" in errors


@pytest.mark.parametrize("mistake", ["adapter", "base", "channel", "release", "running", "data"])
def test_what_cannot_be_published_is_one_line(capsys, fleet, graphs, tmp_path, mistake):
    file = tmp_path / "adapter.bin"
    file.write_bytes(an_adapter(0.5))
    options = {
        "adapter": ("publish", "--base", graphs, "--adapter", file),
        "base": ("publish", "--base", tmp_path / "none"),
        "channel": ("publish", "--base", graphs, "--channel", "everybody"),
        "release": ("rollback", "r99"),
        "running": ("publish", "--base", graphs),
        "data": ("publish", "--base", graphs),
    }[mistake]
    data = tmp_path / "nowhere" if mistake == "data" else fleet.folder
    with sole_publisher(fleet.folder) if mistake == "running" else nullcontext():
        code, lines, errors = run_json(capsys, "release", *options, "--data", data)
    assert (code, lines) == (2, [])
    assert errors.count("\n") == 1
    assert PublishedReleases(fleet.folder / "tuf").releases() == []


@pytest.mark.parametrize(
    ("spoil", "says"),
    [
        (lambda fleet: (fleet.phone / "trust" / "root.json").write_bytes(b"{"), "own root.json is"),
        (lambda fleet: (fleet.phone / "trust" / "root.json").unlink(), "outrider phone enroll"),
    ],
)
def test_a_phone_whose_root_is_gone_says_so_and_not_that_the_bundle_is_bad(
    capsys, fleet, spoil, says
):
    bundle = fleet.publish(1)
    spoil(fleet)
    code, _, errors = run_json(capsys, "release", "apply", bundle, "--phone", fleet.phone)
    assert (code, errors.count("\n")) == (1, 1)
    assert says in errors


@pytest.mark.parametrize("command", [("list",), ("lineage", "r1"), ("rollback", "r1")])
def test_damaged_metadata_is_named_in_one_line(capsys, fleet, command):
    fleet.publish(1)
    (fleet.folder / "tuf" / "metadata" / "timestamp.json").write_bytes(b"{}")
    code, _, errors = run_json(capsys, "release", *command, "--data", fleet.folder)
    assert (code, errors.count("\n")) == (1, 1)
    assert "timestamp.json is damaged" in errors
    assert "restore it" in errors


@pytest.mark.parametrize("change", [lambda key: key.unlink(), lambda key: key.write_bytes(b"x")])
def test_a_key_that_cannot_sign_is_named_with_what_to_do(capsys, fleet, change):
    fleet.publish(1)
    change(fleet.folder / "keys" / "online" / "targets.pem")
    code, _, errors = run_json(capsys, "release", "rollback", "r1", "--data", fleet.folder)
    assert (code, errors.count("\n")) == (1, 1)
    assert "targets.pem" in errors
    assert "restore it, or rotate that key" in errors


def test_lineage_of_a_folder_without_a_fleet_is_one_line(capsys, tmp_path):
    code, lines, errors = run_json(capsys, "release", "lineage", "r1", "--data", tmp_path)
    assert (code, lines, errors.count("\n")) == (2, [], 1)
    assert "holds no signed releases" in errors
