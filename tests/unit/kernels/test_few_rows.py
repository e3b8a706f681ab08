"""Which depthwise layers of Cortex-M4 have strips of one or two rows without line buffers."""

from __future__ import annotations

import pytest

from aboard.importers import load
from aboard.kernels.arm_dsp.depthwise_conv2d import DspS8
from aboard.target import Target
from support.weighted_models import Layer

#: Results of a row that half a register counts.
MOST = 1 << 16


def may_choose(cols: int, stride: int) -> bool:
    """True if the kernel may do without line buffers for rows of so many results."""
    shape, options = (1, 1, cols * stride, 4), {"Padding": "SAME", "StrideH": stride, "StrideW": stride}
    layer = Layer("DEPTHWISE_CONV_2D", shape, (1, 3, 3, 4), (1, 1, cols, 4), 3, {**options, "DepthMultiplier": 1})
    (node,) = load(layer.model(), name="m").nodes
    knobs = {knob.name: knob.values for knob in DspS8().knobs(node, Target("c -mcpu=cortex-m4"))}
    return knobs["few_rows"] == (1, 0)


@pytest.mark.parametrize("stride", [1, 2])
def test_rows_of_as_many_results_as_half_a_register_counts(stride: int) -> None:
    assert may_choose(2, stride)
    assert may_choose(MOST, stride)
    assert not may_choose(MOST + 1, stride)


def test_a_single_column_has_line_buffers() -> None:
    assert not may_choose(1, 1)
