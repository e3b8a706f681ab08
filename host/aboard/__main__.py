"""The entry point of the command line: the script `aboard`, and `python -m aboard` where scripts are not on PATH."""

from __future__ import annotations

import json
import sys
from typing import NoReturn


def main() -> NoReturn:
    """Runs the command line of this process.

    Its import takes a third of a second. An interrupt meanwhile says what any other does (`aboard.cli.invoke`).
    """
    try:
        from aboard import cli
    except KeyboardInterrupt:
        _interrupted()
    cli.main()


def _interrupted() -> NoReturn:
    # Nothing is imported here: a module whose import was interrupted may not be importable again.
    sys.stderr.write("\nerror: interrupted\n")
    if "--json" in sys.argv:
        error = {"kind": "Interrupted", "message": "interrupted", "exit_code": 130, "least_bytes": None}
        sys.stdout.write(json.dumps({"error": error}, separators=(",", ":")) + "\n")
        sys.stdout.flush()
    sys.exit(130)


if __name__ == "__main__":
    main()
