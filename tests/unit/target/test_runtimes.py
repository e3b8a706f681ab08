"""Runtimes that packages add to a kind: values of -runtime, with files for the bundle and a project template."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest

import aboard
from aboard import boards
from aboard.api import create
from aboard.base import resources
from aboard.errors import TargetError
from aboard.project import templates
from aboard.target import LinkedRuntime, Runtime, Target, attach, kind, plugins
from aboard.target import runtimes as registry
from support import models

HEADER = "#ifndef BARE_LOOP_H\n#define BARE_LOOP_H\nint bare_loop_turns(void);\n#endif\n"
SOURCE = '#include "bare_loop.h"\nint bare_loop_turns(void) {\n    return BARE_LOOP_TURNS;\n}\n'
FILES = Runtime({"include/bare_loop.h": HEADER, "bare_loop.c": SOURCE}, ("include",), ("BARE_LOOP_TURNS=3",))
BARE_LOOP = LinkedRuntime("bare-loop", "A loop without an operating system", FILES)


@pytest.fixture
def added() -> Iterator[None]:
    with plugins.restored():
        attach("c", "runtimes", BARE_LOOP)
        yield


@pytest.mark.usefixtures("added")
def test_it_is_a_value_like_the_kinds_own() -> None:
    target = Target("c -mcpu=cortex-m4 -runtime=bare-loop")
    assert target.runtime == "bare-loop"
    assert Target(str(target)) == target == Target.from_json(target.to_json())
    assert target != Target("c -mcpu=cortex-m4")
    assert Target("arm/mps2_an386 -runtime=bare-loop").runtime == "bare-loop"
    assert kind("c").schema["runtime"].allowed == ("standalone", "host", "bare-loop")
    assert registry.find(target) is BARE_LOOP
    assert registry.find(Target("c -mcpu=cortex-m4 -runtime=bare-loop + cmsis-nn")) is BARE_LOOP
    assert registry.find(Target("c -mcpu=cortex-m4")) is None


def test_without_the_package_it_is_not_known() -> None:
    text = r"-runtime has a value that is not allowed, got bare-loop, expected one of: standalone, host\."
    with pytest.raises(TargetError, match=text):
        Target("c -mcpu=cortex-m4 -runtime=bare-loop")


@pytest.mark.usefixtures("added")
def test_a_wrong_one_names_all() -> None:
    with pytest.raises(
        TargetError, match=r"got bare-lop, expected one of: standalone, host, bare-loop\. Write it as in"
    ):
        Target("c -mcpu=cortex-m4 -runtime=bare-lop")


@pytest.mark.usefixtures("added")
def test_its_files_are_in_the_bundle() -> None:
    made = aboard.compile(models.path(models.SHIPPED), target="c -mcpu=cortex-m4 -runtime=bare-loop")
    assert made.files["src/runtime/bare_loop.c"] == SOURCE
    assert "src/runtime/bare_loop.c" in made.manifest.sources
    assert "src/runtime/include" in made.manifest.include_folders
    assert "-DBARE_LOOP_TURNS=3" in made.manifest.cflags
    plain = aboard.compile(models.path(models.SHIPPED), target="c -mcpu=cortex-m4")
    assert not [path for path in plain.files if "runtime" in path]


def test_files_that_lie_outside_are_refused() -> None:
    with plugins.restored():
        attach("c", "runtimes", LinkedRuntime("odd", "Wrong", Runtime({"../odd.c": ""})))
        text = r"kind c, column runtimes: odd: a file, got \.\./odd\.c, expected a \.c or \.h"
        with pytest.raises(TargetError, match=text):
            aboard.compile(models.path(models.SHIPPED), target="c -mcpu=cortex-m4 -runtime=odd")


@pytest.mark.parametrize(
    ("files", "message"),
    [
        (Runtime({"a;b.c": ""}), r"path, got src/runtime/a;b\.c, expected one below the folder"),
        (Runtime({"a.c": ""}, ("../..",)), r"path, got src/runtime/\.\./\.\., expected one below the folder"),
        (Runtime({"a.c": ""}, (), ("A=$(id)",)), r"flag of the compiler, got -DA=\$\(id\), expected one of the kinds"),
        (
            Runtime({"a.c": ""}, core_files=("a.c",), core_flags={"gcc": ("-fplugin=x",)}),
            r"flag of the compiler, got -fplugin=x, expected one",
        ),
    ],
)
def test_paths_macros_and_flags_that_are_none_are_the_packages_fault(files: Runtime, message: str) -> None:
    with plugins.restored():
        attach("c", "runtimes", LinkedRuntime("odd", "Wrong", files))
        with pytest.raises(TargetError, match=rf"kind c, column runtimes: odd: {message}.*bug of the device's package"):
            aboard.compile(models.path(models.SHIPPED), target="c -mcpu=cortex-m4 -runtime=odd")


def test_templates_have_the_names_of_their_folders(tmp_path: Path) -> None:
    with plugins.restored():
        attach("c", "runtimes", LinkedRuntime("loop", "One", template=tmp_path / "loop_project"))
        assert registry.templates() == {"loop_project": tmp_path / "loop_project"}
    assert registry.templates() == {}


def test_its_template_makes_projects(tmp_path: Path) -> None:
    folder = tmp_path / "chatty"
    shutil.copytree(resources.project_templates() / "native", folder)
    text = (folder / "template.toml").read_text(encoding="utf-8").replace('name = "native"', 'name = "chatty"')
    (folder / "template.toml").write_text(text, encoding="utf-8")
    (folder / "NOTES.md.j2").write_text("For {{ board.id }}.\n", encoding="utf-8")
    machine = boards.load("native")
    with plugins.restored():
        attach("c", "runtimes", LinkedRuntime("chat", "Talks", FILES, template=folder))
        made = aboard.compile(models.path(models.SHIPPED), target=f"{machine.target} -runtime=chat")
        assert made.manifest.template == "chatty"
        assert "chatty" in templates.names()
        project = create(made, machine, path=tmp_path / "project")
        assert project.info.template == "chatty"
        assert (project.path / "NOTES.md").read_text(encoding="utf-8") == f"For {machine.id}.\n"
        project.build()
        with project.session() as device:
            output = device.run(np.zeros((1, 8, 8, 1), np.int8))
        own = create(made, machine, "native", tmp_path / "own")
    assert output.shape == (1, 10)
    assert own.info.template == "native"
    assert "chatty" not in templates.names()
