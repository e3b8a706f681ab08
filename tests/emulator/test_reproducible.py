"""Images of generated projects do not depend on the folder in which they are built."""

from __future__ import annotations

from pathlib import Path

import pytest

import aboard
from aboard.base import resources
from support import models


@pytest.mark.parametrize(
    ("board", "toolchain"),
    [
        ("arm/mps2_an386", "arm-none-eabi-gcc"),
        ("arm/mps2_an386", "zig"),
        ("riscv/qemu_virt32", None),
        ("host/native", None),
    ],
)
def test_image_does_not_depend_on_the_folder(board: str, toolchain: str | None, tmp_path: Path) -> None:
    module = aboard.compile(models.read(models.SHIPPED), target=board, name=models.SHIPPED)
    images = []
    for folder in (tmp_path / "a", tmp_path / "elsewhere" / "b"):
        project = aboard.create(module, board=board, path=folder)
        project.build(toolchain)
        images.append(project.image.read_bytes())
    assert images[0] == images[1]
    assert str(tmp_path).encode() not in images[0]


def test_projects_do_not_make_warnings_errors() -> None:
    templates = resources.project_templates()
    carrying = [p.name for p in templates.rglob("*") if p.is_file() and b"-Werror" in p.read_bytes()]
    assert carrying == []
