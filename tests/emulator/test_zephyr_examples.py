"""The Zephyr applications of the examples, built and run where ZEPHYR_BASE names a tree; else deselected."""

from __future__ import annotations

import os
import shutil
import subprocess
from pathlib import Path

import pytest

from aboard.base import programs
from aboard.boards import cpu
from aboard.boards.zephyr import cmake, toolchain, workspace
from support import markdown

EXAMPLES = markdown.CHECKOUT / "docs" / "examples"
NAMES = sorted(path.parts[-3] for path in EXAMPLES.glob("*/zephyr/CMakeLists.txt"))


@pytest.mark.parametrize("name", NAMES if os.environ.get(workspace.BASE) else [])
def test_decisions_on_zephyr_equal_those_of_numpy(name: str, tmp_path: Path) -> None:
    for folder in ("board", "common", name):
        ignored = shutil.ignore_patterns("build", "__pycache__")
        shutil.copytree(EXAMPLES / folder, tmp_path / folder, ignore=ignored)
    blocks = [text for language, text in markdown.blocks(f"docs/examples/{name}/README.md") if language == "text"]
    (script,) = (text for text in blocks if "west build -b mps2/an385" in text)
    *before, build, evaluate = markdown.commands(script)
    assert build == "west build -b mps2/an385 -d build/zephyr zephyr"
    for line in before:
        markdown.run(line, tmp_path / name)
    hint = "Install it"
    tools = cmake.Tools(programs.require("cmake", hint), programs.require("ninja", hint))
    tree, chosen = workspace.find(tmp_path), toolchain.variables(cpu.find("cortex-m3"), None)
    configure = cmake.configure(tools, tree, Path("zephyr"), Path("build/zephyr"), "mps2/an385", chosen)
    for command in (configure, cmake.build(tools, Path("build/zephyr"))):
        environment = cmake.environment(tree, os.environ)
        done = subprocess.run(
            command, cwd=tmp_path / name, env=environment, capture_output=True, text=True, check=False
        )
        assert done.returncode == 0, done.stdout + done.stderr
    assert "decisions equal those of numpy" in markdown.run(evaluate, tmp_path / name)
