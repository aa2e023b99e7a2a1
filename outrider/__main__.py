"""`outrider` and `python -m outrider`."""

from __future__ import annotations

import signal
import sys
from typing import NoReturn

INTERRUPTED = 130


def main() -> NoReturn:
    """Run the command that was typed; a polite stop from outside counts as Ctrl-C.

    Shells start what runs in their background with Ctrl-C ignored; here it counts all the same.
    """
    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, signal.default_int_handler)
    try:
        from outrider.cli import run
        from outrider.log_lines import log_to_stderr

        log_to_stderr()
        code = run(sys.argv[1:])
    except KeyboardInterrupt:
        code = INTERRUPTED
    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, signal.SIG_IGN)  # it is ending already
    sys.exit(code)


if __name__ == "__main__":
    main()
