"""What real models need in RAM: as little as any plan for the same order can, and less than an interpreter's arena."""

from __future__ import annotations

import pytest

import aboard
from support import models

#: Bytes of the arena that TensorFlow Lite for Microcontrollers uses with CMSIS-NN on a Cortex-M4
#: (docs/reference/benchmarks.md).
TFLM_ARENA = {"kws": 22820, "vww": 100708, "ic": 54996, "ad": 2580, "sww": 16596}
#: Bytes that cascades keep to on a Cortex-M4.
LIMITS = {"kws": 4608, "vww": 29 * 1024, "ic": 14 * 1024, "ad": 1024, "sww": 4608}
#: The most RAM of a plan for rows in blocks, as a factor of its bound: whole tensors leave gaps that no block fits.
NEAR = 1.1
CORES = ("cortex-m0", "cortex-m3", "cortex-m4", "cortex-m55", "rv32imac")


@pytest.mark.parametrize("core", CORES)
@pytest.mark.parametrize("name", models.available(list(TFLM_ARENA)))
def test_the_plan_is_near_its_bound_and_beats_the_interpreter(name: str, core: str) -> None:
    record = aboard.compile(models.read(name), target=f"c -mcpu={core}", name=name).manifest
    near = NEAR if any(buffer.name.endswith("(in blocks)") for buffer in record.buffers) else 1
    assert record.ram_lower_bound_bytes <= record.ram_bytes <= near * record.ram_lower_bound_bytes
    assert record.ram_bytes <= (LIMITS if core == "cortex-m4" else TFLM_ARENA)[name]
    assert record.ram_bytes >= max(buffer.bytes for buffer in record.buffers)
