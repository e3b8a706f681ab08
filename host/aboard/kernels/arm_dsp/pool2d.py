"""average_pool2d and max_pool2d for cores with the DSP extension (Cortex-M4, M7, M33): int8."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace
from typing import ClassVar

from typing_extensions import override

from aboard.ir import DType, Node
from aboard.kernels.contract import KernelCall
from aboard.kernels.portable.pool2d import AccumulatingAverage, Pool
from aboard.kernels.registry import implements
from aboard.kernels.view import View
from aboard.ops.pool2d import attributes
from aboard.target import Target

#: ABOARD_DSP_TAP_GROUP of `arm_dsp/dot.h`.
_CHANNELS = 4

#: Fewest pixels of averages of channels that are no multiple of four.
_FEWEST_PIXELS = 5


class PoolDsp(Pool):
    """One window and four channels at a time."""

    name = "dsp_s8"
    keys = frozenset({"arm_dsp"})
    dtype: ClassVar[DType] = DType.INT8
    block: ClassVar[int] = _CHANNELS

    @override
    def refuses(self, node: Node, target: Target) -> str | None:
        """Refuses other element types, and pixels of less than a word."""
        enough = node.output.shape[-1] >= _CHANNELS
        return super().refuses(node, target) or (None if enough else f"is for {_CHANNELS} channels or more")

    @override
    def lower(self, node: Node, inputs: Sequence[View | None], outputs: Sequence[View], target: Target) -> KernelCall:
        return replace(super().lower(node, inputs, outputs, target), header="arm_dsp/pool2d.h")


@implements
class AveragePool2dDsp(AccumulatingAverage, PoolDsp):
    """average_pool2d."""

    function, rows_function = "aboard_average_pool2d_dsp", "aboard_average_pool2d_rows_dsp"
    sums, sum_bytes, sum_block = "aboard_dsp_sums_t", 2, _CHANNELS

    @override
    def refuses(self, node: Node, target: Target) -> str | None:
        """Refuses what the base classes refuse, and small windows whose last channels are no block of four.

        The sums of the last block begin with channels of the block before it: of few pixels, whose averages cost more
        than their sums, that is up to a third slower than portable C.
        """
        reason, size = super().refuses(node, target), math.prod(attributes(node).window)
        if reason is not None or node.output.shape[-1] % _CHANNELS == 0 or size >= _FEWEST_PIXELS:
            return reason
        return f"is for a multiple of {_CHANNELS} channels, or windows of {_FEWEST_PIXELS} pixels or more, got {size}"


@implements
class MaxPool2dDsp(PoolDsp):
    """max_pool2d."""

    op, function = "max_pool2d", "aboard_max_pool2d_dsp"
