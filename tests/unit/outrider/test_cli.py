"""From what was typed to the exit code."""

from __future__ import annotations

import subprocess
import sys

import pytest

from outrider import cli
from outrider.errors import CommandError, MisuseError
from sync.errors import RejectedError


def raising(error: BaseException):
    def command() -> None:
        """Raise."""
        raise error

    return command


@pytest.fixture
def only(monkeypatch):
    """Replace every command by one called `it`."""

    def replace(command):
        monkeypatch.setattr(cli, "COMMANDS", (("it", command),))

    return replace


@pytest.mark.parametrize(
    ("error", "code"),
    [
        (CommandError("the disk is full"), 1),
        (RejectedError("not signed by us", reason="wrong_key"), 1),
        (MisuseError("no task is called x"), 2),
        (KeyboardInterrupt(), 130),
    ],
)
def test_errors_become_exit_codes(only, capsys, error, code):
    only(raising(error))
    assert cli.run(["it"]) == code
    captured = capsys.readouterr()
    assert captured.out == ""
    assert captured.err == (f"error: {error}\n" if str(error) else "")


@pytest.mark.parametrize("arguments", [[], ["nonsense"], ["doctor", "--nonsense"], ["doctor", "x"]])
def test_misuse_is_one_line_on_stderr_and_exit_code_2(capsys, arguments):
    assert cli.run(arguments) == 2
    captured = capsys.readouterr()
    assert captured.out == ""
    assert captured.err.startswith("error: ")
    assert captured.err.count("\n") == 1


def test_programming_errors_are_not_hidden(only):
    only(raising(ValueError("a bug")))
    with pytest.raises(ValueError, match="a bug"):
        cli.run(["it"])


def test_every_command_has_help_and_every_group_is_described(capsys):
    for words, _ in cli.COMMANDS:
        assert cli.run([*words.split(), "--help"]) == 0
        assert "Usage: outrider" in capsys.readouterr().out
    used = {words.split()[0] for words, _ in cli.COMMANDS if " " in words}
    assert used <= set(cli.GROUPS)


def test_the_command_line_loads_no_part_before_it_is_called():
    code = (
        "import sys; from outrider import cli; cli.build_app()\n"
        "heavy = {'torch', 'numpy', 'transformers', 'peft', 'fastapi', 'sqlalchemy',"
        " 'onnxruntime', 'paho', 'tuf', 'rich', 'adbutils', 'ssl', 'sync.messages'}\n"
        "print(sorted(heavy & set(sys.modules)))"
    )
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=False, timeout=60
    )
    assert done.stdout == "[]\n", done.stderr


def test_an_import_that_ctrl_c_broke_off_is_an_interruption(only, capsys):
    def command() -> None:
        """As packages in C++ do it."""
        raise ImportError("initialization failed") from KeyboardInterrupt()

    only(command)
    assert cli.run(["it"]) == 130
    assert capsys.readouterr().err == ""


def test_an_import_that_fails_by_itself_is_not_hidden(only):
    only(raising(ImportError("no such module")))
    with pytest.raises(ImportError, match="no such module"):
        cli.run(["it"])
