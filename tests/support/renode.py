"""The Renodes that tests run: a stand-in always, and the real one wherever it is installed."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from aboard.base import programs

#: Where the real one is; None where it is not installed.
INSTALLED = programs.find_renode()
PROGRAMS = ("stand-in", *(("renode",) if INSTALLED else ()))
_TESTS = Path(__file__).parents[1]


def report() -> str:
    """Returns what the first lines of a test run say."""
    return f"Renode: {INSTALLED}" if INSTALLED else "Renode: not installed, a stand-in takes its place"


def install(folder: Path, board: str, patch: pytest.MonkeyPatch) -> Path:
    """Makes the stand-in what `RENODE_PATH` names, as a script that starts the program, as Renode's packages have it.

    Args:
        folder: Where it is put.
        board: The board it is.
        patch: Sets the variables.
    """
    program = folder / "renode"
    program.write_text(f'#!/bin/sh\n"{sys.executable}" -m support.renode_stand_in "$@"\n', encoding="utf-8")
    program.chmod(0o755)
    patch.setenv("RENODE_PATH", str(folder))
    patch.setenv("PYTHONPATH", str(_TESTS))
    patch.setenv("RENODE_STAND_IN_BOARD", board)
    return program
