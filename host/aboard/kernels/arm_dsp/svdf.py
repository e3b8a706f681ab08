"""svdf of int8 for cores with the DSP extension: the features are computed as a fully connected layer."""

from __future__ import annotations

from collections.abc import Sequence

from typing_extensions import override

from aboard.ir import DType, Node, Quantization, Tensor, TensorType
from aboard.kernels.arm_dsp.fully_connected import DspS8 as DspFullyConnectedS8
from aboard.kernels.contract import (
    ConstantArg,
    InputArg,
    KernelCall,
    OutputArg,
    PackedConstant,
    Scratch,
    ScratchArg,
    View,
)
from aboard.kernels.portable.svdf import SvdfKernel, constant, int8_params, unit_bias
from aboard.kernels.registry import implements
from aboard.ops.fully_connected import FullyConnectedAttributes
from aboard.ops.svdf import FEATURE_WEIGHTS, INPUT, STATE, TIME_WEIGHTS
from aboard.target import Target

_LAYER = DspFullyConnectedS8()


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
        return _LAYER.refuses(features(node), target)

    @override
    def lower(self, node: Node, inputs: Sequence[View | None], outputs: Sequence[View], target: Target) -> KernelCall:
        layer = features(node)
        of_layer = _LAYER.lower(layer, inputs[:1], [View.whole(layer.output.shape, 1)], target)
        weights, words = of_layer.constants[0], of_layer.scratch[0]
        return KernelCall(
            header="arm_dsp/svdf.h",
            function="aboard_svdf_dsp",
            params_type="aboard_svdf_dsp_t",
            params={"feature": of_layer.params, "filter": int8_params(node)},
            arguments=(
                InputArg(INPUT, "const int8_t *"),
                InputArg(STATE, "const int8_t *"),
                OutputArg(0, "int8_t *"),
                OutputArg(1, "int8_t *"),
                ConstantArg(weights),
                ConstantArg(PackedConstant("time", constant(node, TIME_WEIGHTS))),
                ConstantArg(PackedConstant("bias", unit_bias(node))),
                ScratchArg(words, "uint32_t *"),
                ScratchArg(Scratch(layer.output.type.elements), "int8_t *"),
            ),
            rows=outputs[0].rows,
            slow_epilogue=of_layer.slow_epilogue,
        )


def features(node: Node) -> Node:
    """Returns the layer that computes the features of an int8 node, without the zero point of the state."""
    x, weights, state = node.input(INPUT), node.input(FEATURE_WEIGHTS), node.input(STATE).quant.scale
    shape = (x.shape[0], weights.shape[0])
    result = Tensor(f"{node.name}/features", TensorType(shape, DType.INT8, Quantization((state,), (0,))))
    return Node("fully_connected", result.name, [x, weights], [result], FullyConnectedAttributes(), node.sources)
