"""The steps of docs/how-to/adding_a_device.md, each with the files up to it, and none of aboard."""

from __future__ import annotations

import re
import shutil
from dataclasses import dataclass
from pathlib import Path

import pytest

from conftest import PACKAGE
from support import markdown

PAGE = markdown.CHECKOUT / "docs/how-to/adding_a_device.md"
_STEP = re.compile(r"^### \d+\. (.+?)$(.*?)(?=^### |\Z)", re.MULTILINE | re.DOTALL)


@dataclass(frozen=True)
class Step:
    """A step: its files, pieces of them, and commands with what they print."""

    title: str
    files: tuple[str, ...]
    touched: int
    excerpts: tuple[tuple[str, str], ...]
    commands: tuple[tuple[str, tuple[str, ...]], ...]


def blocks(text: str, language: str) -> list[str]:
    return re.findall(rf"^```{language}\n(.*?)^```$", text, re.MULTILINE | re.DOTALL)


def commands(text: str) -> list[tuple[str, tuple[str, ...]]]:
    parts = [part.splitlines() for block in blocks(text, "console") for part in block.split("$ ") if part]
    return [(lines[0], tuple(line.strip() for line in lines[1:])) for lines in parts]


def steps() -> list[Step]:
    found = []
    for title, text in _STEP.findall(PAGE.read_text(encoding="utf-8").split("## A whole device in steps")[1]):
        (line,) = re.findall(r"^Files: (.*?)Files touched in aboard: (\d+)\.$", text, re.MULTILINE | re.DOTALL)
        files = tuple(re.findall(r"`([\w/.]+)`", line[0]))
        excerpts = [tuple(block.split("\n", 1)) for block in blocks(text, "py")]
        pairs = tuple((head.removeprefix("# "), body) for head, body in excerpts)
        found.append(Step(title, files, int(line[1]), pairs, tuple(commands(text))))
    return found


def test_the_steps_make_the_package_and_touch_nothing_else() -> None:
    listed = [file for step in steps() for file in step.files]
    there = {path.relative_to(PACKAGE).as_posix() for path in PACKAGE.rglob("*") if path.is_file()}
    made = {
        file for file in there if not re.search(r"__pycache__|^tests/|^README\.md$|py\.typed$|egg-info|^build/", file)
    }
    assert sorted(listed) == sorted(made)
    assert [step.touched for step in steps()] == [0] * 7


def test_excerpts_are_of_the_files() -> None:
    excerpts = [excerpt for step in steps() for excerpt in step.excerpts]
    assert len(excerpts) == 7
    for file, text in excerpts:
        assert text in (PACKAGE / file).read_text(encoding="utf-8"), file
    entry = blocks(PAGE.read_text(encoding="utf-8"), "toml")[-1]
    assert entry in (PACKAGE / "pyproject.toml").read_text(encoding="utf-8")


def test_commands_of_the_steps_run_with_the_files_up_to_them(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    installed, work = tmp_path / "installed", tmp_path / "work"
    work.mkdir()
    monkeypatch.setenv("PYTHONPATH", str(installed))
    monkeypatch.setenv("PYTHONDONTWRITEBYTECODE", "1")
    monkeypatch.setenv("COLUMNS", "200")
    information = installed / "npu_demo-0.1.0.dist-info"
    information.mkdir(parents=True)
    (information / "METADATA").write_text("Metadata-Version: 2.1\nName: npu-demo\nVersion: 0.1.0\n")
    (information / "entry_points.txt").write_text("[aboard.targets]\nnpu-demo = npu_demo:PLUGIN\n")
    ran = 0
    for step in steps():
        for file in step.files:
            (installed / file).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy(PACKAGE / file, installed / file)
        for command, expected in step.commands:
            printed = markdown.run(command, work)
            missing = [line for line in expected if line not in printed]
            assert not missing, f"{step.title}: {command}: {printed}"
            ran += 1
    assert ran == 8


def test_nothing_of_aboard_knows_the_device() -> None:
    """Without the package there is no trace of it: outside of docs nothing names it."""
    word = re.compile(r"npu.demo", re.IGNORECASE)
    for folder in ("host", "firmware", "boards", "project_templates", "tests"):
        for path in (markdown.CHECKOUT / folder).rglob("*"):
            if path.is_file() and path.suffix in (".py", ".c", ".h", ".toml", ".j2", ".json", ".txt", ".cmake", ".md"):
                assert not word.search(path.read_text(encoding="utf-8")), path
