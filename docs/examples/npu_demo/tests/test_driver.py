"""The driver, compiled for this machine, on registers that are memory: what it writes, cleans and returns."""

from __future__ import annotations

import ctypes
import subprocess
from pathlib import Path

import pytest

from aboard.base import resources
from npu_demo import runtime
from npu_demo.core import ACTIVE, BASES, BUSY, CTRL, DONE, ID, JOB, LIST, MAGIC, START, STATUS, WORDS

OK, NULL, STATE, TIMEOUT, DEVICE = 0, 3, 8, 11, 12
_FLAGS = ["-std=c99", "-O1", "-Wall", "-Wextra", "-Werror", "-Wconversion", "-Wshadow", "-Wundef"]

_FAKE = """\
#include <stdint.h>
uint32_t cache[1024];
uint32_t lines[64];
uint32_t line_count;
"""


class Npu(ctypes.Structure):
    _fields_ = (
        ("registers", ctypes.c_size_t),
        ("cached", ctypes.c_bool),
        ("y", ctypes.c_void_p),
        ("y_bytes", ctypes.c_uint32),
    )


class Job(ctypes.Structure):
    _fields_ = (
        ("id", ctypes.c_uint32),
        ("x", ctypes.c_void_p),
        ("x_bytes", ctypes.c_uint32),
        ("y", ctypes.c_void_p),
        ("y_bytes", ctypes.c_uint32),
        ("weights", ctypes.c_void_p),
        ("parameters", ctypes.c_void_p),
        ("words", ctypes.POINTER(ctypes.c_uint32)),
        ("count", ctypes.c_uint32),
    )


@pytest.fixture(scope="module")
def library(tmp_path_factory: pytest.TempPathFactory) -> ctypes.CDLL:
    folder = tmp_path_factory.mktemp("driver")
    (folder / "fake.c").write_text(_FAKE)
    sources = [str(path) for path in sorted((Path(runtime.__file__).parent / "driver").glob("*.c"))]
    include = f"-I{resources.firmware() / 'include'}"
    where = "-DNPU_DEMO_CACHE_REGISTERS=((uintptr_t)cache)"
    declared = folder / "declared.h"
    declared.write_text("#include <stdint.h>\nextern uint32_t cache[1024];\n")
    made = folder / "driver.so"
    command = ["gcc", *_FLAGS, "-shared", "-fPIC", include, where, "-include", str(declared), "-o", str(made)]
    subprocess.run([*command, str(folder / "fake.c"), *sources], check=True, capture_output=True, text=True)
    loaded = ctypes.CDLL(str(made))
    loaded.npu_demo_open.argtypes = (ctypes.POINTER(Npu), ctypes.c_size_t, ctypes.c_bool, ctypes.c_uint32)
    loaded.npu_demo_run.argtypes = (ctypes.c_size_t, ctypes.c_bool, ctypes.POINTER(Job), ctypes.c_uint32)
    return loaded


class Registers:
    """Registers that keep what is written to them."""

    def __init__(self, version: int = 2, status: int = ACTIVE) -> None:
        self.words = (ctypes.c_uint32 * 64)()
        self[ID], self[STATUS] = MAGIC | version, status

    def __getitem__(self, offset: int) -> int:
        return int(self.words[offset // 4])

    def __setitem__(self, offset: int, value: int) -> None:
        self.words[offset // 4] = value

    @property
    def address(self) -> int:
        return ctypes.addressof(self.words)


def job(version: int = 2, words: tuple[int, ...] = (7, 8)) -> Job:
    array = (ctypes.c_uint32 * len(words))(*words)
    return Job(MAGIC | version, 0x1000, 100, 0x2010, 60, 0x3000, 0x4000, array, len(words))


def opened(library: ctypes.CDLL, registers: Registers, *, cached: bool = False) -> Npu:
    npu = Npu()
    assert library.npu_demo_open(npu, registers.address, cached, registers[ID]) == OK
    return npu


def test_what_submit_writes(library: ctypes.CDLL) -> None:
    for version, places in ((1, JOB[:2]), (2, (LIST, WORDS))):
        registers = Registers(version)
        npu = opened(library, registers)
        assert library.npu_demo_submit(ctypes.byref(npu), ctypes.byref(job(version))) == OK
        assert [registers[offset] for offset in BASES] == [0x1000, 0x2010, 0x3000, 0x4000]
        assert registers[CTRL] == ACTIVE | START
        assert registers[places[1]] == (8 if version == 1 else 2)
        registers[STATUS] = ACTIVE | DONE
        assert library.npu_demo_wait(ctypes.byref(npu), 1) == OK
        library.npu_demo_close(ctypes.byref(npu))
        assert registers[CTRL] == 0


def test_a_device_that_is_not_there(library: ctypes.CDLL) -> None:
    registers = Registers(1)
    npu = Npu()
    assert library.npu_demo_open(npu, registers.address, False, MAGIC | 2) == DEVICE
    assert library.npu_demo_run(registers.address, False, job(2), 10) == DEVICE
    assert library.npu_demo_open(None, registers.address, False, MAGIC | 1) == NULL
    assert library.npu_demo_run(registers.address, False, None, 10) == NULL
    npu = opened(library, registers)
    assert library.npu_demo_submit(ctypes.byref(npu), None) == NULL


def test_a_device_that_does_not_become_active_or_ready(library: ctypes.CDLL) -> None:
    dead = Registers(status=0)
    assert library.npu_demo_run(dead.address, False, job(), 10) == DEVICE
    assert dead[CTRL] == 0
    busy = Registers(status=ACTIVE | BUSY)
    npu = opened(library, busy)
    assert library.npu_demo_submit(ctypes.byref(npu), ctypes.byref(job())) == STATE
    slow = Registers()
    assert library.npu_demo_run(slow.address, False, job(), 10) == TIMEOUT
    # It is left alone while it is busy.
    library.npu_demo_close(ctypes.byref(npu))
    assert busy[CTRL] == 0
    busy[CTRL] = START
    library.npu_demo_close(ctypes.byref(npu))
    assert busy[CTRL] == START


def test_the_cache_is_cleaned_and_invalidated_line_by_line(library: ctypes.CDLL) -> None:
    cache = (ctypes.c_uint32 * 1024).in_dll(library, "cache")
    registers = Registers()
    npu = opened(library, registers, cached=True)
    assert library.npu_demo_submit(ctypes.byref(npu), ctypes.byref(job())) == OK
    # The last line that was cleaned is that of the result's last byte, 0x204b.
    assert (cache[3], cache[0]) == (0x2040, 0)
    registers[STATUS] = ACTIVE | DONE
    assert library.npu_demo_wait(ctypes.byref(npu), 1) == OK
    assert cache[0] == 0x2040
