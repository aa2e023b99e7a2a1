"""`outrider` and `python -m outrider`."""

from __future__ import annotations

import signal
import sys
from typing import NoReturn

from outrider.cli import run
from outrider.log_lines import log_to_stderr


def main() -> NoReturn:
    """Run the command that was typed; a polite stop from outside counts as Ctrl-C."""
    log_to_stderr()
    signal.signal(signal.SIGTERM, signal.default_int_handler)
    sys.exit(run(sys.argv[1:]))


if __name__ == "__main__":
    main()
