"""Hooks: C that can profile, trace and run one node, in bundles that ask for it and in projects of modules."""

from __future__ import annotations

import subprocess
from pathlib import Path

import numpy as np
import pytest

from aboard import cli
from aboard.base import manifest, resources
from aboard.cli import run
from aboard.compiler.pipeline import Module, compile_model
from aboard.errors import ProjectError
from aboard.project import hooks
from aboard.project.create import create
from aboard.project.project import Project, ProjectInfo

DIGITS = resources.models() / "digits.tflite"
BOARD = "arm/mps2_an386"
HOST = "c -runtime=host"
#: A cascade, a streamed input, several arenas, and one arena.
TARGETS = [f"{HOST} -opt=size", f"{HOST} -input=rows", f"{HOST} -arena=a:1K,b", f"{HOST} -opt=speed"]


@pytest.fixture(scope="module")
def plain() -> Module:
    return compile_model(DIGITS, board=BOARD)


@pytest.mark.parametrize("target", [*TARGETS, "c -mcpu=cortex-m4 -opt=size"])
def test_hooks_are_in_the_source_that_asks_for_them(target: str) -> None:
    plain, hooked = compile_model(DIGITS, target=target), compile_model(DIGITS, target=target, hooks=True)
    assert (plain.manifest.hooks, hooked.manifest.hooks) == (False, True)
    without, with_hooks = plain.files["src/digits.c"], hooked.files["src/digits.c"]
    for word in ("ABOARD_BEGIN(", "ABOARD_END(", "ABOARD_TRACE_ROWS(", "run_op", "_standalone"):
        assert word not in without
        assert word in with_hooks or word == "_standalone"
    assert len(without.splitlines()) < 0.8 * len(with_hooks.splitlines())


@pytest.mark.parametrize("target", TARGETS)
def test_a_module_gets_the_hooks_that_it_was_compiled_without(target: str) -> None:
    hooked = compile_model(DIGITS, target=target, hooks=True)
    again = compile_model(DIGITS, target=target).with_hooks()
    assert (again.files, again.manifest) == (hooked.files, hooked.manifest)
    assert again.with_hooks() is again


@pytest.mark.parametrize("target", TARGETS)
def test_results_are_the_same_with_and_without(target: str) -> None:
    plain = compile_model(DIGITS, target=target)
    x = np.random.default_rng(3).integers(-128, 128, plain.manifest.inputs[0].shape).astype(np.int8)
    np.testing.assert_array_equal(plain.run(x), plain.with_hooks().run(x))


@pytest.mark.parametrize("switch", ["ABOARD_HOOKS", "ABOARD_RUN_OP"])
def test_a_source_without_hooks_refuses_a_build_with_them(plain: Module, tmp_path: Path, switch: str) -> None:
    bundle = plain.save(tmp_path / "bundle")
    command = ["gcc", f"-D{switch}=1", f"-I{bundle}/include", "-fsyntax-only", str(bundle / "src/digits.c")]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode != 0
    assert "digits has no hooks. Compile the model with --hooks" in done.stderr


def test_a_module_that_was_read_stays_as_it_is(plain: Module, tmp_path: Path) -> None:
    read = Module.load(plain.save(tmp_path / "bundle"))
    assert read.with_hooks() is read


def test_a_project_of_a_module_has_hooks(plain: Module, tmp_path: Path) -> None:
    project = create(plain, BOARD, path=tmp_path / "p", options={"trace": "on", "run_op": "on"})
    assert project.models[0].hooks
    assert project.info.options["profile"] is True
    assert "ABOARD_TRACE_ROWS(" in (project.path / "models/digits/src/digits.c").read_text()


def test_a_project_of_a_bundle_without_hooks_cannot_be_profiled(plain: Module, tmp_path: Path) -> None:
    bundle = plain.save(tmp_path / "bundle")
    project = create(bundle, BOARD, path=tmp_path / "p")
    assert project.info.options["profile"] is False
    assert "ABOARD_HOOKS=0 ABOARD_TRACE=0 ABOARD_RUN_OP=0" in (project.path / "CMakeLists.txt").read_text()
    for option in hooks.HOOK_OPTIONS:
        with pytest.raises(
            ProjectError,
            match=f"^bundle digits: has no hooks, which -O {option}=on needs. Compile it with --hooks, or create the "
            "project from the model file$",
        ):
            create(bundle, BOARD, path=tmp_path / option, options={option: "on"})
        create(bundle, BOARD, path=tmp_path / option, options={option: "off"})


def test_options_stay_where_all_models_have_hooks(plain: Module) -> None:
    values = {"profile": True, "trace": False, "stack_bytes": 64}
    hooked = plain.manifest.model_copy(update={"hooks": True})
    assert hooks.adjust({}, values, [hooked, hooked]) == values
    assert hooks.adjust({}, values, [hooked, plain.manifest]) == {**values, "profile": False}


def test_profiling_an_image_without_hooks_names_the_option(plain: Module, tmp_path: Path) -> None:
    project = create(plain.save(tmp_path / "bundle"), BOARD, path=tmp_path / "p")
    with pytest.raises(ProjectError, match=r"p: its image cannot be profiled, got -O profile=off, .* with --hooks$"):
        run.check_profile(project)
    info: ProjectInfo = project.info.model_copy(update={"options": {"profile": True}})
    run.check_profile(Project(project.path, info))


@pytest.mark.parametrize("given", [[], ["--hooks"]])
def test_the_command_has_an_option_for_them(tmp_path: Path, given: list[str]) -> None:
    folder = tmp_path / "bundle"
    assert cli.invoke(["compile", "digits", "--board", BOARD, "-o", str(folder), *given]) == 0
    assert manifest.read(folder).hooks is bool(given)
