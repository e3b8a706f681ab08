"""`-driver=zephyr`: the container for Arm's core driver, the calls of the driver, and the projects that have it.

A stand-in of Arm's driver runs the streams on the functional model. `ETHOS_U_CORE_DRIVER` names a tree of the true one
(Zephyr's module `hal_ethos_u`), whose header the code is then compiled with too.
"""

from __future__ import annotations

import ctypes
import os
import re
import subprocess
from pathlib import Path

import numpy as np
import pytest
from ethosu.vela.api import NpuAccelerator, npu_create_driver_payload

import aboard
from aboard.errors import ProjectError, TargetError
from aboard_ethos_u import payload
from support import ethos_u, npu_models, oracle
from support.ethos_u import Buffer
from support.rpc_device import WARNINGS

BOARD = "arm/mps3_an547"
TARGET = f"{BOARD} + ethos-u55 -driver=zephyr"
STAND_IN = ethos_u.SHIM / "core_driver"
ADAPTER = ethos_u.DRIVER / "core_driver"
TREES = [Path(os.environ["ETHOS_U_CORE_DRIVER"])] if os.environ.get("ETHOS_U_CORE_DRIVER") else []
OK, NULL, RANGE, DEVICE = 0, 3, 5, 12


@pytest.fixture(scope="module")
def library(tmp_path_factory: pytest.TempPathFactory) -> ctypes.CDLL:
    sources = [*ethos_u.SOURCES, ADAPTER / "ethos_u_core_driver.c", ethos_u.DRIVER / "ethos_u_cache.c"]
    flags = (f"-I{ADAPTER}", f"-I{STAND_IN}", "-O1", "-shared", "-fPIC")
    output = tmp_path_factory.mktemp("core_driver") / "npu.so"
    return ctypes.CDLL(str(ethos_u.build(output, [*sources, STAND_IN / "stand_in.c"], *flags)))


@pytest.fixture(scope="module")
def product() -> aboard.Module:
    return aboard.compile(npu_models.product(), target=TARGET, name="product")


def aligned(words: np.ndarray) -> np.ndarray:
    """Returns a copy at an address that is a multiple of 16."""
    room = np.zeros(words.size + 4, np.uint32)
    start = -room.ctypes.data % 16 // 4
    room[start : start + words.size] = words
    return room[start : start + words.size]


def invoke(library: ctypes.CDLL, words: np.ndarray, buffers: list[tuple[int, np.ndarray, bool]]) -> int:
    given = (Buffer * len(buffers))(*(Buffer(n, a.ctypes.data, a.nbytes, w) for n, a, w in buffers))
    sent = ctypes.c_void_p(words.ctypes.data)
    status: int = library.ethos_u_invoke(sent, ctypes.c_uint32(words.nbytes), given, ctypes.c_uint32(len(buffers)))
    return status


@pytest.mark.parametrize("macs", ethos_u.MACS)
def test_the_container_is_that_of_vela(macs: int) -> None:
    made, _ = ethos_u.compiled(npu_models.product(), ethos_u.device(macs))
    stream = made.stream.astype(np.uint32)
    expected = npu_create_driver_payload(stream.tolist(), NpuAccelerator[f"Ethos_U55_{macs}"])
    assert payload.wrapped(stream, made.config, made.id).tobytes() == expected


def test_the_length_of_a_long_stream() -> None:
    words = payload.wrapped(np.zeros(0x23456, np.uint32), 0, 0)
    assert (int(words[7]), words.size) == (0x3456_0202, 0x23456 + 8)


def test_a_stream_runs_by_the_calls_of_arms_driver(library: ctypes.CDLL) -> None:
    made, placed = ethos_u.compiled(npu_models.product(), ethos_u.device(128))
    words = aligned(payload.wrapped(placed.stream, made.config, made.id))
    x = np.random.default_rng(1).integers(-128, 128, (1, 37)).astype(np.int8)
    (expected,) = oracle.tflm(npu_models.product(), x)
    y, scratch, constants = np.zeros(expected.size, np.int8), np.zeros(made.scratch, np.uint8), np.array(made.constants)
    buffers = [(placed.outputs[0], y, True), (made.scratch_region, scratch, True), (0, constants, False)]
    buffers.append((placed.inputs[0], x, False))
    library.stand_in_power_on(ctypes.c_uint32(128), ctypes.c_bool(True))
    for _ in range(2):
        y[:] = 0
        assert invoke(library, words, buffers) == OK
        np.testing.assert_array_equal(y, expected.ravel())
    sizes = {number: array.nbytes for number, array, _ in buffers}
    assert list((ctypes.c_size_t * 8).in_dll(library, "sizes")) == [sizes.get(i, 0) for i in range(8)]
    counts = [ctypes.c_int.in_dll(library, name).value for name in ("reserved", "released")]
    assert counts == [2, 2]


def test_errors_of_arms_driver(library: ctypes.CDLL) -> None:
    made, placed = ethos_u.compiled(npu_models.product(), ethos_u.device(128))
    words = aligned(payload.wrapped(placed.stream, made.config, made.id))
    library.stand_in_power_on(ctypes.c_uint32(256), ctypes.c_bool(True))
    assert invoke(library, words, []) == DEVICE
    assert ctypes.c_int.in_dll(library, "released").value == 1
    library.stand_in_power_on(ctypes.c_uint32(128), ctypes.c_bool(False))
    assert invoke(library, words, []) == DEVICE
    assert ctypes.c_int.in_dll(library, "released").value == 0
    assert invoke(library, words, [(8, words, False)]) == RANGE
    assert library.ethos_u_invoke(None, ctypes.c_uint32(4), None, ctypes.c_uint32(0)) == NULL


def test_the_code_of_a_region_calls_it(product: aboard.Module) -> None:
    names = {Path(path).name for path in product.files if "/devices/" in path}
    assert names == {"ethos_u.h", "ethos_u_cache.c", "ethos_u_core_driver.c", "ethos_u_core_driver.h"}
    text = str(product.files["src/product_ethos_u55_0.c"])
    made, placed = ethos_u.compiled(npu_models.product(), ethos_u.device(128))
    size = payload.wrapped(placed.stream, made.config, made.id).nbytes
    assert f"return ethos_u_invoke(commands, {size}u, buffers, {3 + bool(made.scratch)}u);" in text


@pytest.mark.parametrize("header", [STAND_IN, *(tree / "include" for tree in TREES)])
def test_the_code_compiles_with_the_header(product: aboard.Module, header: Path, tmp_path: Path) -> None:
    root = product.save(tmp_path / "bundle")
    folders = [root / "include", *(root / "src" / "devices").iterdir()]
    sources = [*root.glob("src/devices/*/*.c"), root / "src" / "product_ethos_u55_0.c"]
    flags = ["-mcpu=cortex-m55", "-mthumb", "-std=c99", *WARNINGS, *(f"-I{folder}" for folder in folders)]
    for source in sources:
        command = ["arm-none-eabi-gcc", *flags, "-isystem", str(header), "-fsyntax-only", str(source)]
        subprocess.run(command, check=True)


def test_a_zephyr_project_has_the_module_and_its_configuration(product: aboard.Module, tmp_path: Path) -> None:
    project = aboard.create(product, BOARD, "zephyr", tmp_path / "p")
    config = (project.path / "prj.conf").read_text(encoding="utf-8").splitlines()
    assert config[-3:] == ["CONFIG_ARM_ETHOS_U=y", "CONFIG_ARM_ETHOS_U55_128=y", "CONFIG_HEAP_MEM_POOL_SIZE=1024"]
    assert "          - hal_ethos_u\n" in (project.path / "west.yml").read_text(encoding="utf-8")
    assert "config ARM_ETHOS_U_LOG_LEVEL\n" in (project.path / "Kconfig").read_text(encoding="utf-8")


@pytest.mark.parametrize("template", ["baremetal", "cmake-lib", "makefile"])
def test_other_projects_do_not_have_it(product: aboard.Module, template: str, tmp_path: Path) -> None:
    text = (
        f"template {template}: does not have the driver of ethos-u55 -driver=zephyr, expected a project of the "
        "template zephyr. Use --template zephyr, or compile without -driver=zephyr"
    )
    with pytest.raises(ProjectError, match=re.escape(text)):
        aboard.create(product, BOARD, template, tmp_path / "p")


@pytest.mark.parametrize(
    ("target", "message"),
    [
        (
            f"{TARGET} -macs=32",
            "-driver=zephyr has no driver for these MACs, got 32, expected one of: 64, 128, 256. L",
        ),
        (
            f"{TARGET} -wait=interrupt",
            "-wait=interrupt is for the own driver, got -driver=zephyr, which always waits",
        ),
        (
            "c -runtime=host + ethos-u55 -driver=zephyr",
            "ethos-u55: -driver=zephyr is for projects of the template zephyr, got -runtime=host, a process",
        ),
    ],
)
def test_where_it_is_refused(target: str, message: str) -> None:
    with pytest.raises(TargetError, match=re.escape(message)):
        aboard.compile(npu_models.product(), target=target)
