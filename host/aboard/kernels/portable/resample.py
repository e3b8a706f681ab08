"""Weighted sums of neighbours along one axis, on any core."""

from __future__ import annotations

import math
from collections.abc import Sequence

from typing_extensions import override

from aboard.ir import Node
from aboard.kernels.contract import Implementation, InputArg, KernelCall, OutputArg
from aboard.kernels.registry import implements
from aboard.kernels.view import View
from aboard.ops.resample import STARTS, WEIGHTS, X, attributes
from aboard.target import Target


@implements
class ResamplePortable(Implementation):
    """Taps are the inner loop, so that a sum stays in a register."""

    op = "resample"
    name = "portable"

    @override
    def lower(self, node: Node, inputs: Sequence[View | None], outputs: Sequence[View], target: Target) -> KernelCall:
        axis, shape = attributes(node).axis, node.input(X).shape
        size, taps = node.input(WEIGHTS).shape
        return KernelCall(
            header="portable/resample.h",
            function="aboard_resample_f32",
            params_type="aboard_resample_t",
            params={
                "outer": math.prod(shape[:axis]),
                "extent": shape[axis],
                "size": size,
                "taps": taps,
                "inner": math.prod(shape[axis + 1 :]),
            },
            arguments=(
                InputArg(X, "const float *"),
                InputArg(STARTS, "const int32_t *"),
                InputArg(WEIGHTS, "const float *"),
                OutputArg(0, "float *"),
            ),
            rows=outputs[0].rows,
            step_rows=outputs[0].rows,
        )
