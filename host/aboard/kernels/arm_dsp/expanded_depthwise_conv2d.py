"""expanded_depthwise_conv2d for cores with the DSP extension (Cortex-M4, M7, M33): int8."""

from __future__ import annotations

from collections.abc import Sequence

from typing_extensions import override

from aboard.ir import Node
from aboard.kernels import weights as packing
from aboard.kernels.arm_dsp import conv2d_blocks, dot
from aboard.kernels.arm_dsp.conv2d import LINE_SHIFT
from aboard.kernels.contract import (
    ConstantArg,
    InputArg,
    KernelCall,
    OutputArg,
    PackedConstant,
    Scratch,
    ScratchArg,
    UnsupportedNodeError,
)
from aboard.kernels.portable.expanded_depthwise_conv2d import Expanded, Windows
from aboard.kernels.registry import implements
from aboard.kernels.requantisation import RequantisedLayer, requantised
from aboard.kernels.view import Literal, View
from aboard.ops import conv2d
from aboard.ops import expanded_depthwise_conv2d as op
from aboard.ops.weighted import INPUT
from aboard.target import Target

#: Bytes of the words of two pixels, per channel of the narrow image.
_PAIR_BYTES = 4


@implements
class DspBlocksS8(Expanded):
    """int8: four expanded channels of two pixels at once; windows as in portable C."""

    name = "dsp_blocks_s8"
    keys = frozenset({"arm_dsp"})
    mac_costs = (1.1, 2.4)
    element_cost = 16

    @override
    def refuses(self, node: Node, target: Target) -> str | None:
        reason = super().refuses(node, target)
        if reason is not None:
            return reason
        expansion, _ = op.parts(node)
        if expansion.output.shape[3] % conv2d_blocks.CHANNELS or expansion.input(INPUT).shape[3] % dot.TAP_GROUP:
            return "is for multiples of four channels, narrow and expanded"
        if not dot.fits_swar(packing.matrix(expansion, conv2d.AXIS)):
            return "has weights of -128"
        try:
            _layer(expansion)
        except UnsupportedNodeError as error:
            return str(error)
        return None

    @override
    def lower(self, node: Node, inputs: Sequence[View | None], outputs: Sequence[View], target: Target) -> KernelCall:
        expansion, depthwise = op.parts(node)
        x, y, layer = packing.view(inputs), outputs[0], _layer(expansion)
        windows = Windows.of(depthwise, y, conv2d_blocks.CHANNELS, target)
        params: dict[str, Literal] = {"depthwise": windows.params, "in": x.literal(), **layer.params}
        return KernelCall(
            header="arm_dsp/expanded_depthwise_conv2d.h",
            function="aboard_expanded_depthwise_conv2d_dsp",
            params_type="aboard_expanded_depthwise_conv2d_dsp_t",
            params=params,
            arguments=(
                InputArg(INPUT, "const int8_t *"),
                OutputArg(0, "int8_t *"),
                ConstantArg(PackedConstant("expansion", conv2d_blocks.packed(layer), form=dot.PAIRED)),
                *windows.arguments,
                ScratchArg(Scratch(_PAIR_BYTES * x.channels), "uint32_t *"),
            ),
            rows=y.rows,
            slow_epilogue=windows.has_slow_epilogue,
            code_key=repr(params),
        )


def _layer(expansion: Node) -> RequantisedLayer:
    return requantised(expansion, conv2d.attributes(expansion).activation, conv2d.AXIS, LINE_SHIFT, swar=True)
