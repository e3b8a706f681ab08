"""conv2d of int16 with int8 weights for cores with the DSP extension (Cortex-M4, M7, M33)."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace

import numpy as np
from typing_extensions import override

from aboard.ir import Node
from aboard.kernels import weights as packing
from aboard.kernels.arm_dsp import dot_s16
from aboard.kernels.arm_dsp.dot import TAP_GROUP
from aboard.kernels.contract import ConstantArg, InputArg, KernelCall, OutputArg, PackedConstant, Scratch, ScratchArg
from aboard.kernels.overlap import Reads
from aboard.kernels.portable import epilogue_s16
from aboard.kernels.portable.conv2d import shape_params
from aboard.kernels.portable.conv2d_s16 import ConvolutionS16
from aboard.kernels.registry import implements
from aboard.kernels.select.price import flash_price
from aboard.kernels.view import View
from aboard.kernels.windowed import groups
from aboard.ops import conv2d as op
from aboard.ops.weighted import INPUT, WEIGHTS
from aboard.target import Target

#: Channels of a block.
BLOCK = 2

#: Bytes of the interleaved taps of two pixels, per tap group.
_PAIR_BYTES = 16


@implements
class DspS16(ConvolutionS16):
    """int16: two pixels and two channels at once."""

    name = "dsp_s16"
    exact = True
    keys = frozenset({"arm_dsp"})

    @override
    def reads(self, node: Node) -> Reads:
        """Both windows of a pair are copied before results are written."""
        return Reads.FIRST

    @override
    def lower(self, node: Node, inputs: Sequence[View | None], outputs: Sequence[View], target: Target) -> KernelCall:
        x, y = packing.view(inputs), outputs[0]
        matrix, count = packing.matrix(node, op.AXIS), groups(node)
        result = epilogue_s16.epilogue(node, matrix, packing.bias(node), op.attributes(node).activation, op.AXIS)
        wide = _wide(node, target)
        parts = zip(np.split(matrix, count), np.split(result.constants, count), strict=True)
        words = [dot_s16.blocks(w, replace(result, constants=c), BLOCK, wide=wide) for w, c in parts]
        taps = matrix.shape[1]
        row = taps // op.window(node)[0]
        column = row if row % 2 == 0 else taps + 1
        return KernelCall(
            header="arm_dsp/conv2d_s16.h",
            function="aboard_conv2d_dsp_s16",
            params_type="aboard_conv2d_dsp_s16_t",
            params={
                "shape": {**shape_params(node, x, y), "groups": count},
                "wide": int(wide),
                "chunk": -(-result.chunk // TAP_GROUP),
                "epilogue": result.params,
            },
            arguments=(
                InputArg(INPUT, "const int16_t *"),
                OutputArg(0, "int16_t *"),
                ConstantArg(PackedConstant("weights", np.concatenate(words), form="int16" if wide else "int8")),
                ScratchArg(Scratch(_PAIR_BYTES * -(-taps // TAP_GROUP)), "uint32_t *"),
                ScratchArg(Scratch(2 * np.int16().nbytes * column), "int16_t *"),
            ),
            rows=y.rows,
            slow_epilogue=not result.short,
        )


def _wide(node: Node, target: Target) -> bool:
    """True if 16-bit weights save enough: they cost one more byte each and save four instructions per 16 products."""
    pixels = math.prod(node.output.shape[:3])
    saved, extra = pixels * node.input(WEIGHTS).type.elements / 4, node.input(WEIGHTS).type.elements
    return saved >= flash_price(target) * extra
