"""The page on adding a pass: its file and its line of the pipeline, put into a copy of the repository, work."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from support import markdown

PAGE = "docs/how-to/adding_a_pass.md"
TEXT = (markdown.CHECKOUT / PAGE).read_text(encoding="utf-8")
PIPELINE = "host/aboard/passes/pipeline.py"
_PATH = re.compile(r"^# ((?:host|tests)/\S+)\n")
_NEUTRAL = re.compile(r"^NEUTRAL: .*?^\)\n", re.MULTILINE | re.DOTALL)
_IMPORT = "from aboard.passes.merge_reshapes import MergeReshapes\n"


def files() -> dict[str, str]:
    """Returns the text of each file of the page by its path."""
    matches = ((_PATH.match(text), text) for _, text in markdown.blocks(PAGE))
    return {match[1]: text[match.end() :] for match, text in matches if match is not None}


@pytest.fixture(scope="module")
def checkout(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A copy of what the repository needs to compile a model, changed as the page says."""
    copy = tmp_path_factory.mktemp("checkout")
    for folder in ("host", "firmware", "boards", "project_templates", "tests/support"):
        ignored = shutil.ignore_patterns("__pycache__", "*.npz", "build")
        shutil.copytree(markdown.CHECKOUT / folder, copy / folder, ignore=ignored)
    shutil.copy(markdown.CHECKOUT / "pyproject.toml", copy)
    for path, text in files().items():
        if path != PIPELINE:
            (copy / path).parent.mkdir(parents=True, exist_ok=True)
            assert not (copy / path).exists(), f"{path} is no longer a file to add"
            (copy / path).write_text(text, encoding="utf-8")
    pipeline = (copy / PIPELINE).read_text(encoding="utf-8")
    changed = pipeline.replace(_IMPORT, f"from aboard.passes.merge_pads import MergePads\n{_IMPORT}")
    changed, count = _NEUTRAL.subn(files()[PIPELINE], changed)
    assert (count, changed.count("MergePads")) == (1, 2)
    (copy / PIPELINE).write_text(changed, encoding="utf-8")
    return copy


def run(folder: Path, *command: str) -> str:
    environment = {**os.environ, "PYTHONPATH": str(folder / "host"), "PYTHONDONTWRITEBYTECODE": "1"}
    done = subprocess.run(
        [sys.executable, *command],
        cwd=folder,
        env=environment,
        capture_output=True,
        text=True,
        timeout=300,
        check=False,
    )
    assert done.returncode == 0, f"{command}\n{done.stdout}\n{done.stderr}"
    return done.stdout


def test_the_page_has_the_files_it_names() -> None:
    assert sorted(files()) == ["host/aboard/passes/merge_pads.py", PIPELINE, "tests/passes/test_merge_pads.py"]


def test_the_page_adds_one_line_to_the_pipeline() -> None:
    (now,) = _NEUTRAL.findall((markdown.CHECKOUT / PIPELINE).read_text(encoding="utf-8"))
    added = set(files()[PIPELINE].splitlines()) - set(now.splitlines())
    assert added == {"    MergePads(),"}


def test_the_pass_of_the_page_works(checkout: Path) -> None:
    assert "3 passed" in run(
        checkout, "-m", "pytest", "-q", "-p", "no:cacheprovider", "tests/passes/test_merge_pads.py"
    )
    command = "from aboard.cli import main; main()"
    listed = run(checkout, "-c", command, "passes", "--target", "c -mcpu=cortex-m4").splitlines()
    (line,) = [line for line in listed if " merge-pads " in line]
    assert line.split() == ["4", "merge-pads", "neutral", "makes", "a", "pad", "of", "a", "pad", "one", "pad"]


def test_the_files_of_the_page_are_tidy(checkout: Path) -> None:
    run(checkout, "-m", "ruff", "check", *files())
    run(checkout, "-m", "ruff", "format", "--check", *files())


@pytest.mark.parametrize("path", sorted(set(re.findall(r"`((?:host|tests)/[\w/]+\.\w+)`", TEXT)) - set(files())))
def test_files_that_the_page_mentions_exist(path: str) -> None:
    assert (markdown.CHECKOUT / path).is_file()


def test_names_that_the_page_mentions_exist() -> None:
    from aboard.passes import Pass, pipeline, registry, rewriting

    for owner, names in (
        (Pass, ("run", "pending", "unlowerable", "requires")),
        (pipeline, ("NEUTRAL", "HOST")),
        (registry, ("register",)),
        (rewriting, ("only_reader", "can_bypass", "bypass")),
    ):
        for name in names:
            assert hasattr(owner, name), name
            assert f"`{name}`" in TEXT, name
