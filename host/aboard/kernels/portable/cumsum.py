"""Running sums on any core."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence

from typing_extensions import override

from aboard.ir import DType, Node
from aboard.kernels.contract import Implementation, InputArg, KernelCall, OutputArg
from aboard.kernels.registry import implements
from aboard.kernels.view import Literal, View
from aboard.ops.cumsum import attributes, scaling
from aboard.target import Target


@implements
class CumsumPortable(Implementation):
    """One sum after the other; each element is read before its place is written."""

    op = "cumsum"
    name = "portable"
    in_place = ((0, 0),)

    @override
    def lower(self, node: Node, inputs: Sequence[View | None], outputs: Sequence[View], target: Target) -> KernelCall:
        attrs, shape, dtype = attributes(node), node.output.shape, node.output.dtype
        function = f"aboard_cumsum_{'f32' if dtype is DType.FLOAT32 else 's8'}"
        axes: Mapping[str, Literal] = {
            "outer": math.prod(shape[: attrs.axis]),
            "extent": shape[attrs.axis],
            "inner": math.prod(shape[attrs.axis + 1 :]),
            "exclusive": int(attrs.exclusive),
            "reverse": int(attrs.reverse),
        }
        return KernelCall(
            header="portable/cumsum.h",
            function=function,
            params_type=f"{function}_t",
            params={"axes": axes, **_scaling(node)},
            arguments=(InputArg(0, f"const {dtype.c} *"), OutputArg(0, f"{dtype.c} *")),
            rows=outputs[0].rows,
            step_rows=outputs[0].rows,
        )


def _scaling(node: Node) -> Mapping[str, Literal]:
    if node.output.dtype is DType.FLOAT32:
        return {}
    multiplier, shift = scaling(node)
    zero_points = {"in_zero_point": node.input(0).quant.zero_point, "out_zero_point": node.output.quant.zero_point}
    return {**zero_points, "multiplier": multiplier, "shift": shift}
