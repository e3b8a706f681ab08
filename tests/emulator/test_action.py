"""The GitHub Action: its file has the form that GitHub reads, and its steps do what its page says."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sysconfig
from pathlib import Path
from typing import Any

import jsonschema
import pytest
import yaml

from aboard.base import resources, toml
from support import markdown, warm_start

FOLDER = markdown.CHECKOUT / ".github" / "actions" / "verify"
ACTION: dict[str, Any] = yaml.safe_load((FOLDER / "action.yml").read_text(encoding="utf-8"))
STEPS: dict[str, dict[str, Any]] = {step["name"]: step for step in ACTION["runs"]["steps"] if "run" in step}
INSTALL, VERIFY, TEST = STEPS

#: The part of GitHub's syntax of composite actions that is used.
_TEXT = {"type": "string", "minLength": 1}
_INPUT = {
    "type": "object",
    "required": ["description"],
    "properties": {"description": _TEXT, "required": {"type": "boolean"}, "default": {"type": "string"}},
    "additionalProperties": False,
}
_STEP = {
    "type": "object",
    "properties": {
        "name": _TEXT,
        "uses": {"type": "string", "pattern": r"^actions/[a-z-]+@v\d+$"},
        "with": {"type": "object"},
        "if": _TEXT,
        "shell": {"const": "bash"},
        "env": {"type": "object", "additionalProperties": {"type": "string"}},
        "run": _TEXT,
    },
    "oneOf": [{"required": ["uses"]}, {"required": ["name", "run", "shell"]}],
    "additionalProperties": False,
}
SCHEMA = {
    "type": "object",
    "required": ["name", "description", "inputs", "runs"],
    "properties": {
        "name": _TEXT,
        "description": _TEXT,
        "inputs": {"type": "object", "additionalProperties": _INPUT},
        "runs": {
            "type": "object",
            "required": ["using", "steps"],
            "properties": {"using": {"const": "composite"}, "steps": {"type": "array", "items": _STEP, "minItems": 1}},
            "additionalProperties": False,
        },
    },
    "additionalProperties": False,
}


def run(step: str, folder: Path, path: str = "", **inputs: str) -> subprocess.CompletedProcess[str]:
    """Runs a step as GitHub does: bash with -e and pipefail, and the inputs in its variables."""
    given = {name: str(value.get("default", "")) for name, value in ACTION["inputs"].items()} | inputs
    env = {
        name: re.sub(r"\$\{\{ inputs\.(\w+) \}\}", lambda found: given[found[1]], value)
        for name, value in STEPS[step].get("env", {}).items()
    }
    scripts = path or f"{warm_start.folder() or ''}:{sysconfig.get_path('scripts')}"
    return subprocess.run(
        ["bash", "--noprofile", "--norc", "-eo", "pipefail", "-c", STEPS[step]["run"]],
        cwd=folder,
        env={**os.environ, **env, "PATH": f"{scripts}:{os.environ['PATH']}", "GITHUB_ACTION_PATH": str(FOLDER)},
        capture_output=True,
        text=True,
        timeout=300,
        check=False,
    )


def test_the_file_has_the_form_of_a_composite_action() -> None:
    jsonschema.validate(ACTION, SCHEMA)
    used = set(re.findall(r"inputs\.(\w+)", yaml.safe_dump(ACTION["runs"])))
    assert used == set(ACTION["inputs"])
    # An input inside of a script would be code.
    assert not any("${{" in step["run"] for step in STEPS.values())


def test_the_model_is_verified_on_each_board(tmp_path: Path) -> None:
    shutil.copy(resources.models() / "digits.tflite", tmp_path / "my model.tflite")
    done = run(VERIFY, tmp_path, model="my model.tflite", boards="arm/mps2_an386 bbc/microbit", samples="1")
    assert done.returncode == 0, done.stderr
    assert done.stdout.count("0 differing bytes") == 2
    missing = run(VERIFY, tmp_path, model="none.tflite")
    assert (missing.returncode, "none.tflite: no such file" in missing.stderr) == (1, True)


@pytest.mark.parametrize(("expected", "code"), [(10, 0), (11, 1)])
def test_tests_run_on_the_board(expected: int, code: int, tmp_path: Path) -> None:
    assert STEPS[TEST]["if"] == "inputs.tests != ''"
    (tmp_path / "test_it.py").write_text(
        "import numpy as np, pytest\n\n\n"
        '@pytest.mark.aboard_model("digits")\n'
        "def test_it(aboard_device):\n"
        f"    assert aboard_device.run(np.zeros((1, 8, 8, 1), np.int8)).size == {expected}\n",
        encoding="utf-8",
    )
    done = run(TEST, tmp_path, tests="test_it.py")
    assert done.returncode == code, done.stdout + done.stderr


def test_the_package_is_installed_from_the_checkout(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("python", "apt-get"):
        (tmp_path / name).write_text('#!/bin/sh\nprintf "%s\\n" "$@" >> "$OUT"\n', encoding="utf-8")
        (tmp_path / name).chmod(0o755)
    monkeypatch.setenv("OUT", str(tmp_path / "out.txt"))
    done = run(INSTALL, tmp_path, str(tmp_path))
    assert done.returncode == 0, done.stderr
    words = (tmp_path / "out.txt").read_text(encoding="utf-8").splitlines()
    assert words[-6:-1] == ["-m", "pip", "install", "--quiet", "pytest"]
    checkout, _, extras = words[-1].rstrip("]").partition("[")
    assert Path(checkout) == markdown.CHECKOUT
    known = toml.read(markdown.CHECKOUT / "pyproject.toml")["project"]["optional-dependencies"]
    assert set(extras.split(",")) <= set(known)


def test_the_page_names_every_input() -> None:
    blocks = [text for _, text in markdown.blocks("docs/how-to/renode_and_ci.md") if "actions/verify" in text]
    (workflow,) = [yaml.safe_load(text) for text in blocks]
    (step,) = [step for step in workflow["jobs"]["model"]["steps"] if "with" in step]
    assert set(step["with"]) <= set(ACTION["inputs"])
    assert {name for name, each in ACTION["inputs"].items() if each.get("required")} <= set(step["with"])
    text = (markdown.CHECKOUT / "docs/how-to/renode_and_ci.md").read_text(encoding="utf-8")
    assert all(f"| `{name}` |" in text for name in ACTION["inputs"])
