"""Run one `outrider` command and say what it cost: `python -m tests.footprint WORDS…`.

The last line of standard error is JSON: the largest resident size of this process alone (its
starter's is not in it, as it would be in `ru_maxrss`), and the names of what it loaded.
"""

from __future__ import annotations

import json
import re
import sys
from pathlib import Path


def main() -> int:
    """Run the command; its own exit code."""
    from outrider.cli import run

    code = run(sys.argv[1:])
    status = Path("/proc/self/status").read_text("ascii")
    peak = re.search(r"VmHWM:\s+(\d+) kB", status)
    loaded = sorted({name.partition(".")[0] for name in sys.modules})
    cost = {"peak_bytes": int(peak[1]) * 1024 if peak else None, "loaded": loaded}
    sys.stderr.write(f"{json.dumps(cost)}\n")
    return code


if __name__ == "__main__":
    sys.exit(main())
