"""A command that is stopped in the middle leaves no process and no folder behind."""

from __future__ import annotations

import os
import pty
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import pytest

DEADLINE_S = 60
#: A shell that runs the tests in the background has told its processes to ignore SIGINT, as a terminal has not.
HEARS = "import signal; signal.signal(signal.SIGINT, signal.default_int_handler)"
COMMAND = [sys.executable, "-c", f"{HEARS}; from aboard.cli import main; main()"]
ENDLESS = ["verify", "digits", "--board", "arm/mps2_an386", "--samples", "20000"]


def processes_about(folder: Path) -> list[str]:
    """Returns the command lines of the processes that name a folder, or work in it."""
    found = []
    for entry in Path("/proc").iterdir():
        if not entry.name.isdigit() or int(entry.name) == os.getpid():
            continue
        try:
            words = (entry / "cmdline").read_bytes().decode(errors="replace")
            place = str((entry / "cwd").readlink())
        except OSError:
            continue
        if str(folder) in words or place.startswith(str(folder)):
            found.append(words)
    return found


def is_running(program: str, folder: Path) -> bool:
    return any(program in words for words in processes_about(folder))


def wait(condition: Callable[[], bool], what: str) -> None:
    end = time.monotonic() + DEADLINE_S
    while not condition():
        assert time.monotonic() < end, f"{what}: not within {DEADLINE_S} s"
        time.sleep(0.05)


@pytest.mark.parametrize("program", ["ninja", "qemu"])
@pytest.mark.parametrize(("stop", "code"), [(signal.SIGTERM, 143), (signal.SIGINT, 130)])
def test_a_stopped_command_cleans_up(stop: signal.Signals, code: int, program: str, tmp_path: Path) -> None:
    temporary = tmp_path / "tmp"
    temporary.mkdir()
    with subprocess.Popen(
        [*COMMAND, *ENDLESS],
        env={**os.environ, "TMPDIR": str(temporary)},
        cwd=tmp_path,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
    ) as running:
        try:
            wait(lambda: running.poll() is not None or is_running(program, temporary), f"{program} starts")
            running.send_signal(stop)
            out, err = running.communicate(timeout=DEADLINE_S)
        finally:
            running.kill()
    assert running.returncode == code, err
    assert out == ""
    assert "Traceback" not in err
    wait(lambda: not processes_about(temporary), "the processes end")
    assert list(temporary.iterdir()) == []
    assert [path.name for path in tmp_path.iterdir()] == ["tmp"]


@pytest.mark.parametrize("program", ["ninja", "qemu"])
def test_what_a_killed_command_leaves_is_ended_and_removed_by_the_next(program: str, tmp_path: Path) -> None:
    temporary = tmp_path / "tmp"
    temporary.mkdir()
    environment = {**os.environ, "TMPDIR": str(temporary)}
    with subprocess.Popen(
        [*COMMAND, *ENDLESS], env=environment, cwd=tmp_path, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
    ) as running:
        try:
            wait(lambda: running.poll() is not None or is_running(program, temporary), f"{program} starts")
        finally:
            running.kill()
    wait(lambda: not processes_about(temporary), "the processes end")
    assert list(temporary.glob("aboard-tmp-*"))
    subprocess.run([*COMMAND, "boards"], env=environment, cwd=tmp_path, stdout=subprocess.DEVNULL, check=True)
    assert list(temporary.glob("*aboard*")) == []
    assert [path.name for path in tmp_path.iterdir()] == ["tmp"]


def test_progress_is_shown_on_a_terminal_only(tmp_path: Path) -> None:
    ours, theirs = pty.openpty()
    words = ["verify", "digits", "--board", "arm/mps2_an386", "--samples", "3", "--json"]
    with os.fdopen(ours, "rb", buffering=0) as screen:
        done = subprocess.Popen(
            [*COMMAND, *words], cwd=tmp_path, env={**os.environ, "TERM": "xterm"}, stdout=subprocess.PIPE, stderr=theirs
        )
        os.close(theirs)
        shown = bytearray()
        while True:
            try:
                shown += screen.read(4096) or b""
            except OSError:  # the other end is closed
                break
        out, _ = done.communicate(timeout=DEADLINE_S)
    assert done.returncode == 0, shown.decode()
    assert out.startswith(b'{"board":') or out.count(b"\n") == 1
    assert b"comparing with" in shown
