"""Supervised programs: what they say, how they ended, and that none is left behind."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time

import pytest

from aboard.errors import ToolError
from aboard.runners.process import Supervised


def gone(pid: int, within_s: float = 5.0) -> bool:
    """True once no such process runs; one that has ended and was not waited for counts as gone."""
    deadline = time.monotonic() + within_s
    while time.monotonic() < deadline:
        state = subprocess.run(["ps", "-o", "state=", "-p", str(pid)], capture_output=True, text=True, check=False)
        if state.stdout.strip() in ("", "Z"):
            return True
        time.sleep(0.02)
    return False


def ended(process: Supervised, within_s: float = 5.0) -> bool:
    deadline = time.monotonic() + within_s
    while process.alive() and time.monotonic() < deadline:
        time.sleep(0.01)
    return not process.alive()


def test_lines_come_one_by_one():
    process = Supervised("sh", ["sh", "-c", "echo one; echo two; sleep 60"])
    try:
        assert process.line(5) == "one"
        assert process.line(5) == "two"
        assert process.line(0.05) is None
        assert process.alive()
        assert process.end_reason() == ""
    finally:
        process.stop()
    assert gone(process.pid)
    assert process.end_reason() == "sh was killed by signal 9"


def test_exit_code_and_last_words():
    process = Supervised("tool", ["sh", "-c", "echo first >&2; echo no such machine >&2; exit 3"])
    assert ended(process)
    assert process.end_reason() == "tool ended with exit code 3, and said: first / no such machine"
    process.stop()
    assert process.end_reason() == "tool ended with exit code 3, and said: first / no such machine"


def test_a_program_that_is_killed():
    process = Supervised("tool", ["sleep", "60"])
    os.kill(process.pid, signal.SIGTERM)
    assert ended(process)
    assert process.end_reason() == "tool was killed by signal 15"
    process.stop()


def test_a_program_that_does_not_exist():
    process = Supervised("tool", ["/nowhere/tool"])
    assert ended(process)
    assert "ended with exit code 127" in process.end_reason()
    process.stop()


def test_a_stop_without_effect_is_harmless():
    process = Supervised("tool", ["true"])
    process.stop()
    process.stop()
    assert not process.alive()


def test_a_folder_that_does_not_exist(tmp_path):
    with pytest.raises(ToolError, match="tool: cannot be started, got No such file"):
        Supervised("tool", ["true"], cwd=tmp_path / "nowhere")


_HOST = """
import sys, time
from aboard.runners.process import Supervised
process = Supervised("tool", ["sleep", "60"])
print(process.pid, flush=True)
{ending}
"""


@pytest.mark.parametrize(
    "ending", ["time.sleep(60)", "raise SystemExit", "raise RuntimeError", "import os; os._exit(1)"]
)
def test_it_ends_with_its_host(ending):
    host = subprocess.Popen(
        [sys.executable, "-c", _HOST.format(ending=ending)],
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        text=True,
    )
    assert host.stdout is not None
    pid = int(host.stdout.readline())
    if ending.startswith("time"):
        host.kill()
    host.wait(10)
    host.stdout.close()
    assert gone(pid)


def test_a_program_is_asked_to_end():
    process = Supervised("polite", ["sh", "-c", "echo up; read word; echo got $word >&2; exit 5"], farewell="quit")
    assert process.line(5) == "up"
    started = time.monotonic()
    process.stop()
    assert time.monotonic() - started < 2
    assert process.end_reason() == "polite ended with exit code 5, and said: got quit"


@pytest.mark.parametrize("script", ["sleep 60; true", "trap '' TERM; sleep 60 & wait; wait"])
def test_what_does_not_hear_is_ended_with_all_it_has_started(script):
    process = Supervised("deaf", ["sh", "-c", f"echo up; {script}"], farewell="quit")
    assert process.line(5) == "up"
    group = os.getsid(process.pid)
    process.stop()
    listed = subprocess.run(["ps", "-o", "args=", "-g", str(group)], capture_output=True, text=True, check=False)
    assert "sleep 60" not in listed.stdout
    assert gone(process.pid)


def test_a_program_that_ends_leaves_nothing_it_has_started():
    process = Supervised("short", ["sh", "-c", "sleep 60 & exit 4"], farewell="quit")
    assert ended(process)
    assert process.end_reason() == "short ended with exit code 4"
    group = process.pid
    process.stop()
    listed = subprocess.run(["ps", "-o", "args=", "-g", str(group)], capture_output=True, text=True, check=False)
    assert "sleep 60" not in listed.stdout
