"""`aboard new-target`: the package it writes is whole, and its tests pass."""

from __future__ import annotations

import ast
import json
import os
import shlex
import subprocess
import sys
from pathlib import Path

import pytest

import aboard
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


def printed(folder: Path, capsys: pytest.CaptureFixture[str]) -> str:
    assert cli.invoke(["new-target", "my-npu", "-o", str(folder)]) == 0
    (line,) = [line for line in capsys.readouterr().out.splitlines() if line.startswith("Next: ")]
    return line.removeprefix("Next: ")


def test_the_printed_command_names_programs_that_are_there(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    # From a folder below which Python does not lie, it is named whole.
    monkeypatch.chdir(tmp_path)
    command = printed(tmp_path / "my npu", capsys)
    install, test = (shlex.split(part) for part in command.split(" && "))
    package = tmp_path / "my npu"
    assert install == [sys.executable, "-m", "pip", "install", "-e", f"{package}[test]"]
    assert test == [sys.executable, "-m", "pytest", str(package)]
    for words in (install[:3], test[:3]):
        subprocess.run([*words, "--version"], env={"PATH": ""}, check=True, capture_output=True)
    monkeypatch.chdir(Path(sys.executable).parent.parent)
    python = str(Path(sys.executable).relative_to(Path.cwd()))
    assert new_target.next_command(Path("p")) == (f"{python} -m pip install -e 'p[test]' && {python} -m pytest p")


def test_a_python_without_pip_gets_another_command(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(new_target.PathFinder, "find_spec", lambda name, *_: None if name == "pip" else name)
    python = shlex.quote(sys.executable)
    assert new_target.next_command(Path("p")).split(" && ")[:2] == [
        f"{python} -m ensurepip",
        f"{python} -m pip install -e 'p[test]'",
    ]
    monkeypatch.setattr(new_target.PathFinder, "find_spec", lambda *_: None)
    assert new_target.next_command(Path("p")).startswith(f"uv pip install --python {python} -e 'p[test]' && ")


@pytest.mark.skipif(not os.environ.get("ABOARD_FULL"), reason="makes a virtual environment")
def test_the_printed_command_works_in_a_new_environment(tmp_path: Path) -> None:
    subprocess.run([sys.executable, "-m", "venv", str(tmp_path / "venv")], check=True)
    python = tmp_path / "venv/bin/python"
    # What aboard needs comes from the environment of the tests; pip fetches the build system, as for a user.
    (site,) = (tmp_path / "venv").glob("lib/python*/site-packages")
    (site / "tests.pth").write_text("\n".join(path for path in sys.path if path.endswith("site-packages")))
    environment = {**os.environ, "PYTHONPATH": str(Path(aboard.__file__).parent.parent)}
    written = subprocess.run(
        [python, "-c", "from aboard.cli import main; main()", "new-target", "my-npu", "--json"],
        cwd=tmp_path, env=environment, check=True, capture_output=True, text=True,
    )  # fmt: skip
    command = json.loads(written.stdout)["next"]
    assert command == "venv/bin/python -m pip install -e 'my_npu[test]' && venv/bin/python -m pytest my_npu"
    done = subprocess.run(
        command, shell=True, cwd=tmp_path, env=environment, capture_output=True, text=True, check=False
    )
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
