"""What commands of the fleet refuse before they ask any cloud."""

from __future__ import annotations

import pytest

from outrider import cli
from outrider.errors import MisuseError
from outrider.fleet_access import checked_url, named

NOBODY = ("--url", "http://127.0.0.1:1", "--token", "t")


@pytest.mark.parametrize(
    "url",
    ["", "x", "ftp://x", "http://", "http://[::1", "http://h:99999", "http://h:x", "http://h/a b"],
)
def test_what_is_no_address_of_a_cloud_is_misuse(url):
    with pytest.raises(MisuseError, match="no address"):
        checked_url(url)


@pytest.mark.parametrize("url", ["http://h", "https://h:8080/", "http://[::1]:1/cloud"])
def test_an_address_loses_its_last_slash_only(url):
    assert checked_url(url) == url.rstrip("/")


@pytest.mark.parametrize("name", ["", ".", "..", "a\0b", "a\nb"])
def test_what_nothing_can_be_called_is_misuse(name):
    with pytest.raises(MisuseError, match="nothing is called"):
        named(name)


def test_a_name_stays_one_part_of_a_path():
    assert named("a/b?c#d e") == "a%2Fb%3Fc%23d%20e"


@pytest.mark.parametrize(
    ("words", "says"),
    [
        (("set", "a=1", "a=2", "--all"), "a is set twice"),
        (("label", "site=a,b", "--all"), "without a comma"),
        (("task", "--goal", "  ", "--all"), "say what to do"),
        (("start", "--all", "--for", "inf"), "87600"),
        (("show", ".."), "nothing is called"),
        (("list", "--token", "a\nb"), "--token holds"),
    ],
)
def test_misuse_is_told_in_one_line_without_asking_anybody(capsys, words, says):
    assert cli.run(["fleet", *words[:1], *NOBODY, *words[1:]]) == 2
    error = capsys.readouterr().err
    assert error.count("\n") == 1
    assert says in error


@pytest.mark.parametrize("holds", [None, b"no certificate"])
def test_an_authority_that_cannot_be_read_is_named(capsys, tmp_path, holds):
    file = tmp_path / "ca.pem"
    if holds is not None:
        file.write_bytes(holds)
    words = ("--url", "https://127.0.0.1:1", "--token", "t", "--ca", str(file))
    assert cli.run(["fleet", "list", *words]) == 2
    error = capsys.readouterr().err
    assert error.count("\n") == 1
    assert "ca.pem holds no certificates" in error


@pytest.mark.parametrize("words", [("list",), ("show", "x"), ("invite",)])
def test_a_folder_without_a_cloud_is_left_as_it_was(capsys, tmp_path, words):
    assert cli.run(["fleet", *words, "--data", str(tmp_path)]) == 2
    assert "start `outrider cloud serve` first" in capsys.readouterr().err
    assert list(tmp_path.iterdir()) == []
