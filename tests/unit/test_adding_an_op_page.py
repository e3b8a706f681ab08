"""The page on adding an op: its files, put into a copy of the repository, are all it takes."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from support import markdown

PAGE = "docs/how-to/adding_an_op.md"
TEXT = (markdown.CHECKOUT / PAGE).read_text(encoding="utf-8")
_PATH = re.compile(r"^(?:#|/\*) ((?:host|firmware|tests)/\S+)\n")


def files() -> dict[str, str]:
    """Returns the text of each file of the page, by its path; the line with the path is left out of Python files."""
    found = {}
    for language, text in markdown.blocks(PAGE):
        match = _PATH.match(text)
        if match is not None:
            found[match[1]] = text[match.end() :] if language == "python" else text
    return found


@pytest.fixture(scope="module")
def checkout(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A copy of what the repository needs to compile a model, with the files of the page in it."""
    copy = tmp_path_factory.mktemp("checkout")
    for folder in ("host", "firmware", "boards", "project_templates", "tests/support"):
        ignored = shutil.ignore_patterns("__pycache__", "*.npz", "build")
        shutil.copytree(markdown.CHECKOUT / folder, copy / folder, ignore=ignored)
    shutil.copy(markdown.CHECKOUT / "pyproject.toml", copy)
    for path, text in files().items():
        (copy / path).parent.mkdir(parents=True, exist_ok=True)
        assert not (copy / path).exists(), f"{path} is no longer a file to add"
        (copy / path).write_text(text, encoding="utf-8")
    return copy


def run(folder: Path, *command: str) -> None:
    environment = {**os.environ, "PYTHONPATH": str(folder / "host"), "PYTHONDONTWRITEBYTECODE": "1"}
    done = subprocess.run(
        [sys.executable, "-m", *command],
        cwd=folder,
        env=environment,
        capture_output=True,
        text=True,
        timeout=300,
        check=False,
    )
    assert done.returncode == 0, f"{command}\n{done.stdout}\n{done.stderr}"


def test_the_page_has_the_files_it_names() -> None:
    assert sorted(files()) == [
        "firmware/kernels/portable/relu_0_to_1.h",
        "host/aboard/kernels/portable/relu_0_to_1.py",
        "host/aboard/ops/relu_0_to_1.py",
        "tests/ops/test_relu_0_to_1.py",
    ]


def test_the_op_of_the_page_works(checkout: Path) -> None:
    run(checkout, "pytest", "-q", "-p", "no:cacheprovider", "tests/ops/test_relu_0_to_1.py")


def test_the_files_of_the_page_are_tidy(checkout: Path) -> None:
    paths = [path for path in files() if path.endswith(".py")]
    run(checkout, "ruff", "check", *paths)
    run(checkout, "ruff", "format", "--check", *paths)


@pytest.mark.parametrize(
    "path", sorted(set(re.findall(r"`((?:host|tests|firmware)/[\w/]+\.\w+)`", TEXT)) - set(files()))
)
def test_files_that_the_page_mentions_exist(path: str) -> None:
    assert (markdown.CHECKOUT / path).is_file()


def test_names_that_the_page_mentions_exist() -> None:
    from aboard.ir import Attributes
    from aboard.kernels import ConstantArg, Implementation, KernelCall, ScratchArg
    from aboard.ops import Op, SourceNode

    for owner, names in (
        (
            Op,
            ("attributes", "from_tflite", "infer", "verify", "evaluate", "shares", "macs", "elementwise", "moves_data"),
        ),
        (SourceNode, ("unsupported",)),
        (Implementation, ("keys", "formula", "lower", "in_place", "strided")),
    ):
        for name in names:
            assert hasattr(owner, name), f"{owner.__name__}.{name}"
            assert f"`{name}" in TEXT or f".{name}" in TEXT, name
    assert "step_rows" in KernelCall.__dataclass_fields__
    for known in (Attributes, ConstantArg, ScratchArg):
        assert known.__name__ in TEXT
