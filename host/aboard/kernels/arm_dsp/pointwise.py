"""conv2d of 1x1 over few channels for cores with the DSP extension (Cortex-M4, M7, M33): int8."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Sequence

import numpy as np
from typing_extensions import override

from aboard.ir import Array, Node
from aboard.ir.numerics import Int64, wrap32
from aboard.kernels import weights as packing
from aboard.kernels.arm_dsp import dot
from aboard.kernels.arm_dsp.conv2d import LINE_SHIFT
from aboard.kernels.contract import ConstantArg, InputArg, KernelCall, OutputArg, PackedConstant, UnsupportedNodeError
from aboard.kernels.overlap import Reads
from aboard.kernels.registry import implements
from aboard.kernels.requantisation import RequantisedLayer, requantised
from aboard.kernels.view import View
from aboard.kernels.windowed import Convolution, groups, is_pointwise
from aboard.ops import conv2d as op
from aboard.ops.weighted import INPUT, Precision
from aboard.target import Target

#: Instructions per result by number of input channels, for those with a kernel; and per pixel.
_RESULT, _PIXEL = {8: 8.5, 16: 15.5}, 22

#: ABOARD_DSP_PAIRS_ONCE of `arm_dsp/pairs_in_registers.h`, and cycles of two results by two roundings instead of one.
ONCE, DOUBLE_ROUNDING = 4, 8


class PixelsInRegisters(Convolution):
    """int8: pixels, or their windows, stay in registers for all channels of the result; weights of 16 bits."""

    exact = True
    keys = frozenset({"arm_dsp"})
    by_rows = True

    @abstractmethod
    def wrong_geometry(self, node: Node) -> str | None:
        """Returns why the kernel cannot compute the shapes of a node, or None."""

    @override
    def refuses(self, node: Node, target: Target) -> str | None:
        reason = packing.refusal(node, Precision.INT8, op.AXIS) or self.wrong_geometry(node)
        if reason is not None:
            return reason
        try:
            layer_of(node)
        except UnsupportedNodeError as error:
            return str(error)
        return None

    @override
    def reads(self, node: Node) -> Reads:
        """A pixel stays in registers."""
        return Reads.FIRST


@implements
class DspPointsS8(PixelsInRegisters):
    """A pixel of 8 or 16 channels."""

    name = "dsp_points_s8"

    @override
    def wrong_geometry(self, node: Node) -> str | None:
        return _geometry(node)

    @override
    def refuses(self, node: Node, target: Target) -> str | None:
        reason = super().refuses(node, target)
        if reason is None and not layer_of(node).is_single_rounding:
            return "is for results by single roundings"
        return reason

    @override
    def lower(self, node: Node, inputs: Sequence[View | None], outputs: Sequence[View], target: Target) -> KernelCall:
        x, y = packing.view(inputs), outputs[0]
        layer = layer_of(node)
        bounds = {name: layer.params[name] for name in ("clamped", "low", "high")}
        return KernelCall(
            header="arm_dsp/pointwise.h",
            function="aboard_pointwise_dsp",
            params_type="aboard_pointwise_dsp_t",
            params={"in": x.literal(), "out": y.literal(), **bounds},
            arguments=(
                InputArg(INPUT, "const int8_t *"),
                OutputArg(0, "int8_t *"),
                ConstantArg(PackedConstant("weights", pack(layer), form=dot.WIDENED)),
            ),
            rows=y.rows,
            code_variant=f"channels={x.channels}",
        )


def _geometry(node: Node) -> str | None:
    if not is_pointwise(node) or groups(node) != 1:
        return "is for windows of 1x1 with a stride of 1, without padding and groups"
    if node.input(INPUT).shape[3] not in _RESULT:
        return f"is for {' or '.join(map(str, _RESULT))} input channels"
    return "is for a multiple of four output channels" if node.output.shape[3] % dot.TAP_GROUP else None


def pack(layer: RequantisedLayer) -> Array:
    """Returns the words of `aboard_dsp_points_t`: [channels, ABOARD_DSP_POINT_WORDS]."""
    channels = len(layer.bias)
    # SXTB16 returns the taps of a group in the order of the inputs: 0 and 2, then 1 and 3.
    taps = layer.weights.reshape(channels, -1, dot.TAP_GROUP)[:, :, dot.TAP_ORDER]
    return packed(layer, taps)


def packed(layer: RequantisedLayer, taps: Int64) -> Array:
    """Returns for each channel its bias, its taps as halfwords, and what rounds its results: [channels, words]."""
    words = np.ascontiguousarray(taps.astype(np.int16)).reshape(len(layer.bias), -1).view("<u4")
    columns = [layer.bias, layer.factor, layer.constant] + ([] if layer.is_single_rounding else [layer.shift])
    around = wrap32(np.stack(columns, 1)).astype(np.int32).view(np.uint32)
    return np.ascontiguousarray(np.concatenate([around[:, :1], words, around[:, 1:]], 1))


def layer_of(node: Node) -> RequantisedLayer:
    """Returns the layer of a node."""
    activation = op.attributes(node).activation
    return requantised(node, activation, op.AXIS, LINE_SHIFT, swar=False)
