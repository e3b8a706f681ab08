"""svdf of int8 for cores with the DSP extension: four filters at once, and four elements of a state in a word."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from typing_extensions import override

from aboard.ir import Array, DType, Node
from aboard.ir.numerics import Int64
from aboard.kernels.arm_dsp import four_channels
from aboard.kernels.arm_dsp.dot import TAP_GROUP
from aboard.kernels.contract import ConstantArg, InputArg, KernelCall, OutputArg, PackedConstant, Scratch, ScratchArg
from aboard.kernels.portable.svdf import SvdfKernel, constant, geometry, unit_bias
from aboard.kernels.registry import implements
from aboard.kernels.view import View
from aboard.ops.svdf import FEATURE_WEIGHTS, INPUT, STATE, TIME_WEIGHTS, attributes, rescaling
from aboard.target import Target


@implements
class DspS8(SvdfKernel):
    """int8 with time weights and state of int8."""

    name = "dsp_s8"
    keys = frozenset({"arm_dsp"})
    state = DType.INT8

    @override
    def refuses(self, node: Node, target: Target) -> str | None:
        reason = super().refuses(node, target)
        if reason is not None:
            return reason
        scales, weights = rescaling(node), constant(node, FEATURE_WEIGHTS)
        if not four_channels.fits(scales.feature, four_channels.largest_sum(weights, _feature_bias(node))):
            return "sums of features may exceed 31 bits"
        time = constant(node, TIME_WEIGHTS).reshape(node.output.shape[1], -1)
        if not four_channels.fits(scales.result, four_channels.largest_sum(time, unit_bias(node))):
            return "sums over time may exceed 31 bits"
        return None

    @override
    def lower(self, node: Node, inputs: Sequence[View | None], outputs: Sequence[View], target: Target) -> KernelCall:
        scales, weights = rescaling(node), constant(node, FEATURE_WEIGHTS)
        words = four_channels.blocks(weights, _feature_bias(node))
        return KernelCall(
            header="arm_dsp/svdf.h",
            function="aboard_svdf_dsp",
            params_type="aboard_svdf_dsp_t",
            params={
                **geometry(node),
                "feature": four_channels.scale_params(scales.feature),
                "result": four_channels.scale_params(scales.result),
                "state_zero_point": node.input(STATE).quant.zero_point,
                "result_zero_point": node.output.quant.zero_point,
            },
            arguments=(
                InputArg(INPUT, "const int8_t *"),
                InputArg(STATE, "const int8_t *"),
                OutputArg(0, "int8_t *"),
                OutputArg(1, "int8_t *"),
                ConstantArg(PackedConstant("weights", words)),
                ConstantArg(PackedConstant("time", constant(node, TIME_WEIGHTS))),
                ConstantArg(PackedConstant("bias", _filter_bias(node))),
                ScratchArg(Scratch(8 * -(-weights.shape[1] // TAP_GROUP)), "uint32_t *"),
            ),
            rows=outputs[0].rows,
        )


def _feature_bias(node: Node) -> Int64:
    """Returns where the sums of the features begin: the zero point of the input, folded in."""
    sums: Int64 = constant(node, FEATURE_WEIGHTS).astype(np.int64).sum(1)
    return -node.input(INPUT).quant.zero_point * sums


def _filter_bias(node: Node) -> Array:
    """Returns where the sums over time begin, [filters]: a unit's first filter has its bias, the others 0."""
    bias = unit_bias(node)
    starts = np.zeros((len(bias), attributes(node).rank), np.int32)
    starts[:, 0] = bias
    return starts.reshape(-1)
