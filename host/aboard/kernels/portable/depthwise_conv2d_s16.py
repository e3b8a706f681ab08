"""depthwise_conv2d of int16 with int8 weights in portable C."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from typing_extensions import override

from aboard.ir import Node
from aboard.kernels import weights as packing
from aboard.kernels.contract import ConstantArg, InputArg, KernelCall, OutputArg, PackedConstant
from aboard.kernels.portable import epilogue_s16
from aboard.kernels.portable.depthwise_conv2d import params_of_shape
from aboard.kernels.registry import implements
from aboard.kernels.view import View
from aboard.kernels.windowed import Windowed
from aboard.ops import depthwise_conv2d as op
from aboard.ops.conv2d import attributes, window
from aboard.ops.weighted import INPUT
from aboard.target import Target


class DepthwiseS16(Windowed):
    """The common part of int16 implementations: one pixel after another, read directly."""

    op = "depthwise_conv2d"
    by_rows = True

    @override
    def refuses(self, node: Node, target: Target) -> str | None:
        if window(node)[1] > epilogue_s16.CHUNK:
            return f"has windows of {window(node)[1]} columns, at most {epilogue_s16.CHUNK} fit a sum of 32 bits"
        return epilogue_s16.refusal(node, op.AXIS)


@implements
class PortableS16(DepthwiseS16):
    """int16: one channel of a pixel after another."""

    name = "portable_s16"
    exact = True

    @override
    def lower(self, node: Node, inputs: Sequence[View | None], outputs: Sequence[View], target: Target) -> KernelCall:
        x, y = packing.view(inputs), outputs[0]
        matrix = packing.matrix(node, op.AXIS)
        result = epilogue_s16.epilogue(node, matrix, packing.bias(node), attributes(node).activation, op.AXIS)
        return KernelCall(
            header="portable/depthwise_conv2d_s16.h",
            function="aboard_depthwise_conv2d_s16",
            params_type="aboard_depthwise_conv2d_s16_t",
            params={"shape": params_of_shape(node, x, y), "epilogue": result.params},
            arguments=(
                InputArg(INPUT, "const int16_t *"),
                OutputArg(0, "int16_t *"),
                ConstantArg(PackedConstant("weights", np.ascontiguousarray(matrix))),
                ConstantArg(PackedConstant("constants", result.constants)),
            ),
            rows=y.rows,
            slow_epilogue=not result.short,
        )
