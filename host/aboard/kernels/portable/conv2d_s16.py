"""conv2d of int16 with int8 weights in portable C."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from typing_extensions import override

from aboard.ir import Node
from aboard.kernels import weights as packing
from aboard.kernels.contract import ConstantArg, InputArg, KernelCall, OutputArg, PackedConstant, Scratch, ScratchArg
from aboard.kernels.overlap import Reads
from aboard.kernels.portable import epilogue_s16
from aboard.kernels.portable.conv2d import pack, shape_params
from aboard.kernels.portable.epilogue import BLOCK
from aboard.kernels.registry import implements
from aboard.kernels.view import View
from aboard.kernels.windowed import PixelPairs, groups
from aboard.ops import conv2d as op
from aboard.ops.weighted import INPUT
from aboard.target import Target


def is_direct(node: Node) -> bool:
    """True if windows are single pixels without padding, which are read directly."""
    return op.window(node) == (1, 1) and not op.attributes(node).padding.any


class ConvolutionS16(PixelPairs):
    """The common part of int16 implementations: two pixels at once, whose windows are copied or single pixels."""

    @override
    def refuses(self, node: Node, target: Target) -> str | None:
        return epilogue_s16.refusal(node, op.AXIS)

    @override
    def reads(self, node: Node) -> Reads:
        """Pixels of a pair without a copy are read until both results are written."""
        return Reads.PAIR if is_direct(node) else Reads.FIRST


@implements
class PortableS16(ConvolutionS16):
    """int16: blocks of two pixels and four channels."""

    name = "portable_s16"
    exact = True

    @override
    def lower(self, node: Node, inputs: Sequence[View | None], outputs: Sequence[View], target: Target) -> KernelCall:
        x, y = packing.view(inputs), outputs[0]
        matrix = packing.matrix(node, op.AXIS)
        direct = is_direct(node)
        result = epilogue_s16.epilogue(node, matrix, packing.bias(node), op.attributes(node).activation, op.AXIS)
        return KernelCall(
            header="portable/conv2d_s16.h",
            function="aboard_conv2d_s16",
            params_type="aboard_conv2d_s16_t",
            params={
                "shape": {**shape_params(node, x, y), "groups": groups(node)},
                "direct": int(direct),
                "chunk": result.chunk,
                "epilogue": result.params,
            },
            arguments=(
                InputArg(INPUT, "const int16_t *"),
                OutputArg(0, "int16_t *"),
                ConstantArg(PackedConstant("weights", pack(node))),
                ConstantArg(PackedConstant("constants", result.blocks(groups(node), BLOCK))),
                ScratchArg(Scratch(0 if direct else 2 * np.int16().nbytes * matrix.shape[1]), "int16_t *"),
            ),
            rows=y.rows,
            slow_epilogue=not result.short,
        )
