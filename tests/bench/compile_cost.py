"""Runs `aboard` with the arguments it is given, and prints behind its output what that took, as a line of JSON.

A process of its own: the peak that a parent sees of a child counts what the parent had itself.
"""

from __future__ import annotations

import json
import re
import resource
import sys
from pathlib import Path

from aboard.cli import invoke


def peak_bytes() -> int:
    """Returns the most memory that this process has had."""
    status = Path("/proc/self/status")
    if status.is_file():
        found = re.search(r"VmHWM:\s+(\d+) kB", status.read_text(encoding="ascii"))
        if found:
            return int(found[1]) * 1024
    unit = 1 if sys.platform == "darwin" else 1024
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * unit


if __name__ == "__main__":
    code = invoke(sys.argv[1:])
    used = resource.getrusage(resource.RUSAGE_SELF)
    print(json.dumps({"seconds": round(used.ru_utime + used.ru_stime, 2), "peak_bytes": peak_bytes()}))
    sys.exit(code)
