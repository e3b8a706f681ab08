"""The NPU Ethos-U55 in this process: its model and driver as a library, and models that are compiled for it."""

from __future__ import annotations

import ctypes
import subprocess
from collections.abc import Sequence
from pathlib import Path

import numpy as np

import aboard
from aboard.base import resources
from aboard.compiler.pipeline import Module
from aboard.importers import load
from aboard.target import Target
from aboard_ethos_u import borders, lowered, vela
from support.rpc_device import SANITIZERS, WARNINGS

FIRMWARE = resources.firmware()
MODEL, DRIVER = FIRMWARE / "emulation" / "ethos_u", FIRMWARE / "devices" / "ethos_u"
SHIM = Path(__file__).resolve().parent.parent / "firmware" / "ethos_u"
INCLUDES = [f"-I{folder}" for folder in (MODEL, DRIVER, SHIM, FIRMWARE / "include")]
#: The model without the one NPU of an image.
SOURCES = [path for path in sorted(MODEL.glob("*.c")) if path.name != "emulated.c"]
MACS = (32, 64, 128, 256)


class Buffer(ctypes.Structure):
    """The record of memory of the driver, `ethos_u_buffer_t`."""

    _fields_ = (
        ("pointer", ctypes.c_uint32),
        ("base", ctypes.c_void_p),
        ("bytes", ctypes.c_uint32),
        ("is_written", ctypes.c_bool),
    )


def device(macs: int = 128, attributes: str = "") -> Target:
    """Returns the device by itself."""
    return Target(f"ethos-u55 -macs={macs} {attributes}", as_device=True)


def build(output: Path, sources: Sequence[Path], *flags: str) -> Path:
    """Compiles C files under the project's warnings."""
    command = ["gcc", *WARNINGS, *INCLUDES, *flags, *map(str, sources), "-o", str(output)]
    subprocess.run(command, check=True, capture_output=True, text=True)
    return output


def library(folder: Path) -> ctypes.CDLL:
    """Returns model, driver and shim, loaded into this process."""
    sources = [*SOURCES, *sorted(DRIVER.glob("*.c")), SHIM / "shim.c"]
    flags = ("-DABOARD_ETHOS_U_MODEL=1", "-O1", "-shared", "-fPIC")
    loaded = ctypes.CDLL(str(build(folder / "npu.so", sources, *flags)))
    loaded.shim_problem.restype = ctypes.c_char_p
    loaded.shim_decode.restype = ctypes.c_int64
    return loaded


def fuzzer(folder: Path) -> Path:
    """Returns the program that runs mutated streams, with the sanitizers."""
    return build(folder / "fuzz", [*SOURCES, SHIM / "fuzz_stream.c"], *SANITIZERS)


def compiled(model: bytes, target: Target) -> tuple[vela.Compiled, borders.Assigned]:
    """Returns what Vela makes of a TFLite file, all of which is for the NPU."""
    made = vela.compiled(lowered.file_of(load(model, name="model")), target, "test")
    return made, borders.assigned(made, "test")


def fuzz_file(model: bytes, target: Target) -> bytes:
    """Returns the input of `fuzz_stream.c` for a TFLite file."""
    made, placed = compiled(model, target)
    sizes = [made.constants.size, *[0] * 7]
    sizes[made.scratch_region] = made.scratch
    for border, number in zip((*made.inputs, *made.outputs), (*placed.inputs, *placed.outputs), strict=True):
        sizes[number] = border.bytes
    head = np.array([target.attrs["macs"], placed.stream.size, *sizes], np.uint32)
    return head.tobytes() + placed.stream.astype(np.uint32).tobytes() + made.constants.tobytes()


def module(model: bytes, macs: int = 128, attributes: str = "") -> Module:
    """Returns a model compiled for this process and the functional model of the NPU."""
    return aboard.compile(model, target=f"c -runtime=host + ethos-u55 -macs={macs} {attributes}", name="model")
