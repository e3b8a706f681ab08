"""The tutorial on farms works as it stands there, with two workers in processes of their own."""

from __future__ import annotations

import os
import signal
import subprocess
import sysconfig
import time
from pathlib import Path
from typing import Any

from support import farm as farms
from support import markdown

PAGE = "docs/tutorials/farm.md"


def started(line: str, folder: Path) -> subprocess.Popen[Any]:
    environment = {**os.environ, "PATH": f"{sysconfig.get_path('scripts')}:{os.environ['PATH']}"}
    quiet = subprocess.DEVNULL
    return subprocess.Popen(line, shell=True, cwd=folder, env=environment, stdout=quiet, stderr=quiet, process_group=0)


def test_the_page_works(tmp_path: Path) -> None:
    # The port of the page may be in use on this machine.
    here = str(farms.free_port())
    lines = [
        line.replace("8786", here)
        for language, text in markdown.blocks(PAGE)
        if language == "sh"
        for line in markdown.commands(text)
    ]
    scheduler, worker, status, *others = lines
    servers = [started(line, tmp_path) for line in (scheduler, worker, worker)]
    try:
        deadline = time.monotonic() + 60
        while (found := attempt(status, tmp_path)).count("emulator") < 4 or found.count("builds") < 4:
            assert time.monotonic() < deadline, found
        said = [markdown.run(line, tmp_path) for line in others]
    finally:
        for server in servers:
            os.killpg(server.pid, signal.SIGKILL)
            server.wait()
    verified, table, chosen = said
    assert "0 differing bytes" in verified
    assert table.count("exact") == 4
    assert {path.name for path in (tmp_path / "table").iterdir()} >= {"table.html", "junit.xml", "rows.jsonl"}
    assert "arm/mps2_an386" in chosen
    assert "bbc/microbit" not in chosen


def attempt(line: str, folder: Path) -> str:
    """Returns what a command says, also while the scheduler is starting."""
    try:
        return markdown.run(line, folder)
    except AssertionError:
        time.sleep(0.5)
        return ""
