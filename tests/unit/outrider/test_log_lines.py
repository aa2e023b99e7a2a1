from __future__ import annotations

import pytest
import structlog

from outrider.log_lines import log_to_stderr


@pytest.fixture(autouse=True)
def configured():
    before = structlog.get_config()
    yield
    structlog.configure(**before)


def test_log_lines_go_to_stderr_and_command_no_terminal(capsys):
    log_to_stderr()
    log_to_stderr()  # as a process does that was forked from one that did
    structlog.get_logger().warning("dead_letter", topic="a/\x1b[2Jb\x9b")
    structlog.get_logger().debug("left_out")
    printed = capsys.readouterr()
    assert printed.out == ""
    assert printed.err.count("\n") == 1
    assert "a/\\x1b[2Jb\\x9b" in printed.err
