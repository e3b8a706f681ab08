"""Kernels are in one folder per instruction set, and Python files are named like headers."""

from __future__ import annotations

from pathlib import Path

import pytest

import aboard
from aboard import ops
from aboard.base import resources
from aboard.kernels import of
from aboard.kernels.contract import KernelCall
from support import zoo

HOST = Path(aboard.__file__).parent / "kernels"
FIRMWARE = resources.firmware() / "kernels"
SETS = sorted(path.name for path in FIRMWARE.iterdir() if path.is_dir())

#: Files without a header of their own: ops that are gathers, the code of several headers, tables; and counts of loops.
SHARED = {
    "arm_dsp": {"conv2d_loops", "depthwise_loops"},
    "arm_mve": {"conv2d_blocks", "conv2d_loops", "depthwise_loops", "loops"},
    "portable": {
        "broadcast_to",
        "elements_s16",
        "elementwise",
        "reshape",
        "short_form",
        "signal",
        "strided_slice",
        "transpose",
        "tree_tables",
    },
}

#: Files whose nodes call generated functions instead of a header, on any core.
GENERATED = {"subgraph", "control"}


def test_every_header_is_in_the_folder_of_an_instruction_set() -> None:
    assert not list(FIRMWARE.glob("*.h"))
    assert {path.name for path in HOST.iterdir() if path.is_dir()} - {"__pycache__", "select"} == set(SETS)


@pytest.mark.parametrize("name", SETS)
def test_python_files_are_named_like_headers(name: str) -> None:
    files = {path.stem for path in (HOST / name).glob("*.py")} - {"__init__"}
    headers = {path.stem for path in (FIRMWARE / name).glob("*.h")}
    assert files - headers == SHARED.get(name, set())


def test_kernels_have_the_key_of_their_folder() -> None:
    for op in ops.names():
        for kernel in of(op):
            folder = type(kernel).__module__.split(".")[2]
            assert folder in {*SETS, *GENERATED}
            assert kernel.keys == {"portable" if folder in GENERATED else folder}


@pytest.mark.parametrize("core", ["cortex-m3", "cortex-m4", "cortex-m55"])
def test_kernels_call_headers_of_their_folder(core: str, tmp_path: Path) -> None:
    model = tmp_path / "many_ops.tflite"
    model.write_bytes(zoo.many_ops())
    used = set()
    for step in aboard.compile(model, target=f"c -mcpu={core}").schedule().program.steps:
        assert isinstance(step.call, KernelCall)
        folder = type(step.implementation).__module__.split(".")[2]
        assert step.call.header.split("/")[0] == folder
        used.add(folder)
    # A core with Helium may also take kernels for DSP.
    assert len(used) > 1
