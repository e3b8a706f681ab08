"""average_pool2d and max_pool2d of int8 with Helium."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import ClassVar

from typing_extensions import override

from aboard.ir import DType, Node
from aboard.kernels.contract import KernelCall, RowWise
from aboard.kernels.portable.pool2d import AccumulatingAverage, Pool
from aboard.kernels.registry import implements
from aboard.kernels.view import View
from aboard.target import Target


class PoolMve(Pool):
    """One window and one vector of channels at a time."""

    name = "arm_mve_s8"
    keys = frozenset({"arm_mve"})
    dtype = DType.INT8
    block: ClassVar[int] = 16

    @override
    def lower(self, node: Node, inputs: Sequence[View | None], outputs: Sequence[View], target: Target) -> KernelCall:
        return replace(super().lower(node, inputs, outputs, target), header="arm_mve/pool2d.h")


@implements
class AveragePool2dMve(AccumulatingAverage, PoolMve):
    """average_pool2d."""

    function, rows_function = "aboard_average_pool2d_mve", "aboard_average_pool2d_rows_mve"
    sums, sum_bytes, block = "int16_t", 2, 8

    @override
    def row_wise(self, node: Node) -> RowWise:
        """Rows that are written together are accumulated together: each call reads and writes all sums."""
        found = super().row_wise(node)
        return replace(found, follows=found.accumulates)


@implements
class MaxPool2dMve(PoolMve):
    """max_pool2d."""

    op, function = "max_pool2d", "aboard_max_pool2d_mve"
