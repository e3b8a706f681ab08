"""`aboard new-target`: the package it writes is whole, and its tests pass."""

from __future__ import annotations

import ast
import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from aboard import cli
from aboard.errors import ProjectError, TargetError
from aboard.target import new_target, plugins

FILES = [
    "README.md",
    "my_npu/__init__.py",
    "my_npu/codegen.py",
    "my_npu/patterns.py",
    "my_npu/runtime/my_npu.c",
    "my_npu/runtime/my_npu.h",
    "pyproject.toml",
    "tests/test_my_npu.py",
]


def found_by_python(folder: Path) -> dict[str, str]:
    """Returns the environment of a process in which the package is as good as installed."""
    info = folder / "my_npu-0.1.0.dist-info"
    info.mkdir()
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: my-npu\nVersion: 0.1.0\n")
    (info / "entry_points.txt").write_text(f"[{plugins.GROUP}]\nmy-npu = my_npu:PLUGIN\n")
    return {**os.environ, "PYTHONPATH": str(folder)}


def test_its_tests_pass(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    folder = tmp_path / "package"
    assert cli.invoke(["new-target", "my-npu", "-o", str(folder), "--json"]) == 0
    result = json.loads(capsys.readouterr().out)
    assert (result["name"], result["path"], result["files"]) == ("my-npu", str(folder), FILES)
    command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", str(folder)]
    done = subprocess.run(command, cwd=folder, env=found_by_python(folder), capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    assert "3 passed" in done.stdout


def test_every_file_is_rendered() -> None:
    files = new_target.render("my-npu")
    assert sorted(files) == FILES
    assert not any(mark in text for mark in ("{{ module", "{%") for text in files.values())
    for path, text in files.items():
        if path.endswith(".py"):
            ast.parse(text)
    assert 'my-npu = "my_npu:PLUGIN"' in files["pyproject.toml"]


def test_names_and_folders_that_will_not_do(tmp_path: Path) -> None:
    with pytest.raises(
        TargetError, match=r"kind 'My NPU': not a name of a kind, expected lower case words as in my-npu"
    ):
        new_target.write("My NPU", tmp_path / "x")
    with pytest.raises(TargetError, match=r"kind cmsis-nn: is there already, expected a name of its own\. Rename it"):
        new_target.write("cmsis-nn", tmp_path / "x")
    with pytest.raises(TargetError, match=r"kind nucleo-f7: is taken by a board, expected a name of its own\. Rename"):
        new_target.write("nucleo-f7", tmp_path / "x")
    (tmp_path / "full").mkdir()
    (tmp_path / "full" / "file").write_text("")
    with pytest.raises(ProjectError, match=r"full: holds 1 file that aboard did not write \(file\), expected a new"):
        new_target.write("my-npu", tmp_path / "full")
    assert sorted(path.name for path in tmp_path.iterdir()) == ["full"]
