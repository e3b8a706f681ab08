"""A copy of the repository to which the files of a page of the documentation are added."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path

from support import markdown

#: What a model needs to be compiled, and tests to be run.
_FOLDERS = ("host", "firmware", "boards", "project_templates", "tests/support")
_FILES = ("pyproject.toml", ".clang-format")

_PATH = re.compile(r"^(?:#|/\*) ((?:host|firmware|tests)/\S+)\n")


def files(page: str) -> dict[str, str]:
    """Returns the text of each block of a page that begins with a path, by that path.

    C keeps the line with the path, which is part of the header's first comment.
    """
    found = {}
    for language, text in markdown.blocks(page):
        match = _PATH.match(text)
        if match is not None:
            found[match[1]] = text if language == "c" else text[match.end() :]
    return found


def copy(folder: Path, *more: str) -> Path:
    """Copies the repository into a folder and returns it, with the bytecode that is there of files as they are.

    Args:
        folder: An empty folder.
        more: Further files and folders, by their paths in the repository.
    """
    for name in (*_FOLDERS, *_FILES, *more):
        source, place = markdown.CHECKOUT / name, folder / name
        place.parent.mkdir(parents=True, exist_ok=True)
        if source.is_dir():
            shutil.copytree(source, place, ignore=shutil.ignore_patterns("*.npz", "build"))
        else:
            shutil.copy(source, place)
    return folder


def add(folder: Path, texts: Mapping[str, str]) -> None:
    """Adds files to a copy; TOML is added at the end of the file that is there.

    Raises:
        AssertionError: Another file is already there.
    """
    for path, text in texts.items():
        place = folder / path
        if place.suffix == ".toml":
            text = f"{place.read_text(encoding='utf-8')}\n{text}"
        else:
            assert not place.exists(), f"{path} is no longer a file to add"
        place.parent.mkdir(parents=True, exist_ok=True)
        place.write_text(text, encoding="utf-8")


def run(folder: Path, *command: str) -> str:
    """Runs a Python command in a copy, with the copy's package, and returns what it printed.

    Raises:
        AssertionError: It failed.
    """
    environment = {**os.environ, "PYTHONPATH": str(folder / "host"), "PYTHONDONTWRITEBYTECODE": "1"}
    program = [sys.executable, *command]
    done = subprocess.run(
        program, cwd=folder, env=environment, capture_output=True, text=True, timeout=600, check=False
    )
    assert done.returncode == 0, f"{command}\n{done.stdout}\n{done.stderr}"
    return done.stdout


def made(*arguments: str) -> list[list[str]]:
    """Returns the commands of benchmarks that `make` would run, as arguments of Python."""
    done = subprocess.run(
        ["make", "-n", *arguments], cwd=markdown.CHECKOUT, capture_output=True, text=True, timeout=60, check=True
    )
    return [line.split()[1:] for line in done.stdout.splitlines() if " tests/bench/" in line]
