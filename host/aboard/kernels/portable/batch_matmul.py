"""Products of matrices on any core."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence

from typing_extensions import override

from aboard.ir import DType, Node
from aboard.ir.numerics import reduced_multiplier
from aboard.kernels.contract import Implementation, InputArg, KernelCall, OutputArg
from aboard.kernels.registry import implements
from aboard.kernels.view import Literal, View
from aboard.ops.batch_matmul import Extents, attributes, extents, scaling
from aboard.target import Target

#: ABOARD_MATMUL_BATCHES of batch_matmul.h.
MAX_BATCHES = 3

_SUFFIXES = {DType.INT8: "s8", DType.INT16: "s16", DType.FLOAT32: "f32"}


@implements
class BatchMatmulPortable(Implementation):
    """One sum of products after the other, whatever the order of the operands' axes."""

    op = "batch_matmul"
    name = "portable"

    @override
    def lower(self, node: Node, inputs: Sequence[View | None], outputs: Sequence[View], target: Target) -> KernelCall:
        dtype = node.output.dtype
        function = f"aboard_batch_matmul_{_SUFFIXES[dtype]}"
        return KernelCall(
            header="portable/batch_matmul.h",
            function=function,
            params_type=f"{function}_t",
            params={"shape": _shape(node), **_scaling(node)},
            arguments=(
                InputArg(0, f"const {dtype.c} *"),
                InputArg(1, f"const {dtype.c} *"),
                OutputArg(0, f"{dtype.c} *"),
            ),
            rows=outputs[0].rows,
            step_rows=outputs[0].rows,
        )


def extents_of(node: Node) -> Extents:
    """Returns the extents of a product.

    Raises:
        ValueError: The operands cannot be multiplied.
    """
    found = extents(node)
    if found is None:
        raise ValueError(f"batch_matmul {node.name}: the operands cannot be multiplied")
    return found


def _shape(node: Node) -> Mapping[str, Literal]:
    attrs, found = attributes(node), extents_of(node)
    batches = [*[1] * (MAX_BATCHES - len(found.batches)), *found.batches]
    return {
        "batches": batches,
        "x_step": _steps(node.input(0).shape),
        "y_step": _steps(node.input(1).shape),
        "rows": found.rows,
        "depth": found.depth,
        "cols": found.cols,
        "adj_x": int(attrs.adj_x),
        "adj_y": int(attrs.adj_y),
    }


def _steps(shape: Sequence[int]) -> list[int]:
    """Returns the elements from a batch of each axis to the next; 0 where the axis is repeated."""
    padded = (*[1] * (MAX_BATCHES + 2 - len(shape)), *shape)
    return [0 if padded[axis] == 1 else math.prod(padded[axis + 1 :]) for axis in range(MAX_BATCHES)]


def _scaling(node: Node) -> Mapping[str, Literal]:
    dtype = node.output.dtype
    if dtype is DType.FLOAT32:
        return {}
    multiplier, shift = scaling(node)
    if dtype is DType.INT16:
        return {"multiplier": int(reduced_multiplier(multiplier)), "shift": 15 - shift}
    x, y, result = (tensor.quant.zero_point for tensor in (node.input(0), node.input(1), node.output))
    return {"x_zero_point": x, "y_zero_point": y, "zero_point": result, "multiplier": multiplier, "shift": shift}
