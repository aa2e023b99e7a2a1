"""Pictures of the clones on disk, and the page that shows them."""

from __future__ import annotations

import json
import re

import pytest
from PIL import Image

from outrider.clones_render import render
from outrider.errors import CommandError, MisuseError


def test_pictures_and_page_belong_together(tmp_path, capsys):
    render(app="contacts", out=tmp_path / "sheet", looks=4, json=True)

    lines = [json.loads(line) for line in capsys.readouterr().out.splitlines()]
    pictures = [line for line in lines if line["event"] == "picture"]
    page = (tmp_path / "sheet" / "index.html").read_text(encoding="utf-8")
    assert lines[-1]["event"] == "summary"
    assert lines[-1]["pictures"] == len(pictures)
    assert {picture["locale"] for picture in pictures} == {"en", "de", "ja", "ar"}
    assert {picture["dark"] for picture in pictures} == {True, False}
    assert len({tuple(picture["screen_px"]) for picture in pictures}) == 3
    assert {picture["page"] for picture in pictures} == {"home", "detail", "dialog"}
    for picture in pictures:
        with Image.open(tmp_path / "sheet" / picture["path"]) as image:
            assert image.size == (picture["width_px"], picture["height_px"])
        assert f'src="{picture["path"]}"' in page


def test_the_page_refers_to_nothing_outside_of_its_folder(tmp_path):
    render(app="phone", out=tmp_path, looks=1)

    page = (tmp_path / "index.html").read_text(encoding="utf-8")
    paths = re.findall(r'(?:src|href)="([^"#]+)"', page)
    assert paths
    assert all((tmp_path / path).is_file() for path in paths)
    assert "http" not in page


def test_the_same_call_writes_the_same_bytes(tmp_path):
    for name in ("one", "other"):
        render(app="clock", out=tmp_path / name, looks=1)

    one, other = (
        {path.relative_to(folder): path.read_bytes() for path in folder.rglob("*.*")}
        for folder in (tmp_path / "one", tmp_path / "other")
    )
    assert one == other


@pytest.mark.parametrize(
    ("options", "names"), [({"app": "nope"}, "clock"), ({"looks": 0}, "looks")]
)
def test_misuse_is_named(tmp_path, options, names):
    with pytest.raises(MisuseError, match=names):
        render(out=tmp_path, **options)


def test_a_folder_that_cannot_be_made_is_named(tmp_path):
    (tmp_path / "file").write_text("")

    with pytest.raises(CommandError, match="--out"):
        render(app="clock", out=tmp_path / "file" / "below", looks=1)
