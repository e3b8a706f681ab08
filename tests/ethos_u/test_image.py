"""The functional model is in no image for a real board, unless the project says so."""

from __future__ import annotations

import re
import subprocess
from pathlib import Path

import pytest

import aboard
from aboard import boards, runners
from aboard.api import Project
from aboard.errors import ProjectError, TargetError, ToolError
from support import npu_models

BOARD = "st/nucleo_u575zi_q"
MODEL = {"ethos_u_model_run", "ethos_u_emulated_read", "ethos_u_front_write"}


@pytest.fixture(scope="module")
def product() -> aboard.Module:
    target = f"{BOARD} + ethos-u55 -address=0x48102000"
    return aboard.compile(npu_models.product(), target=target, name="product")


def symbols(project: Project) -> set[str]:
    project.build()
    done = subprocess.run(["arm-none-eabi-nm", str(project.image)], check=True, capture_output=True, text=True)
    return {line.split()[-1] for line in done.stdout.splitlines()}


def test_an_image_for_a_real_board_has_the_model_with_the_option_alone(product: aboard.Module, tmp_path: Path) -> None:
    assert runners.is_real(boards.load(BOARD))
    plain = aboard.create(product, BOARD, path=tmp_path / "plain")
    found = symbols(plain)
    assert "ethos_u_run" in found
    assert not {name for name in found if re.match(r"ethos_u_(model|emulated|front)", name)}
    model = aboard.create(product, BOARD, path=tmp_path / "model", options={"npu": "model"})
    assert symbols(model) >= MODEL | {"ethos_u_run"}


def test_the_macro_alone_does_not_link(product: aboard.Module, tmp_path: Path) -> None:
    project = aboard.create(product, BOARD, path=tmp_path / "project")
    for header in project.path.rglob("ethos_u_access.h"):
        header.write_text("#define ABOARD_ETHOS_U_MODEL 1\n" + header.read_text(encoding="utf-8"), encoding="utf-8")
    with pytest.raises(ToolError, match="undefined reference to `ethos_u_emulated_"):
        project.build()


def test_what_is_compiled_for_this_process_is_for_no_board(tmp_path: Path) -> None:
    with pytest.raises(TargetError, match="-runtime=host needs a core of host class, got cortex-m33"):
        aboard.compile(npu_models.product(), target=f"{BOARD} -runtime=host + ethos-u55")
    module = aboard.compile(npu_models.product(), target="c -runtime=host + ethos-u55", name="product")
    with pytest.raises(ProjectError, match="was compiled for another core"):
        aboard.create(module, BOARD, path=tmp_path / "project")


@pytest.mark.parametrize("template", ["zephyr", "makefile"])
def test_no_other_template_has_the_model(product: aboard.Module, template: str, tmp_path: Path) -> None:
    project = aboard.create(product, BOARD, template, tmp_path / "project")
    names = {path.name for path in project.path.rglob("*.c")}
    assert "ethos_u.c" in names
    assert not names & {"emulated.c", "front.c", "stream.c", "registers.c"}
