"""Commands that are run to their end, and none that goes on when its caller is killed."""

from __future__ import annotations

import os
import subprocess
import sys
import time
from pathlib import Path

from aboard.base import programs

CALLER = """
import os, sys
from pathlib import Path
from aboard.base import programs
script = "(while :; do date >>alive; sleep 0.05; done) & while :; do sleep 1; done"
programs.run_tethered(["sh", "-c", script], Path(sys.argv[1]), os.environ, 600)
"""


def test_code_and_words_come_through(tmp_path: Path) -> None:
    script = "echo out; echo err >&2; exit 7"
    assert programs.run_tethered(["sh", "-c", script], tmp_path, os.environ, 60) == (7, "out\nerr\n")
    assert programs.run_tethered(["sh", "-c", 'echo "$1|$2"', "sh", "a b", "$c"], tmp_path, os.environ, 60) == (
        0,
        "a b|$c\n",
    )


def test_it_ends_with_a_caller_that_is_killed(tmp_path: Path) -> None:
    with subprocess.Popen([sys.executable, "-c", CALLER, str(tmp_path)]) as caller:
        alive = tmp_path / "alive"
        deadline = time.monotonic() + 60
        while not alive.exists() and time.monotonic() < deadline:
            time.sleep(0.05)
        caller.kill()
    deadline = time.monotonic() + 60
    while time.monotonic() < deadline:
        before = alive.stat().st_size
        time.sleep(1.5)
        if alive.stat().st_size == before:
            return
    raise AssertionError("the command still runs")
