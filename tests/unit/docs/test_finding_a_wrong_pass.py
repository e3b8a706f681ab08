"""The page on finding a wrong pass: its commands run, and its example prints what the page says."""

from __future__ import annotations

import shlex
import subprocess
import sys
from pathlib import Path

import pytest

from aboard import cli
from support import markdown

BLOCKS = markdown.blocks("docs/how-to/finding_a_wrong_pass.md")
COMMANDS = [line for language, text in BLOCKS if language == "sh" for line in markdown.commands(text)]


@pytest.mark.parametrize("command", COMMANDS)
def test_the_commands_run(
    command: str, capsys: pytest.CaptureFixture[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    words = shlex.split(command)
    assert words[0] == "aboard"
    assert cli.invoke(words[1:]) == 0, capsys.readouterr().err
    captured = capsys.readouterr()
    assert captured.err.count("IR ") == sum(word.startswith("--print-ir") for word in words)


def test_the_wrong_pass_is_found(tmp_path: Path) -> None:
    (script,) = [text for language, text in BLOCKS if language == "python"]
    (expected,) = [text for language, text in BLOCKS if language == "text"]
    (tmp_path / "bisect_passes.py").write_text(script, encoding="utf-8")
    done = subprocess.run(
        [sys.executable, "bisect_passes.py"], cwd=tmp_path, capture_output=True, text=True, timeout=300, check=True
    )
    assert expected.strip() in done.stdout
