"""conv2d in portable C: int8, float32, float32 with int8 weights."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
from typing_extensions import override

from aboard.ir import Array, Node
from aboard.kernels import loops
from aboard.kernels import weights as packing
from aboard.kernels.contract import (
    ROLLING_ROW_COST,
    ConstantArg,
    InputArg,
    KernelCall,
    OutputArg,
    PackedConstant,
    Scratch,
    ScratchArg,
)
from aboard.kernels.portable.epilogue import BLOCK, epilogue
from aboard.kernels.registry import implements
from aboard.kernels.view import Literal, View
from aboard.kernels.weights import padded
from aboard.kernels.windowed import Convolution, PixelPairs, groups, has_one_channel
from aboard.ops import conv2d as op
from aboard.ops.weighted import INPUT, Precision
from aboard.target import Knob, Target

#: Part of the int8 kernel that is a layer's own code: all of it, the loop over pixels, none.
FUNCTIONS_S8 = {"speed": "aboard_conv2d_s8_own", "balanced": "aboard_conv2d_s8", "size": "aboard_conv2d_s8_shared"}

#: Taps per iteration of the int8 kernel's inner loop.
TAPS = 8


def shape_params(node: Node, x: View, y: View) -> Mapping[str, Literal]:
    """Returns the fields of the C struct `aboard_conv2d_shape_t` (and, but for `groups`, of the depthwise one)."""
    attrs = op.attributes(node)
    height, width = op.window(node)
    return {
        "in": x.literal(),
        "out": y.literal(),
        "in_height": node.input(INPUT).shape[1],
        "out_height": node.output.shape[1],
        "window_height": height,
        "window_width": width,
        "stride_h": attrs.strides[0],
        "stride_w": attrs.strides[1],
        "dilation_h": attrs.dilations[0],
        "dilation_w": attrs.dilations[1],
        "pad_top": attrs.padding.top,
        "pad_left": attrs.padding.left,
    }


def pack(node: Node, multiple: int = 1) -> Array:
    """Returns the weights as [groups, blocks of four channels, taps, four channels], padded with zeros.

    Args:
        node: A conv2d.
        multiple: The number of taps is padded to a multiple of this.
    """
    matrix = packing.matrix(node, op.AXIS)
    wide = np.ascontiguousarray(padded(matrix.T, multiple).T)
    return np.stack([packing.blocks(group, BLOCK) for group in np.split(wide, groups(node))])


@implements
class PortableS8(PixelPairs):
    """int8: im2col columns of two pixels, blocks of two pixels and four channels."""

    name = "portable_s8"
    exact = True

    @override
    def refuses(self, node: Node, target: Target) -> str | None:
        reason = packing.refusal(node, Precision.INT8, op.AXIS)
        return reason or ("is for two channels or more" if has_one_channel(node) else None)

    @override
    def knobs(self, node: Node, target: Target) -> tuple[Knob, ...]:
        others = [opt for opt in FUNCTIONS_S8 if opt != target.opt]
        return (Knob("inlined", (target.opt, *others), "The code of a layer that is its own, as with this -opt."),)

    @override
    def lower(self, node: Node, inputs: Sequence[View | None], outputs: Sequence[View], target: Target) -> KernelCall:
        x, y = packing.view(inputs), outputs[0]
        matrix = packing.matrix(node, op.AXIS)
        weights = pack(node, TAPS)
        direct = op.window(node) == (1, 1) and not op.attributes(node).padding.any
        result = epilogue(node, matrix, packing.bias(node), op.attributes(node).activation, op.AXIS)
        constants = np.concatenate([group.blocks() for group in result.split(groups(node))])
        params: dict[str, Literal] = {
            "shape": {**shape_params(node, x, y), "groups": groups(node)},
            "direct": int(direct),
            "zero_point": node.input(INPUT).quant.zero_point,
            "epilogue": result.params,
        }
        scratch = 2 * weights.shape[2] + (0 if direct else matrix.shape[1])
        return KernelCall(
            header="portable/conv2d.h",
            function=FUNCTIONS_S8[str(self.tuned.values.get("inlined", target.opt))],
            params_type="aboard_conv2d_s8_t",
            params=params,
            arguments=(
                InputArg(INPUT, "const int8_t *"),
                OutputArg(0, "int8_t *"),
                ConstantArg(PackedConstant("weights", weights)),
                ConstantArg(PackedConstant("constants", constants)),
                ScratchArg(Scratch(scratch), "int8_t *"),
            ),
            rows=y.rows,
            code_variant=f"direct={int(direct)}",
            slow_epilogue=not result.fast,
            loops=loops.of_pixel_pairs(node, BLOCK, weights.shape[2]),
        )


class _PortableFloat(Convolution):
    """Both float forms: blocks of four channels, no scratch."""

    by_rows = True
    form: Precision
    function: str

    @override
    def rolling_cost(self, node: Node) -> float:
        """Finds a row for each block of four channels of a pixel."""
        _, rows, cols, channels = node.output.shape
        return ROLLING_ROW_COST * rows * cols * -(-channels // BLOCK) * op.window(node)[0]

    @override
    def refuses(self, node: Node, target: Target) -> str | None:
        return packing.refusal(node, self.form, op.AXIS)

    @override
    def lower(self, node: Node, inputs: Sequence[View | None], outputs: Sequence[View], target: Target) -> KernelCall:
        x, y = packing.view(inputs), outputs[0]
        params: dict[str, Literal] = {
            "shape": {**shape_params(node, x, y), "groups": groups(node)},
            **packing.float_clamp(op.attributes(node).activation),
        }
        per_group = np.split(packing.float_constants(node, op.AXIS), groups(node), axis=1)
        constants = np.concatenate([packing.interleaved(part, BLOCK) for part in per_group])
        return KernelCall(
            header="portable/conv2d_f32.h",
            function=self.function,
            params_type="aboard_conv2d_f32_t",
            params=params,
            arguments=(
                InputArg(INPUT, "const float *"),
                OutputArg(0, "float *"),
                ConstantArg(PackedConstant("weights", pack(node))),
                ConstantArg(PackedConstant("constants", constants)),
            ),
            rows=y.rows,
        )


@implements
class PortableF32(_PortableFloat):
    """float32 throughout."""

    name = "portable_f32"
    form = Precision.FLOAT
    function = "aboard_conv2d_f32"


@implements
class PortableF32W8(_PortableFloat):
    """float32 with int8 weights, which stay int8 in flash."""

    name = "portable_f32_w8"
    form = Precision.HYBRID
    function = "aboard_conv2d_f32_w8"
