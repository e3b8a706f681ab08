"""Resize by nearest neighbour on any core: copies pixels by two tables of indices."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from typing_extensions import override

from aboard.ir import Node
from aboard.kernels.contract import ConstantArg, Implementation, InputArg, KernelCall, OutputArg, PackedConstant
from aboard.kernels.portable import gather
from aboard.kernels.registry import implements
from aboard.kernels.view import View
from aboard.ops.resize_nearest_neighbor import indices
from aboard.target import Target

_LARGEST_INDEX = np.iinfo(np.uint16).max


@implements
class ResizeNearestNeighborPortable(Implementation):
    """One table for rows, one for pixels; the host computes both, so the kernel does no arithmetic that could round."""

    op = "resize_nearest_neighbor"
    name = "portable"
    strided = True

    @override
    def refuses(self, node: Node, target: Target) -> str | None:
        """Refuses images whose indices do not fit the tables."""
        largest = max(*node.input(0).shape[1:3], *node.output.shape[1:3])
        return (
            None if largest <= _LARGEST_INDEX else f"{largest} rows or pixels, at most {_LARGEST_INDEX} are supported"
        )

    @override
    def lower(self, node: Node, inputs: Sequence[View | None], outputs: Sequence[View], target: Target) -> KernelCall:
        rows, cols = indices(node)
        result = outputs[0]
        return KernelCall(
            header="portable/resize_nearest_neighbor.h",
            function="aboard_resize_nearest_neighbor",
            params_type="aboard_resize_nearest_neighbor_t",
            params={
                "in": gather.operand(inputs).literal(),
                "out": result.literal(),
                "element_bytes": result.element_bytes,
                "in_height": node.input(0).shape[1],
                "out_height": node.output.shape[1],
            },
            arguments=(
                InputArg(0, "const void *"),
                ConstantArg(PackedConstant("rows", rows.astype(np.uint16))),
                ConstantArg(PackedConstant("cols", cols.astype(np.uint16))),
                OutputArg(0, "void *"),
            ),
            rows=result.rows,
        )
