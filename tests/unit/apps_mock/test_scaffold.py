from __future__ import annotations

import ast
import tomllib

import pytest

from apps_mock.catalogue import LOCALES, add_texts, english, knows, say
from apps_mock.errors import AppNameError
from apps_mock.scaffold import write_app
from sync.errors import RejectedError


def test_a_new_app_is_a_python_file_with_all_that_the_gates_ask_for(tmp_path):
    app, texts = write_app("book_club", tmp_path / "mine")

    names = {
        target.id
        for node in ast.parse(app.read_text(encoding="utf-8")).body
        if isinstance(node, ast.AnnAssign)
        for target in [node.target]
    }
    assert names >= {"APP", "TEMPLATES"}
    assert "__" not in app.read_text(encoding="utf-8").replace("__future__", "")
    assert "Book club" in app.read_text(encoding="utf-8")
    assert app.parent == texts.parent


def test_all_that_a_new_app_says_has_a_line_for_every_locale(tmp_path):
    _, texts = write_app("pantry", tmp_path)

    tables = tomllib.loads(texts.read_text(encoding="utf-8"))
    assert all(set(LOCALES) - {"en"} == set(table) for table in tables.values())


@pytest.mark.parametrize("name", ["Pantry", "my app", "9lives", "über", ""])
def test_names_that_no_module_can_have_are_refused(tmp_path, name):
    with pytest.raises(AppNameError, match="use small letters"):
        write_app(name, tmp_path)


def test_a_word_of_python_is_no_name(tmp_path):
    with pytest.raises(AppNameError, match=r"'class' is a word of Python's own.*class_app"):
        write_app("class", tmp_path)


def test_names_of_other_apps_and_of_files_that_are_there_are_refused(tmp_path):
    with pytest.raises(AppNameError, match="already; choose another name"):
        write_app("contacts", tmp_path)
    write_app("pantry", tmp_path)
    with pytest.raises(AppNameError, match=r"pantry\.py is there already"):
        write_app("pantry", tmp_path)


def test_texts_of_a_users_own_app_are_said_in_their_locale(tmp_path):
    path = tmp_path / "own.toml"
    path.write_text('["Only in this test"]\nde = "Nur in diesem Test"\n', encoding="utf-8")

    add_texts(path)

    assert say("Only in this test", "de") == "Nur in diesem Test"
    assert not knows("Only in this test", "ja")
    assert english("Nur in diesem Test") == "Only in this test"


@pytest.mark.parametrize("text", ["[broken", 'Save = "Sichern"\n', "\udcff"])
def test_texts_that_cannot_be_read_are_refused_with_the_files_name(tmp_path, text):
    path = tmp_path / "own.toml"
    path.write_bytes(text.encode("utf-8", "surrogateescape"))

    with pytest.raises(RejectedError, match=r"own\.toml"):
        add_texts(path)
