"""depthwise_conv2d of int16 with int8 weights for cores with the DSP extension (Cortex-M4, M7, M33)."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from typing_extensions import override

from aboard.ir import Array, Node
from aboard.kernels import weights as packing
from aboard.kernels.contract import ConstantArg, InputArg, KernelCall, OutputArg, PackedConstant
from aboard.kernels.overlap import Reads
from aboard.kernels.portable import epilogue_s16
from aboard.kernels.portable.depthwise_conv2d import params_of_shape
from aboard.kernels.portable.depthwise_conv2d_s16 import DepthwiseS16
from aboard.kernels.portable.epilogue_s16 import EpilogueS16
from aboard.kernels.registry import implements
from aboard.kernels.view import View
from aboard.ops import depthwise_conv2d as op
from aboard.ops.conv2d import attributes
from aboard.ops.weighted import INPUT
from aboard.target import Target


@implements
class DspS16(DepthwiseS16):
    """int16: two channels of four pixels at once."""

    name = "dsp_s16"
    exact = True
    keys = frozenset({"arm_dsp"})

    @override
    def reads(self, node: Node) -> Reads:
        """The kernel reads a window last for two channels of a row at once."""
        return Reads.ROW

    @override
    def refuses(self, node: Node, target: Target) -> str | None:
        reason = super().refuses(node, target)
        if reason is not None:
            return reason
        if op.depth_multiplier(node) != 1 or node.output.shape[3] % 2:
            return "is for an even number of channels, each with one result"
        return None if _epilogue(node).short else "is for results by one product"

    @override
    def lower(self, node: Node, inputs: Sequence[View | None], outputs: Sequence[View], target: Target) -> KernelCall:
        x, y = packing.view(inputs), outputs[0]
        result = _epilogue(node)
        return KernelCall(
            header="arm_dsp/depthwise_conv2d_s16.h",
            function="aboard_depthwise_conv2d_dsp_s16",
            params_type="aboard_depthwise_conv2d_dsp_s16_t",
            params={
                "shape": params_of_shape(node, x, y),
                "low": result.params["low"],
                "high": result.params["high"],
            },
            arguments=(
                InputArg(INPUT, "const int16_t *"),
                OutputArg(0, "int16_t *"),
                ConstantArg(PackedConstant("weights", _words(packing.matrix(node, op.AXIS), result))),
            ),
            rows=y.rows,
            slow_epilogue=not result.short,
        )


def _epilogue(node: Node) -> EpilogueS16:
    matrix = packing.matrix(node, op.AXIS)
    return epilogue_s16.epilogue(node, matrix, packing.bias(node), attributes(node).activation, op.AXIS)


def _words(weights: Array, result: EpilogueS16) -> Array:
    """Returns [pairs of channels, words]: weights of each tap, biases, multipliers."""
    pairs = weights.astype(np.int16).reshape(-1, 2, weights.shape[1]).swapaxes(1, 2)
    taps = np.ascontiguousarray(pairs).reshape(len(pairs), -1).view("<u4")
    constants = result.constants.reshape(-1, 2, 2).swapaxes(1, 2).reshape(len(pairs), -1)
    return np.ascontiguousarray(np.concatenate([taps, constants.astype(np.int32).view(np.uint32)], 1))
