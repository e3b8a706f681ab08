"""The pages on templates: their commands run, and the template of the walk works with nothing else added."""

from __future__ import annotations

import re
from pathlib import Path

import numpy as np
import pytest

import aboard
from aboard.base import resources
from aboard.project import templates
from aboard.project.templates import Template
from support import markdown

WALK = "docs/how-to/adding_a_template.md"
OVERVIEW = "docs/reference/templates.md"
_PATH = re.compile(r"^(?:#|/\*|\{#) (templates/\S+)(?: \*/| #\})?\n")


def files() -> dict[str, str]:
    """Returns the files of the walk by path, without the line that names them."""
    found = {}
    for _, text in markdown.blocks(WALK):
        match = _PATH.match(text)
        if match is not None:
            found[match[1]] = text[match.end() :]
    return found


def of_zeros() -> list[int]:
    module = aboard.compile(resources.models() / "digits.tflite", target="c -runtime=host")
    result = module.run(np.zeros(module.manifest.inputs[0].shape, np.int8))
    assert isinstance(result, np.ndarray)
    return [int(value) for value in result.ravel()]


def test_the_template_of_the_walk_works(tmp_path: Path) -> None:
    assert sorted(files()) == [
        "templates/filter/CMakeLists.txt.j2",
        "templates/filter/cmake/toolchain-gcc.cmake.j2",
        "templates/filter/src/main.c.j2",
        "templates/filter/template.toml",
    ]
    for path, text in files().items():
        (tmp_path / path).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / path).write_text(text, encoding="utf-8")
    (commands,) = (text for language, text in markdown.blocks(WALK) if language == "sh")
    printed = markdown.run(commands, tmp_path).splitlines()
    # Two inputs of zeros went in.
    assert [[int(word) for word in line.split()] for line in printed[-2:]] == [of_zeros()] * 2
    once = commands.replace("--template filter", "--template filter -O forever=off").replace("digits_filter", "once")
    printed_once = markdown.run(once, tmp_path).splitlines()
    assert len([line for line in printed_once if re.fullmatch(r"(?: +-?\d+){10}", line)]) == 1


def test_the_walk_explains_every_key() -> None:
    table = (markdown.CHECKOUT / WALK).read_text(encoding="utf-8").partition("## template.toml")[2]
    explained = set(re.findall(r"`\[?(\w+)[^`]*`", "\n".join(re.findall(r"^\| ([^|]*) \|", table, re.MULTILINE))))
    assert explained == {*Template.model_fields, "next"} - {"next"}
    assert "`next` then gives the next step" in table


def test_the_overview_has_every_template() -> None:
    text = (markdown.CHECKOUT / OVERVIEW).read_text(encoding="utf-8")
    rows = re.findall(r"^\| `([\w-]+)` \|.*\| (yes|no) \|$", text, re.MULTILINE)
    assert {name: serves == "yes" for name, serves in rows} == {
        name: templates.load(name).serves for name in templates.names()
    }


def test_the_commands_of_the_overview_run(tmp_path: Path) -> None:
    blocks = [text for language, text in markdown.blocks(OVERVIEW) if language == "sh"]
    printed = markdown.run("\n".join(blocks), tmp_path)
    module = aboard.compile(resources.models() / "digits.tflite", target="c -runtime=host")
    tensor = module.manifest.inputs[0]
    expected = module.run(np.full(tensor.shape, tensor.zero_point, np.int8))
    assert isinstance(expected, np.ndarray)
    assert f"digits: output 0: {' '.join(str(value) for value in expected.ravel())}\n" in printed
    assert "100% tests passed" in printed
    assert (tmp_path / "digits_arduino" / "examples" / "digits" / "digits.ino").is_file()


@pytest.mark.parametrize("further", [True, False])
def test_further_folders_come_first(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, further: bool) -> None:
    text = (resources.project_templates() / "native" / "template.toml").read_text(encoding="utf-8")
    (tmp_path / "second" / "native").mkdir(parents=True)
    (tmp_path / "second" / "native" / "template.toml").write_text(
        re.sub(r"description = .*", 'description = "x"', text)
    )
    if further:
        monkeypatch.setenv("ABOARD_TEMPLATES", f"{tmp_path / 'first'}:{tmp_path / 'second'}")
    assert (templates.load("native").description == "x") is further
    assert "native" in templates.names()
