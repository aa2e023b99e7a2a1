"""The API over HTTP: open where a machine asks for health, closed elsewhere."""

from __future__ import annotations

import logging
import ssl
import stat

import httpx
import pytest

from cloud_learner.errors import ApiAddressInUseError, SettingsError
from cloud_learner.settings import ServiceSettings
from cloud_learner.tokens import TokenFile
from sync.messages import Role
from tests.certificates import Authority

TOKEN = "a-token-of-sufficient-length"


@pytest.fixture(scope="module")
def served(tmp_path_factory, loopback, make_scene, make_device):
    """A running service with one farm that has played the demonstrations."""
    folder = tmp_path_factory.mktemp("api")
    scene = make_scene(folder, loopback.transport("cloud", service=True))
    TokenFile(folder / "cloud" / "token").write(TOKEN)
    scene.port = scene.service.start()
    link = loopback.transport("farm-1")
    farm = make_device(folder, "farm-1", Role.FARM, link, lambda _assignment, _release: True)
    for _ in range(2000):
        scene.service._director.tick()
        if scene.service.phase.value == "warm_up":
            break
        scene.service._clock.sleep(0.005)
    farm.stop()
    return scene


@pytest.fixture
def client(served):
    with httpx.Client(base_url=f"http://127.0.0.1:{served.port}", timeout=20) as opened:
        yield opened


def get(client, path, token=TOKEN):
    return client.get(path, headers={"Authorization": f"Bearer {token}"})


def test_health_is_open_and_tells_of_broker_and_phase(client):
    answer = client.get("/health")

    assert answer.status_code == 200
    assert answer.json() == {
        "status": "ok",
        "broker_connected": True,
        "database_reachable": True,
        "phase": "warm_up",
    }


def test_metrics_are_open_and_in_prometheus_form(client):
    answer = client.get("/metrics")

    lines = dict(line.split() for line in answer.text.splitlines() if not line.startswith("#"))
    assert answer.headers["content-type"].startswith("text/plain")
    assert float(lines["outrider_episodes"]) == 14
    assert float(lines["outrider_broker_connected"]) == 1
    assert float(lines["outrider_wire_unknown_fields"]) == 0
    assert float(lines["outrider_wire_received"]) > 0


@pytest.mark.parametrize(
    "path",
    [
        "/v1/phones",
        "/v1/phones/farm-1",
        "/v1/episodes",
        "/v1/episodes/x",
        "/v1/events",
        "/v1/releases",
        "/v1/releases/r0001",
        "/v1/campaign",
        "/v1/learner",
        "/v1/summary",
    ],
)
def test_everything_else_needs_the_token(client, path):
    assert client.get(path).status_code == 401
    assert get(client, path, "another-token-altogether").status_code == 401
    assert get(client, path).status_code in {200, 404}


def test_phones_say_what_they_are(client):
    (phone,) = get(client, "/v1/phones").json()

    assert (phone["device_id"], phone["role"], phone["seats"]) == ("farm-1", "farm", 8)
    assert "tickets_0" in phone["templates"]
    assert get(client, "/v1/phones/farm-1").json() == phone


def test_episodes_are_listed_page_by_page_and_shown_whole(client):
    first = get(client, "/v1/episodes?limit=10").json()
    rest = get(client, f"/v1/episodes?after={first[-1]['row']}").json()
    whole = get(client, f"/v1/episodes/{first[0]['id']}").json()

    assert len(first) == 10
    assert len({row["id"] for row in first + rest}) == 14
    assert whole["episode"]["steps"][0]["action"]["kind"] == "finish"
    assert whole["verdicts"][0]["score"] == 1.0


def test_episodes_are_filtered(client):
    assert get(client, "/v1/episodes?purpose=train").json() == []
    found = get(client, "/v1/episodes?template=tickets_1&split=train").json()
    assert {row["template"] for row in found} == {"tickets_1"}
    assert len(found) == 4


def test_campaign_and_summary_agree(client):
    campaign = get(client, "/v1/campaign").json()
    summary = get(client, "/v1/summary").json()

    assert campaign["phase"] == summary["phase"] == "warm_up"
    assert campaign["batches"]["demonstrate"]["played"] == 14
    assert campaign["counts"]["episodes"] == summary["episodes"]["stored"] == 14
    assert summary["valid"] is False


def test_what_is_not_there_is_404_and_what_makes_no_sense_422(client):
    missing = get(client, "/v1/releases/r0009")

    assert missing.status_code == 404
    assert "r0009" in missing.json()["detail"]
    assert get(client, "/v1/episodes?limit=0").status_code == 422


def test_a_taken_port_is_one_clear_error(served, loopback, make_scene, tmp_path):
    other = make_scene(tmp_path, loopback.transport("cloud-2", service=True), port=served.port)

    with pytest.raises(ApiAddressInUseError, match="--port"):
        other.service.start()


def test_a_token_is_kept_as_its_hash_and_readable_by_its_owner_only(tmp_path):
    file = TokenFile(tmp_path / "token")
    assert not file.accepts(TOKEN)

    file.write(TOKEN)

    mode = stat.S_IMODE((tmp_path / "token").stat().st_mode)
    assert mode == 0o600
    assert TOKEN not in (tmp_path / "token").read_text()
    assert file.accepts(TOKEN)
    assert not file.accepts(TOKEN + "x")
    with pytest.raises(ValueError, match="16"):
        file.write("short")


def test_the_service_leaves_the_log_handlers_of_its_process_alone(tmp_path, loopback, make_scene):
    ended = []

    class Handler(logging.NullHandler):
        def close(self):
            ended.append(self)
            super().close()

    handler = Handler()
    make_scene(tmp_path, loopback.transport("cloud-logs", service=True)).service.start()

    assert ended == []
    handler.close()


def test_with_a_certificate_the_api_speaks_https_only(tmp_path, loopback, make_scene):
    authority = Authority(tmp_path / "certificates")
    pair = authority.issue("api")
    link = loopback.transport("cloud-tls", service=True)
    port = make_scene(tmp_path, link, tls=pair).service.start()
    trusting = ssl.create_default_context(cafile=str(authority.path))

    with httpx.Client(base_url=f"https://127.0.0.1:{port}", verify=trusting, timeout=20) as client:
        assert client.get("/health").status_code == 200
    with pytest.raises(httpx.ConnectError, match="CERTIFICATE_VERIFY_FAILED"):
        httpx.get(f"https://127.0.0.1:{port}/health", timeout=20)
    with pytest.raises(httpx.TransportError):
        httpx.get(f"http://127.0.0.1:{port}/health", timeout=20)


@pytest.mark.parametrize("broken", ["missing", "garbage", "other"])
def test_a_certificate_that_cannot_be_used_starts_nothing(tmp_path, loopback, make_scene, broken):
    authority = Authority(tmp_path / "certificates")
    certificate, key = authority.issue("api")
    if broken == "missing":
        key.unlink()
    elif broken == "garbage":
        certificate.write_text("no certificate")
    else:
        key = authority.issue("another")[1]
    link = loopback.transport(f"cloud-{broken}", service=True)
    scene = make_scene(tmp_path, link, tls=(certificate, key))
    with pytest.raises(SettingsError, match="name the files of one pair"):
        scene.service.start()


def test_a_certificate_without_its_key_is_no_setting(tmp_path):
    with pytest.raises(ValueError, match="name both files"):
        ServiceSettings(data_dir=tmp_path, tls_cert="api.pem")
