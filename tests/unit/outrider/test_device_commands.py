import pytest

from device_runtime.errors import SettingsError
from device_runtime.settings import Settings
from outrider.cli import run
from outrider.device_wiring import broker_address, open_policy, stop_on_signals

BROKER = ("--broker", "mqtt://127.0.0.1:1")


def settings(folder, **changes):
    return Settings(device_id="phone-1", data_dir=folder, **changes)


@pytest.mark.parametrize(
    ("options", "text"),
    [
        (BROKER, "name one phone"),
        (("--mock", "--serial", "x", *BROKER), "name one phone"),
        (("--mock",), "no address"),
        (("--mock", "--broker", "http://x"), "no address"),
        (("--mock", "--broker", "mqtts://x"), "broker_ca_file"),
        (("--mock", "--id", "No Such Name!", *BROKER), "device id"),
        (("--mock", "--credentials", "/nowhere/secret", *BROKER), "cannot be read"),
        (("--mock", "--config", "/nowhere/x.toml", *BROKER), "cannot be read"),
    ],
)
def test_misuse_of_a_phone_is_one_line_and_leaves_nothing_behind(tmp_path, capsys, options, text):
    code = run(["phone", "run", "--data", str(tmp_path / "data"), *options])

    errors = capsys.readouterr().err
    assert code == 2
    assert text in errors
    assert len(errors.splitlines()) == 1
    assert not (tmp_path / "data").exists()


def test_adb_server_that_does_not_answer_is_a_failure(tmp_path, capsys):
    options = ("--serial", "x", "--adb-port", "1", *BROKER)

    assert run(["phone", "run", "--data", str(tmp_path / "data"), *options]) == 1

    assert len(capsys.readouterr().err.splitlines()) == 1
    assert not (tmp_path / "data").exists()


@pytest.mark.parametrize(
    ("options", "text"),
    [
        ((), "no address"),
        (("--seats", "0", *BROKER), "seats"),
        (("--demonstration-noise", "2", *BROKER), "demonstration_noise"),
    ],
)
def test_misuse_of_a_farm_is_one_line_and_leaves_nothing_behind(tmp_path, capsys, options, text):
    code = run(["farm", "--data", str(tmp_path / "data"), *options])

    errors = capsys.readouterr().err
    assert code == 2
    assert text in errors
    assert len(errors.splitlines()) == 1
    assert not (tmp_path / "data").exists()


def test_policy_file_that_is_none_is_a_failure(tmp_path, capsys):
    file = tmp_path / "empty.py"
    file.write_text("", encoding="utf-8")

    code = run(["farm", "--data", str(tmp_path / "data"), "--policy", str(file), *BROKER])

    assert code == 1
    assert "decide(request)" in capsys.readouterr().err


def test_address_of_the_broker_carries_the_device_and_its_secret(tmp_path):
    secret = tmp_path / "secret"
    secret.write_text("open sesame\n", encoding="utf-8")

    address = broker_address(
        settings(tmp_path, broker_url="mqtt://example.org", credentials_file=secret)
    )

    assert (address.host, address.port) == ("example.org", 1883)
    assert (address.client_id, address.username) == ("phone-1", "phone-1")
    assert address.password == "open sesame"
    assert address.certificates is None


def test_encrypted_address_names_the_authority(tmp_path):
    authority = tmp_path / "ca.pem"

    address = broker_address(
        settings(tmp_path, broker_url="mqtts://example.org", broker_ca_file=authority)
    )

    assert (address.port, address.certificates) == (8883, authority)


@pytest.mark.parametrize("url", ["mqtt://", "mqtt://host:0", "mqtt://host:99999", "host:1883"])
def test_address_that_is_none_is_refused(tmp_path, url):
    with pytest.raises(SettingsError, match="no address"):
        broker_address(settings(tmp_path, broker_url=url))


def test_no_policy_is_opened_where_no_base_was_exported(tmp_path):
    assert open_policy(settings(tmp_path)) is None


def test_signals_ask_to_stop_and_the_old_handlers_come_back():
    import signal

    before = signal.getsignal(signal.SIGTERM)
    with stop_on_signals() as stop:
        signal.raise_signal(signal.SIGTERM)
        signal.raise_signal(signal.SIGINT)

    assert stop.is_set()
    assert signal.getsignal(signal.SIGTERM) is before
