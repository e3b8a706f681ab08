"""conv2d with one channel in each group in portable C: int8."""

from __future__ import annotations

import math
from collections.abc import Sequence

from typing_extensions import override

from aboard.ir import Node
from aboard.kernels import loops
from aboard.kernels import weights as packing
from aboard.kernels.contract import (
    ROLLING_ROW_COST,
    ConstantArg,
    InputArg,
    KernelCall,
    OutputArg,
    PackedConstant,
    Scratch,
    ScratchArg,
)
from aboard.kernels.portable.conv2d import shape_params
from aboard.kernels.portable.epilogue import epilogue
from aboard.kernels.registry import implements
from aboard.kernels.view import View
from aboard.kernels.windowed import Convolution, groups
from aboard.ops import conv2d as op
from aboard.ops.weighted import INPUT, Precision
from aboard.target import Target

#: Work of a result, of finding its window, and of copying a row of a window; a multiply-accumulate is 1.
_RESULT, _WINDOW, _COPIED_ROW = 11, 8, 40


@implements
class PortableOneS8(Convolution):
    """int8: a pixel of one channel at once, read where it lies."""

    name = "portable_one_s8"
    exact = True
    by_rows = True

    @override
    def refuses(self, node: Node, target: Target) -> str | None:
        reason = packing.refusal(node, Precision.INT8, op.AXIS)
        if reason is not None:
            return reason
        return None if node.output.shape[3] == groups(node) else "is for one channel in each group"

    @override
    def rolling_cost(self, node: Node) -> float:
        """Finds the rows of each window once for each channel."""
        return math.prod(node.output.shape) * op.window(node)[0] * ROLLING_ROW_COST

    @override
    def lower(self, node: Node, inputs: Sequence[View | None], outputs: Sequence[View], target: Target) -> KernelCall:
        x, y = packing.view(inputs), outputs[0]
        matrix = packing.matrix(node, op.AXIS)
        direct = op.window(node) == (1, 1) and not op.attributes(node).padding.any
        result = epilogue(node, matrix, packing.bias(node), op.attributes(node).activation, op.AXIS)
        return KernelCall(
            header="portable/conv2d_one.h",
            function="aboard_conv2d_one_s8",
            params_type="aboard_conv2d_s8_t",
            params={
                "shape": {**shape_params(node, x, y), "groups": groups(node)},
                "direct": int(direct),
                "zero_point": node.input(INPUT).quant.zero_point,
                "epilogue": result.params,
            },
            arguments=(
                InputArg(INPUT, "const int8_t *"),
                OutputArg(0, "int8_t *"),
                ConstantArg(PackedConstant("weights", matrix)),
                ConstantArg(PackedConstant("constants", result.blocks())),
                ScratchArg(Scratch(0 if direct else matrix.shape[1]), "int8_t *"),
            ),
            rows=y.rows,
            code_variant=f"direct={int(direct)}",
            slow_epilogue=not result.fast,
            loops=_loops(node, direct=direct),
        )


def _loops(node: Node, *, direct: bool) -> int:
    """Returns the work of all windows; those with gaps or padding are copied first."""
    results, (height, width) = math.prod(node.output.shape), op.window(node)
    result = height * width * (node.input(INPUT).shape[3] // groups(node)) + _RESULT
    if direct:
        return results * result
    copied = loops.windows_with_gaps(node) * groups(node)
    return results * (result + _WINDOW) + copied * height * _COPIED_ROW
