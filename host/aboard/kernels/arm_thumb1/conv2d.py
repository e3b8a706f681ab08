"""conv2d for Arm cores with MULS alone (Cortex-M0, M0+, M23): int8."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np
from typing_extensions import override

from aboard.ir import Array, Node
from aboard.kernels import loops, two_products
from aboard.kernels import weights as packing
from aboard.kernels.contract import ConstantArg, KernelCall, PackedConstant, Scratch, ScratchArg
from aboard.kernels.portable.conv2d import PortableS8
from aboard.kernels.portable.epilogue import BLOCK
from aboard.kernels.registry import implements
from aboard.kernels.view import View
from aboard.kernels.weights import padded
from aboard.kernels.windowed import groups
from aboard.ops import conv2d as op
from aboard.ops.weighted import WEIGHTS
from aboard.target import Knob, Target

#: ABOARD_THUMB1_TAPS of `sums.h`.
TAPS = 4


def pack(node: Node) -> Array:
    """Returns the weights as [groups, channels, taps], channels and taps padded with zeros."""
    matrix = packing.matrix(node, op.AXIS)
    wide = np.ascontiguousarray(padded(matrix.T, TAPS).T)
    return np.stack([padded(group, BLOCK) for group in np.split(wide, groups(node))])


@implements
class Thumb1S8(PortableS8):
    """int8: two pixels share the words that are multiplied, two channels at once."""

    name = "thumb1_s8"
    keys = frozenset({"arm_thumb1"})

    @override
    def refuses(self, node: Node, target: Target) -> str | None:
        reason = super().refuses(node, target)
        if reason is not None:
            return reason
        if target.opt == "size":
            return "takes more memory (-opt=size)"
        return two_products.refusal(packing.matrix(node, op.AXIS))

    @override
    def knobs(self, node: Node, target: Target) -> tuple[Knob, ...]:
        return ()

    @override
    def lower(self, node: Node, inputs: Sequence[View | None], outputs: Sequence[View], target: Target) -> KernelCall:
        call = super().lower(node, inputs, outputs, target)
        weights = pack(node)
        taps = int(np.prod(node.input(WEIGHTS).shape[1:]))
        scratch = 4 * weights.shape[2] if call.params["direct"] else max(4 * weights.shape[2], 5 * taps)
        x, y, _, constants, _ = call.arguments
        return replace(
            call,
            header="arm_thumb1/conv2d.h",
            function="aboard_conv2d_thumb1",
            loops=loops.of_pixel_pairs(node, BLOCK, weights.shape[2]),
            arguments=(
                x,
                y,
                ConstantArg(PackedConstant("weights", weights)),
                constants,
                ScratchArg(Scratch(scratch), "int32_t *"),
            ),
        )
