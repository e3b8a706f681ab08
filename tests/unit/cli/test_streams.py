"""Outputs that cannot be written, disks that are full, names that are too long: one line, and no bug of ours."""

from __future__ import annotations

import json
import os
import re
import shlex
import subprocess
import sys
from pathlib import Path

import pytest

from support import warm_start

MAIN = f"{sys.executable} -c 'from aboard.cli import main; main()'"
FULL = "error: standard output: cannot be written, got No space left on device. Send it elsewhere\n"
CLOSED = "error: standard output: cannot be written, got Bad file descriptor. Send it elsewhere\n"


def shell(line: str, folder: Path, main: str = MAIN, /, **variables: str) -> subprocess.CompletedProcess[str]:
    """Runs a line of bash in which `aboard` is this one; a pipe fails when a part of it does."""
    script = f'set -o pipefail; aboard() {{ {main} "$@"; }}; {line}'
    return subprocess.run(
        ["bash", "-c", script],
        cwd=folder,
        env={**os.environ, **variables},
        capture_output=True,
        text=True,
        check=False,
        timeout=300,
    )


@pytest.mark.parametrize(
    ("line", "stderr"),
    [
        ("aboard targets >/dev/full", FULL),
        ("aboard targets --json >/dev/full", FULL),
        ("aboard boards show nowhere --json >/dev/full", None),
        ("aboard --help >/dev/full", FULL),
        ("aboard --version >/dev/full", FULL),
        ("aboard targets >&-", CLOSED),
        ("aboard targets <&- >&-", CLOSED),
        ("aboard --help >&-", CLOSED),
        ("aboard targets >&- 2>&-", ""),
        ("aboard boards show nowhere 2>/dev/full", ""),
        ("aboard boards show nowhere 2>&-", ""),
    ],
)
def test_an_output_that_cannot_be_written_is_one_line(line: str, stderr: str | None, tmp_path: Path) -> None:
    done = shell(line, tmp_path)
    assert done.returncode == 1
    if stderr is None:
        assert re.fullmatch(r"error: board nowhere: .*\n", done.stderr)
    else:
        assert done.stderr == stderr


@pytest.mark.parametrize("words", ["boards | head -1", "boards --json | head -c1", "--help | head -1"])
def test_a_reader_that_goes_away_is_no_error(words: str, tmp_path: Path) -> None:
    done = shell(f"aboard {words}", tmp_path)
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout


def test_any_name_can_be_said_in_any_locale(tmp_path: Path) -> None:
    done = shell("aboard boards show $'\\xff\\u2014'", tmp_path, PYTHONIOENCODING="ascii", LC_ALL="C")
    assert done.returncode == 1
    assert done.stderr.startswith("error: board ")


LONG = "n" * 300


@pytest.mark.parametrize(
    ("line", "words"),
    [
        (
            f"aboard compile digits -t 'c -runtime=host' --name {LONG} -o out",
            "name of the model, got 300 characters, expected at most 100. Shorten it",
        ),
        (f"aboard compile {LONG} -t 'c -runtime=host' -o out", r"n\.\.\.n+ \(300 characters\): File name too long"),
        (f"aboard compile digits -t 'c -runtime=host' -o {LONG}", r"\(300 characters\): cannot be written, got File"),
        (
            f"aboard compile digits -t 'c -runtime=host' -o {'d/' * 2500}",
            r"\(4999 characters\): cannot be written, got",
        ),
        (f"aboard report digits -t 'c -runtime=host' -o {LONG}", r"\(300 characters\): cannot be written, got File"),
        (
            "ulimit -f 8; aboard compile digits -t 'c -runtime=host' -o out",
            "out: cannot be written, got File too large",
        ),
        ("ulimit -f 8; aboard verify digits -b host/native", "cannot be written, got File too large"),
        (
            "ulimit -f 8; aboard report digits -t 'c -mcpu=cortex-m4' -o out",
            "out: cannot be written, got File too large",
        ),
        ("aboard report digits -t 'c -mcpu=cortex-m4' -o /dev/full", "/dev/full: cannot be written, got No space left"),
        (
            "mkdir x; cd x; rmdir ../x; aboard compile digits -t 'c -runtime=host'",
            "No such file or directory|is not there",
        ),
    ],
)
def test_what_the_machine_refuses_is_one_line(line: str, words: str, tmp_path: Path) -> None:
    temporary = tmp_path / "tmp"
    temporary.mkdir()
    # A limit and a folder that is gone are those of a process and of its children alone.
    begins = MAIN if "ulimit" in line or "rmdir" in line else shlex.join(warm_start.program())
    done = shell(line, tmp_path, begins, TMPDIR=str(temporary))
    assert done.returncode == 1
    assert re.fullmatch(rf"error: .*(?:{words}).*\n", done.stderr)
    assert len(done.stderr) < 500
    assert sorted(path.name for path in tmp_path.iterdir()) == ["tmp"]
    assert list(temporary.iterdir()) == []


def test_the_longest_name_that_there_is(tmp_path: Path) -> None:
    name = "n" * 255
    done = shell(f"aboard compile digits -t 'c -runtime=host' -o {name}", tmp_path)
    assert (done.returncode, done.stderr) == (0, "")
    assert (tmp_path / name / "manifest.json").is_file()


def test_what_a_killed_command_left_is_removed_by_the_next(tmp_path: Path) -> None:
    temporary = tmp_path / "tmp"
    temporary.mkdir()
    code = (
        "import os; from pathlib import Path; from aboard.base.scratch import Scratch; "
        "a = Scratch(); b = Scratch(beside=Path('out').absolute()); os.kill(os.getpid(), 9)"
    )
    shell(f'{sys.executable} -c "{code}"', tmp_path, TMPDIR=str(temporary))
    assert len(list(temporary.iterdir())) == 2
    assert len(list(tmp_path.iterdir())) == 2
    assert shell("aboard boards", tmp_path, TMPDIR=str(temporary)).returncode == 0
    assert list(temporary.iterdir()) == []
    assert [path.name for path in tmp_path.iterdir()] == ["tmp"]


UNSUPPORTED = """
import importlib.abc
import sys

class Missing(importlib.abc.MetaPathFinder):
    def find_spec(self, name, path, target=None):
        if name in ("fcntl", "termios", "pty", "tty", "resource", "pwd", "grp"):
            raise ModuleNotFoundError(f"No module named {name!r}", name=name)

for name in ("fcntl", "termios", "pty", "tty", "resource", "pwd", "grp"):
    sys.modules.pop(name, None)
sys.meta_path.insert(0, Missing())
from aboard.cli import main
sys.platform = "win32"
sys.argv = ["aboard", *sys.argv[1:]]
main()
"""
WINDOWS = (
    "Windows: this part of aboard does not run on this system, expected Linux or macOS. Use it in WSL2 "
    "(docs/how-to/installation.md)"
)


@pytest.mark.parametrize("words", [["targets"], ["build", "."], ["compile", "digits", "-b", "host/native"]])
def test_a_system_that_is_not_supported_is_one_line(words: list[str], tmp_path: Path) -> None:
    command = [sys.executable, "-c", UNSUPPORTED, *words, "--json"]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr) == (1, f"error: {WINDOWS}\n")
    assert json.loads(done.stdout)["error"]["message"] == WINDOWS
    assert list(tmp_path.iterdir()) == []
