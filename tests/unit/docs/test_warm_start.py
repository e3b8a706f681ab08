"""Commands of the documentation's pages begin with aboard imported, and are as any other for all that."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from support import markdown, warm_start

USUAL = [sys.executable, "-c", "from aboard.cli import main; main()"]


@pytest.mark.parametrize(
    ("line", "code"),
    [
        ("boards show acme/kit", 1),
        ("targets --nothing", 2),
        ("new-target my-npu -o package", 0),
        ("run package", 1),
    ],
)
def test_streams_folder_variables_and_exit_code_are_those_of_a_usual_one(line: str, code: int, tmp_path: Path) -> None:
    told = []
    for number, program in enumerate((USUAL, warm_start.program())):
        folder = tmp_path / str(number) / "here"
        folder.mkdir(parents=True)
        environment = {**os.environ, "COLUMNS": "60", "ABOARD_TUNING": "none"}
        done = subprocess.run(
            [*program, *line.split()], cwd=folder, env=environment, capture_output=True, text=True, check=False
        )
        made = sorted(str(path.relative_to(folder)) for path in folder.rglob("*"))
        told.append((done.returncode, done.stdout.replace(str(folder), ""), done.stderr.replace(str(folder), ""), made))
    assert told[0] == told[1]
    assert told[1][0] == code


def test_commands_of_a_shell_are_joined_as_usual(tmp_path: Path) -> None:
    assert markdown.run("aboard --version | tr a-z A-Z", tmp_path).startswith("ABOARD ")
    assert markdown.run("aboard compile nothing 2>/dev/null || echo $?", tmp_path) == "2\n"
    with pytest.raises(AssertionError, match=r"aboard boards show nowhere: exit code 1\n"):
        markdown.run("aboard boards show nowhere", tmp_path)
