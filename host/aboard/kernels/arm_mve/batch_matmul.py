"""Products of matrices of int8 with Helium."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace

from typing_extensions import override

from aboard.ir import DType, Node
from aboard.kernels.contract import KernelCall, Scratch, ScratchArg
from aboard.kernels.portable.batch_matmul import BatchMatmulPortable, extents_of
from aboard.kernels.registry import implements
from aboard.kernels.view import View
from aboard.ops.batch_matmul import attributes
from aboard.target import Target

#: ABOARD_MATMUL_MVE_COLUMNS of `arm_mve/batch_matmul.h`, the bytes of the total of a row, and the largest step of
#: elements that are gathered.
_COLUMNS, _TOTAL_BYTES, _MOST_STEP = 4, 4, 8191

#: Instructions of a vector of eight elements that are gathered, of sixteen of four columns, and of sixteen of a row; of
#: four columns and of a row without them.
_GATHERED, _TOTALS, _PRODUCTS, _BLOCK, _ROW = 5, 16, 11, 120, 30


@implements
class BatchMatmulMve(BatchMatmulPortable):
    """A row and four columns at once."""

    name = "arm_mve_s8"
    keys = frozenset({"arm_mve"})

    @override
    def refuses(self, node: Node, target: Target) -> str | None:
        """Refuses other element types, and elements that are too far apart to be gathered."""
        if node.output.dtype is not DType.INT8:
            return "is for int8"
        attrs, found = attributes(node), extents_of(node)
        step = max(found.rows if attrs.adj_x else 1, 1 if attrs.adj_y else found.cols)
        return None if step <= _MOST_STEP else f"is for elements at most {_MOST_STEP} bytes apart, got {step}"

    @override
    def lower(self, node: Node, inputs: Sequence[View | None], outputs: Sequence[View], target: Target) -> KernelCall:
        call = super().lower(node, inputs, outputs, target)
        attrs, found = attributes(node), extents_of(node)
        columns = ScratchArg(Scratch(0 if attrs.adj_y else _COLUMNS * found.depth), "int8_t *")
        row = ScratchArg(Scratch(found.depth if attrs.adj_x else 0), "int8_t *")
        gathered, vectors = _GATHERED * -(-found.depth // 8), -(-found.depth // 16)
        block = _BLOCK + _TOTALS * vectors + (0 if attrs.adj_y else _COLUMNS * gathered)
        of_row = _ROW + _PRODUCTS * vectors + (gathered if attrs.adj_x else 0)
        totals = ScratchArg(Scratch(_TOTAL_BYTES * found.rows if node.input(1).quant.zero_point else 0), "uint32_t *")
        return replace(
            call,
            header="arm_mve/batch_matmul.h",
            function="aboard_batch_matmul_mve",
            arguments=(*call.arguments, columns, row, totals),
            loops=math.prod(found.batches) * -(-found.cols // _COLUMNS) * (block + found.rows * of_row),
        )
