"""conv2d for Arm cores with MLA but without SIMD (Cortex-M3): int8."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from typing_extensions import override

from aboard.ir import Node
from aboard.kernels import loops
from aboard.kernels import weights as packing
from aboard.kernels.arm_mla import dot
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
from aboard.kernels.portable.conv2d import shape_params
from aboard.kernels.registry import implements
from aboard.kernels.view import View
from aboard.kernels.windowed import PixelPairs, groups, has_one_channel
from aboard.ops import conv2d as op
from aboard.ops.weighted import INPUT, WEIGHTS, Precision
from aboard.target import Target


@implements
class MlaS8(PixelPairs):
    """int8: two pixels and four channels at once, two products a multiplication."""

    name = "mla_s8"
    exact = True
    keys = frozenset({"arm_mla"})

    @override
    def refuses(self, node: Node, target: Target) -> str | None:
        reason = packing.refusal(node, Precision.INT8, op.AXIS)
        if reason is not None:
            return reason
        if target.opt == "size":
            return "takes more memory (-opt=size)"
        if has_one_channel(node):
            return "is for two channels or more"
        try:
            dot.layer(node, op.attributes(node).activation, op.AXIS)
        except UnsupportedNodeError as error:
            return str(error)
        return None

    @override
    def lower(self, node: Node, inputs: Sequence[View | None], outputs: Sequence[View], target: Target) -> KernelCall:
        x, y = packing.view(inputs), outputs[0]
        layer = dot.layer(node, op.attributes(node).activation, op.AXIS)
        count = groups(node)
        weights = np.concatenate([dot.blocks(part) for part in layer.split(count)])
        taps = int(np.prod(node.input(WEIGHTS).shape[1:]))
        return KernelCall(
            header="arm_mla/conv2d.h",
            function="aboard_conv2d_mla",
            params_type="aboard_conv2d_mla_t",
            params={
                "shape": {**shape_params(node, x, y), "groups": count},
                "single_rounding": layer.params["single_rounding"],
                "clamped": layer.params["clamped"],
                "zero_point": node.input(INPUT).quant.zero_point,
                "low": layer.params["low"],
                "high": layer.params["high"],
            },
            arguments=(
                InputArg(INPUT, "const int8_t *"),
                OutputArg(0, "int8_t *"),
                ConstantArg(PackedConstant("weights", weights, form="int8")),
                ScratchArg(Scratch(4 * (taps + taps % 2)), "int32_t *"),
            ),
            rows=y.rows,
            code_variant=f"single_rounding={int(layer.is_single_rounding)} {_block_kinds(node)}",
            slow_epilogue=not layer.is_single_rounding,
            loops=loops.of_pixel_pairs(node, dot.SMALL_BLOCK, taps + taps % 2, single=4, run=15),
        )


def _block_kinds(node: Node) -> str:
    """Returns which blocks of channels a group has."""
    whole, rest = divmod(node.output.shape[3] // groups(node), dot.BLOCK)
    return f"blocks={int(whole > 0 or rest > dot.SMALL_BLOCK)} small={int(0 < rest <= dot.SMALL_BLOCK)}"
