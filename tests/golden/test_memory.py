"""What real models need in RAM: as little as any plan for the same order can, and less than an interpreter's arena."""

from __future__ import annotations

import pytest

import aboard
from support import models

#: Bytes of the arena that TensorFlow Lite for Microcontrollers uses with CMSIS-NN on a Cortex-M4
#: (docs/reference/benchmarks.md).
TFLM_ARENA = {"kws": 22820, "vww": 100708, "ic": 54996, "ad": 2580, "sww": 16596}
#: Bytes that cascades keep to on a Cortex-M4; kernels of `ic` that compute two rows at once take 3.5 KB of it.
LIMITS = {"kws": 7 * 1024, "vww": 29 * 1024, "ic": 18 * 1024 + 256, "ad": 1024, "sww": 4608}

#: Bytes that plans may have above their bound: those of `ic` on a Cortex-M4 do not meet it.
ABOVE = {("ic", "cortex-m4"): 192}
CORES = ("cortex-m0", "cortex-m3", "cortex-m4", "cortex-m55", "rv32imac")


@pytest.mark.parametrize("core", CORES)
@pytest.mark.parametrize("name", models.available(list(TFLM_ARENA)))
def test_the_plan_meets_its_bound_and_beats_the_interpreter(name: str, core: str) -> None:
    record = aboard.compile(models.read(name), target=f"c -mcpu={core}", name=name).manifest
    assert record.ram_bytes == record.ram_lower_bound_bytes + ABOVE.get((name, core), 0)
    assert record.ram_bytes <= (LIMITS if core == "cortex-m4" else TFLM_ARENA)[name]
    assert record.ram_bytes >= max(buffer.bytes for buffer in record.buffers)
