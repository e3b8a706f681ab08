"""With `-opt=size` a linked model takes no more flash and no more RAM than with `-opt=balanced`.

With Helium, where `balanced` has no cascades, the code of cascades may be added if it lowers the RAM, and they take at
most a tenth more instructions.

Sizes are those of linked code and not of predictions. In every run the cases that prediction once had wrong, and a few
others; with ABOARD_FULL=1 every model on every kind of core.
"""

from __future__ import annotations

import json
import os
from pathlib import Path

import pytest

import aboard
from aboard import cli
from aboard.project import build
from support import linked, models

CORES = ("cortex-m0", "cortex-m3", "cortex-m4", "cortex-m55", "rv32imac")

#: The last two are none of those that sizes of code were measured with (`tests/bench/code_sizes.py`).
MODELS = (*models.INT8, models.SHIPPED, "person", "mcunet_vww")
QUICK = [
    ("ad", "cortex-m55"),
    ("kws", "cortex-m55"),
    ("sww", "cortex-m0"),
    ("hello_world", "rv32imac"),
    ("sww", "rv32imac"),
    ("ad", "cortex-m3"),
    ("sww", "cortex-m3"),
    ("digits", "cortex-m4"),
]
CASES = [(m, core) for m in MODELS for core in CORES] if os.environ.get("ABOARD_FULL") else QUICK

#: Largest growth of flash by the code of cascades: fewer calls share code, and parameters are views of rolling buffers.
MORE_CODE = 1.1


def needs(name: str, core: str, opt: str, folder: Path) -> tuple[int, int, int]:
    """Returns RAM, flash as a project builds it, and flash without profiling."""
    module = aboard.compile(models.read(name), target=f"c -mcpu={core} -opt={opt}", name="model")
    profiled = linked.link(module, folder / f"{opt}_profiled")
    plain = linked.link(module, folder / opt, [])
    return module.manifest.ram_bytes, linked.flash_bytes(profiled), linked.flash_bytes(plain)


@pytest.mark.parametrize(("name", "core"), [(m, core) for m, core in CASES if models.path(m)])
def test_size_needs_no_more_than_balanced(name: str, core: str, tmp_path: Path) -> None:
    size, balanced = (needs(name, core, opt, tmp_path) for opt in ("size", "balanced"))
    if core == "cortex-m55" and size[0] < balanced[0]:
        assert [a <= b * MORE_CODE for a, b in zip(size, balanced, strict=True)] == [True] * 3, (size, balanced)
    else:
        assert [a <= b for a, b in zip(size, balanced, strict=True)] == [True] * 3, (size, balanced)


@pytest.mark.parametrize("name", models.available(["kws", "ic"]))
def test_less_memory_takes_at_most_a_tenth_more_instructions(
    name: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    found = {}
    for opt in ("size", "balanced"):
        folder = str(tmp_path / opt)
        model, board = str(models.path(name)), "arm/mps3_an547"
        assert cli.invoke(["deploy", model, "--board", board, "--opt", opt, "-o", folder, "--profile", "--json"]) == 0
        found[opt] = json.loads(capsys.readouterr().out)
    assert found["size"]["ram_bytes"] < found["balanced"]["ram_bytes"] / 2
    assert found["balanced"]["instructions"] < found["size"]["instructions"] <= 1.1 * found["balanced"]["instructions"]


def test_flash_is_that_of_a_project(tmp_path: Path) -> None:
    board = "arm/mps3_an547"
    module = aboard.compile(models.read(models.SHIPPED), board=board, name="model")
    project = aboard.create(module, board=board, path=tmp_path / "project")
    assert linked.flash_bytes(linked.link(module, tmp_path / "alone")) == build.build(project).sizes.model_flash_bytes
