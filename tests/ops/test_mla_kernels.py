"""What kernels with MLA compute at the ends of their ranges, and what they leave to others."""

from __future__ import annotations

import dataclasses

import pytest

from aboard.kernels.view import View
from aboard.target import Target
from support import kernel_views
from support.mla_layers import KERNELS, ROWS, extreme
from support.weighted_models import Layer


@pytest.mark.parametrize("sign", [1, -1])
@pytest.mark.parametrize("taps", [1, 2, 63, 514])
def test_largest_products(taps: int, sign: int) -> None:
    layer = extreme(taps, sign)
    x, y = (View.whole(shape, 1) for shape in (layer.shape_in, layer.shape_out))
    kernel_views.check(layer, KERNELS.implementation, KERNELS.target, x, y, [(0, y.rows)])


def test_pairs_of_taps_that_exceed_16_bits() -> None:
    layer = extreme(4, 1)
    apart, together = ((-128, 127, 127, -128), (127, 127, -128, -128))
    assert KERNELS.refusal(dataclasses.replace(layer, pattern=apart)) is None
    assert (
        KERNELS.refusal(dataclasses.replace(layer, pattern=together)) == "two weights are 256 together, more than 255"
    )


def test_what_is_left_to_other_kernels() -> None:
    options = {"Padding": "SAME", "StrideH": 1, "StrideW": 1}
    conv = Layer("CONV_2D", (1, 5, 4, 4), (4, 3, 3, 4), (1, 5, 4, 4), 0, options)
    changed = dataclasses.replace
    assert KERNELS.refusal(conv) is None
    assert KERNELS.refusal(changed(conv, spread=1e-5)) == "results are not smaller than sums"
    assert KERNELS.refusal(changed(conv, form="float32")) == "is for int8"
    assert KERNELS.refusal(conv, Target("c -mcpu=cortex-m3 -opt=size")) == "takes more memory (-opt=size)"
    matrix = Layer("FULLY_CONNECTED", (1, 8), (4, 8), (1, 4), 0, per_channel=False)
    assert KERNELS.refusal(matrix) is None
    assert KERNELS.refusal(matrix, Target("c -mcpu=cortex-m3 -opt=size")) is None
    assert KERNELS.refusal(changed(matrix, form="float32")) == "is for int8"


def test_what_matrices_leave_to_other_kernels() -> None:
    matrix = Layer("FULLY_CONNECTED", (1, 8), (4, 8), (1, 4), 0, per_channel=False)
    assert ROWS.refusal(matrix) is None
    assert ROWS.refusal(dataclasses.replace(matrix, spread=1e-5)) == "results are not smaller than sums"
    assert ROWS.refusal(dataclasses.replace(matrix, form="float32")) == "is for int8"
