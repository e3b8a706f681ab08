"""`west aboard`: the repository as a module of a west workspace, made with west itself."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
import yaml

from support import markdown

MANIFEST = """\
manifest:
  projects:
    - name: aboard
      url: {url}
      revision: HEAD
      west-commands: scripts/west-commands.yml
  self:
    path: app
"""


def run(*words: str, folder: Path, **variables: str) -> subprocess.CompletedProcess[str]:
    clean = {key: value for key, value in os.environ.items() if key not in ("ZEPHYR_BASE", "GIT_DIR")}
    return subprocess.run(
        words, cwd=folder, env={**clean, **variables}, capture_output=True, text=True, timeout=300, check=False
    )


def git(folder: Path) -> None:
    """Makes a folder a repository with all its files in one commit."""
    who = ("-c", "user.name=test", "-c", "user.email=test@localhost", "-c", "commit.gpgsign=false")
    for words in (["init", "-q"], ["add", "-A"], [*who, "commit", "-q", "-m", "first"]):
        done = run("git", *words, folder=folder)
        assert done.returncode == 0, done.stderr


class Workspace:
    """A west workspace with the module in it."""

    def __init__(self, folder: Path) -> None:
        self.topdir = folder / "workspace"
        module = folder / "module"
        for name in ("zephyr", "scripts"):
            shutil.copytree(markdown.CHECKOUT / name, module / name, ignore=shutil.ignore_patterns("__pycache__"))
        git(module)
        (self.topdir / "app").mkdir(parents=True)
        (self.topdir / "app" / "west.yml").write_text(MANIFEST.format(url=module.as_uri()))
        for words in (["init", "-l", "app"], ["update"]):
            done = self.west(*words)
            assert done.returncode == 0, done.stderr

    def west(self, *words: str, **variables: str) -> subprocess.CompletedProcess[str]:
        """Runs west at the top of the workspace."""
        return run(sys.executable, "-m", "west", *words, folder=self.topdir, **variables)


@pytest.fixture(scope="module")
def workspace(tmp_path_factory: pytest.TempPathFactory) -> Workspace:
    return Workspace(tmp_path_factory.mktemp("west"))


def test_west_lists_the_command(workspace):
    said = workspace.west("help").stdout
    assert "extension commands from project aboard (path: aboard):" in said
    assert "take machine-learning models aboard boards" in said


@pytest.mark.parametrize(("words", "usage"), [([], "west aboard [OPTIONS]"), (["compile"], "west aboard compile [OPT")])
def test_help_is_that_of_aboard(workspace, words, usage):
    done = workspace.west("aboard", *words, "--help")
    assert done.returncode == 0
    assert done.stdout.startswith(f"Usage: {usage}")


def test_a_model_is_compiled_where_west_is_called(workspace):
    done = workspace.west("aboard", "compile", "digits", "--board", "arm/mps2_an386", "-o", "app/digits", "--json")
    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout)["name"] == "digits"
    assert (workspace.topdir / "app/digits/include/digits.h").is_file()


def test_exit_codes_and_messages_are_those_of_aboard(workspace):
    done = workspace.west("aboard", "compil")
    assert (done.returncode, done.stdout) == (2, "")
    assert "No such command 'compil'. Did you mean compile" in done.stderr
    done = workspace.west("aboard", "compile", "digits", "--board", "arm/mps2_an38")
    assert done.returncode == 1
    assert "board arm/mps2_an38: unknown" in done.stderr


@pytest.fixture
def without_aboard(tmp_path: Path) -> Path:
    """A folder that hides the package from Python."""
    (tmp_path / "hidden" / "aboard").mkdir(parents=True)
    (tmp_path / "hidden" / "aboard" / "__init__.py").write_text("")
    return tmp_path / "hidden"


def test_a_west_in_another_python_takes_the_program_on_path(workspace, without_aboard):
    program = without_aboard.parent / "bin" / "aboard"
    program.parent.mkdir()
    program.write_text('#!/bin/sh\necho "$@"\nexit 3\n')
    program.chmod(0o755)
    path = os.pathsep.join([str(program.parent), os.environ["PATH"]])
    done = workspace.west("aboard", "run", "build/x", "--input", "a b", PYTHONPATH=str(without_aboard), PATH=path)
    assert (done.returncode, done.stdout) == (3, "run build/x --input a b\n")


def test_without_aboard_it_says_how_to_get_it(workspace, without_aboard):
    git_only = without_aboard.parent / "tools"
    git_only.mkdir()
    (git_only / "git").symlink_to(str(shutil.which("git")))
    done = workspace.west("aboard", "boards", PYTHONPATH=str(without_aboard), PATH=str(git_only))
    assert done.returncode == 1
    assert (
        f"aboard: is not installed, got neither a package of {sys.executable} nor a program on PATH, expected one of "
        f"them. Install it: {sys.executable} -m pip install {workspace.topdir / 'aboard'}" in done.stderr
    )


def test_the_module_adds_nothing_to_applications():
    module = yaml.safe_load((markdown.CHECKOUT / "zephyr/module.yml").read_text())
    # Zephyr applications of ours bring a module `aboard` of their own.
    assert module == {"name": "aboard_tools"}
    assert sorted(path.name for path in (markdown.CHECKOUT / "zephyr").iterdir()) == ["module.yml"]
