"""gdb on an emulated board whose line another process drives: a breakpoint in the model is reached."""

from __future__ import annotations

import json
import re
import subprocess
import sys
import time
from pathlib import Path

import pytest

import aboard
from aboard import cli
from aboard.base import resources

BOARD = "arm/mps2_an386"
COMMANDS = ("set confirm off", "break digits_run", "continue", "print arena_bytes", "continue")


def test_a_breakpoint_on_the_model_is_hit_by_a_run_through_the_printed_line(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    project = aboard.create(
        aboard.compile(resources.models() / "digits.tflite", board=BOARD), BOARD, path=tmp_path / "p"
    )
    project.build()
    words = ["debug", str(project.path), "--gdb", "gdb-multiarch", *(w for c in COMMANDS for w in ("--ex", c))]
    code = f"import sys; from aboard import cli; sys.argv[1:] = {words!r}; cli.main()"
    with (tmp_path / "said").open("wb") as said:
        debugging = subprocess.Popen([sys.executable, "-c", code], stdin=subprocess.DEVNULL, stdout=said, stderr=said)
        try:
            line = seen(tmp_path / "said", r"the board's line is (/dev/\S+)\. .*aboard run \S+ --port (/dev/\S+)\n")
            assert line[1] == line[2]
            seen(tmp_path / "said", r"Breakpoint 1 at .*\nContinuing\.")
            # The inference goes on from the breakpoint, so the run ends well.
            assert cli.invoke(["run", str(project.path), "--port", line[1], "--json"]) == 0
            run = json.loads(capsys.readouterr().out)
            # An emulator is behind the line: its ticks are neither cycles nor time.
            assert (run["cycles"], run["seconds"], run["estimated_time"]) == (None, None, None)
            stop = seen(tmp_path / "said", r"Breakpoint 1, digits_run \(.*arena_bytes=(\d+)\)(?s:.*)\$1 = (\d+)")
            assert stop[1] == stop[2] == str(project.models[0].ram_bytes)
        finally:
            debugging.terminate()
            debugging.wait(120)


def seen(path: Path, pattern: str) -> re.Match[str]:
    """Waits for what a program writes."""
    deadline = time.monotonic() + 180
    while time.monotonic() < deadline:
        found = re.search(pattern, path.read_text(encoding="utf-8", errors="replace"))
        if found:
            return found
        time.sleep(0.05)
    raise AssertionError(path.read_text(encoding="utf-8", errors="replace"))
