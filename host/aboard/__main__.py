"""`python -m aboard`: the command line, for environments whose scripts are not on PATH."""

from __future__ import annotations

from aboard.cli import main

if __name__ == "__main__":
    main()
