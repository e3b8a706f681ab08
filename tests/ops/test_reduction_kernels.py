"""Kernels of reductions of int8 for the DSP extension and Helium, called as C."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from aboard.importers import load
from aboard.kernels import of
from aboard.kernels.contract import KernelCall
from aboard.kernels.view import View
from aboard.ops import get
from aboard.target import Target
from support import kernel_call, reductions
from support.kernel_call import Placed

M4 = Target("c -mcpu=cortex-m4 -runtime=standalone")


@pytest.mark.parametrize("case", reductions.CASES, ids=str)
def test_every_kernel_computes_what_the_op_does(case: reductions.Case) -> None:
    (node,) = load(reductions.model([case])).nodes
    x = reductions.values(case)
    (expected,) = get(node.op).evaluate(node, [x])
    source = View.whole(x.shape, 1)
    whole = View.whole(node.output.shape, 1)
    # The result is a slice of wider pixels.
    pixel = whole.pixel_stride + 3
    result = replace(whole, pixel_stride=pixel, row_stride=whole.cols * pixel)
    kernels = [kernel for kernel in of(node.op) if kernel.refuses(node, M4) is None]
    assert {"dsp_s8", "arm_mve_s8"} <= {kernel.name for kernel in kernels}
    for kernel in kernels:
        call = kernel.lower(node, [source], [result], M4)
        assert isinstance(call, KernelCall)
        places = [Placed.of(np.zeros_like(expected), result)]
        kernel_call.run(call, [Placed.of(x, source)], places, [(0, call.rows)])
        np.testing.assert_array_equal(places[0].values(expected.shape, expected.dtype), expected, err_msg=kernel.name)


def test_short_rows_and_other_types_are_left_to_the_portable_kernels() -> None:
    def refusal(case: reductions.Case, dtype: type = np.int8) -> str | None:
        (node,) = load(reductions.model([case], dtype)).nodes
        return next(kernel for kernel in of(node.op) if kernel.name == "dsp_s8").refuses(node, M4)

    case = reductions.Case("REDUCE_MAX", (1, 5, 5, 3), (1, 2))
    assert refusal(case) == "is for an innermost axis of at least 4 elements"
    assert refusal(reductions.Case("MEAN", (1, 5, 5, 4), (1, 2)), np.int16) == "is for int8, got int16"
