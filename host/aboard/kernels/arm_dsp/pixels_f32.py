"""float32 layers by blocks of four pixels and four channels: what the kernels of both instruction sets have in common.

The C is `firmware/kernels/portable/pixels_f32.h`.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from math import prod
from typing import ClassVar

import numpy as np
from typing_extensions import override

from aboard.ir import Node
from aboard.kernels import weights as packing
from aboard.kernels.contract import (
    ROLLING_ROW_COST,
    ConstantArg,
    Implementation,
    KernelCall,
    PackedConstant,
    Scratch,
    ScratchArg,
)
from aboard.kernels.overlap import Reads
from aboard.kernels.portable import conv2d, depthwise_conv2d_f32, fully_connected
from aboard.kernels.portable.conv2d import shape_params
from aboard.kernels.portable.epilogue import BLOCK
from aboard.kernels.view import Literal, View
from aboard.kernels.windowed import Windowed, groups
from aboard.ops import conv2d as op
from aboard.ops import depthwise_conv2d as depthwise
from aboard.ops.weighted import INPUT, WEIGHTS
from aboard.target import Target

#: Pixels of a block.
PIXELS = 4

_WORD = 4

#: Reasons against cores, by the feature that they lack.
_MISSING = {"fpu": "is for cores with an FPU", "mve_float": "is for cores with Helium for floats"}


class _PixelsF32(Implementation):
    """A float32 layer by blocks of pixels.

    Attributes:
        feature: Feature of the cores that it is for.
        header: C header.
    """

    feature: ClassVar[str]
    header: ClassVar[str]

    @override
    def refuses(self, node: Node, target: Target) -> str | None:
        if self.feature not in target.host.cpu.features:
            return _MISSING[self.feature]
        return super().refuses(node, target)


class _WindowsF32(_PixelsF32, Windowed):
    """A convolution: a table of the windows' pixels, and a pixel of zeros for the padding, in scratch.

    Attributes:
        single: Cost of a pixel that is computed alone, as a factor of its cost in a block.
    """

    single: ClassVar[float]

    @override
    def refuses(self, node: Node, target: Target) -> str | None:
        return super().refuses(node, target) or _infinite(node)

    @override
    def reads(self, node: Node) -> Reads:
        return Reads.FOUR

    @override
    def growth(self, node: Node, rows: int) -> float:
        """Counts the last pixels of a stripe, which are computed one by one."""
        whole, stripe = prod(node.output.shape[:3]), rows * node.output.shape[2]
        return (self._cost(stripe) / stripe) / (self._cost(whole) / whole)

    def _cost(self, pixels: int) -> float:
        return pixels + (self.single - 1) * (pixels % PIXELS)

    def table(self, call: KernelCall, node: Node, zeros: int) -> KernelCall:
        """Returns a call of this kernel with parameters of `aboard_pixels_conv2d_f32_t`, and scratch.

        Args:
            call: A call whose shape is that of a conv2d.
            node: The node.
            zeros: Elements of the pixel of zeros.
        """
        attrs, (height, width) = op.attributes(node), op.window(node)
        params: dict[str, Literal] = {
            "shape": call.params["shape"],
            "padded": int(attrs.padding.any),
            "depthwise": int(node.op == "depthwise_conv2d"),
            **packing.float_clamp(attrs.activation),
        }
        words = PIXELS * height * width + (zeros if attrs.padding.any else 0)
        arguments = (*call.arguments, ScratchArg(Scratch(_WORD * words), "int32_t *"))
        return replace(
            call,
            header=self.header,
            params_type="aboard_pixels_conv2d_f32_t",
            params=params,
            arguments=arguments,
        )


def _infinite(node: Node) -> str | None:
    """Returns a reason against weights whose product with the zeros of the padding would not be 0."""
    values = node.input(WEIGHTS).data
    finite = not op.attributes(node).padding.any or values is None or bool(np.isfinite(values).all())
    return None if finite else "is for finite weights where there is padding"


class ConvolutionF32(_WindowsF32, conv2d.PortableF32):
    """conv2d: any window, groups, any number of channels. Weights and constants are packed as for portable C."""

    @override
    def rolling_cost(self, node: Node) -> float:
        """Finds a row for each row of each window."""
        pixels = prod(node.output.shape[:3])
        return ROLLING_ROW_COST * pixels * groups(node) * op.window(node)[0]

    @override
    def lower(self, node: Node, inputs: Sequence[View | None], outputs: Sequence[View], target: Target) -> KernelCall:
        call = super().lower(node, inputs, outputs, target)
        depth = node.input(INPUT).shape[3] // groups(node)
        return self.table(call, node, op.window(node)[1] * depth)


class DepthwiseF32(_WindowsF32, depthwise_conv2d_f32.PortableF32):
    """depthwise_conv2d with a multiplier of 1 and a multiple of four channels."""

    @override
    def refuses(self, node: Node, target: Target) -> str | None:
        reason = super().refuses(node, target)
        if reason is None and (depthwise.depth_multiplier(node) != 1 or node.output.shape[3] % BLOCK):
            return "is for a depth multiplier of 1 and a multiple of four channels"
        return reason

    @override
    def rolling_cost(self, node: Node) -> float:
        """Finds a row for each row of each window."""
        return ROLLING_ROW_COST * prod(node.output.shape[:3]) * op.window(node)[0]

    @override
    def lower(self, node: Node, inputs: Sequence[View | None], outputs: Sequence[View], target: Target) -> KernelCall:
        call = super().lower(node, inputs, outputs, target)
        weights = packing.blocks(packing.matrix(node, depthwise.AXIS), BLOCK)
        constants = packing.interleaved(packing.float_constants(node, depthwise.AXIS), BLOCK)
        packed = ConstantArg(PackedConstant("weights", weights)), ConstantArg(PackedConstant("constants", constants))
        shape = {**shape_params(node, packing.view(inputs), outputs[0]), "groups": 1}
        call = replace(call, params={"shape": shape}, arguments=(*call.arguments[:2], *packed))
        return self.table(call, node, node.output.shape[3])


class FullyConnectedF32(_PixelsF32, fully_connected.PortableF32):
    """fully_connected: samples are pixels. Weights and constants are packed as for portable C."""

    @override
    def lower(self, node: Node, inputs: Sequence[View | None], outputs: Sequence[View], target: Target) -> KernelCall:
        return replace(super().lower(node, inputs, outputs, target), header=self.header)
