"""conv2d for cores with the DSP extension (Cortex-M4, M7, M33): int8."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace
from typing import ClassVar

import numpy as np
from typing_extensions import override

from aboard.ir import Array, Node
from aboard.kernels import weights as packing
from aboard.kernels.arm_dsp import dot
from aboard.kernels.arm_dsp.conv2d_loops import Windows, of_pixel_pairs
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
from aboard.kernels.requantisation import RequantisedLayer, requantised
from aboard.kernels.view import View
from aboard.kernels.windowed import PixelPairs, groups, has_one_channel, is_pointwise
from aboard.ops import conv2d as op
from aboard.ops.weighted import INPUT, WEIGHTS, Precision
from aboard.target import Knob, Target

#: ABOARD_DSP_SINGLE_SHIFT of `arm_dsp/dot.h`.
LINE_SHIFT = 4

#: Largest number of tap groups per window in the code of `arm_dsp/dot_wide.h`.
_WIDE_TAP_GROUPS = 8, 16

#: Fewest results of a row with which the rests of a window's rows are tap groups of their own.
_FEWEST_COLS = 4

#: Passes over an image that `aboard tune` tries, and what they are.
_PASSES = 1, 2, 4
_PASSES_HELP = "Passes over the image, each for a part of the channels, whose weights then stay in a cache."

#: Bytes of the im2col columns of a pixel pair, per tap.
_PAIR_BYTES = 4

#: Work of a pixel for the call that computes it with another one, and for that of an odd last channel of both.
_CALL, _LAST_CALL = 50, 25


@implements
class DspS8(PixelPairs):
    """int8: two pixels and two channels at once, weights of two channels in a halfword."""

    name = "dsp_s8"
    exact = True
    keys = frozenset({"arm_dsp"})
    header: ClassVar[str] = "arm_dsp/conv2d.h"
    function: ClassVar[str] = "aboard_conv2d_dsp"
    swar: ClassVar[bool] = True
    block: ClassVar[int] = 2  #: Channels at once.

    @override
    def refuses(self, node: Node, target: Target) -> str | None:
        reason = packing.refusal(node, Precision.INT8, op.AXIS)
        if reason is not None:
            return reason
        if has_one_channel(node):
            return "is for two channels or more"
        if not dot.fits_swar(packing.matrix(node, op.AXIS)):
            return "has weights of -128"
        try:
            self._layer(node)
        except UnsupportedNodeError as error:
            return str(error)
        return None

    @override
    def knobs(self, node: Node, target: Target) -> tuple[Knob, ...]:
        channels = node.output.shape[3] // groups(node)
        whole = node.input(INPUT).shape[3] // groups(node) % dot.TAP_GROUP == 0
        return (
            Knob("passes", tuple(n for n in _PASSES if channels % (self.block * n) == 0 or n == 1), _PASSES_HELP),
            Knob("lines", (0, 1) if whole else (1,), "Windows are copied row by row, or as one run of whole words."),
            Knob("unroll", self._unrolled(node), "Groups of four taps without a loop, at most."),
        )

    def _unrolled(self, node: Node) -> tuple[int, ...]:
        """Returns the tap groups for which the code may have room; 0 for code with a loop."""
        return (0,) if self.swar else tuple(most for most in _WIDE_TAP_GROUPS if _tap_groups(node) <= most)

    @override
    def overlap(self, node: Node, inputs: Sequence[View | None], outputs: Sequence[View]) -> int | None:
        return super().overlap(node, inputs, outputs) if self.knob("passes", 1) == 1 else None

    @override
    def lower(self, node: Node, inputs: Sequence[View | None], outputs: Sequence[View], target: Target) -> KernelCall:
        x, y = packing.view(inputs), outputs[0]
        layer = self._layer(node)
        count = groups(node)
        weights = np.concatenate([self._packed(part) for part in layer.split(count)])
        taps = layer.weights.shape[1]
        padded = -(-taps // dot.TAP_GROUP) * dot.TAP_GROUP
        depth = x.channels // count
        stored = dot.PAIRED if self.swar else dot.WIDENED
        wide = self.knob("unroll", self._unrolled(node)[0])
        lines = depth % dot.TAP_GROUP > 0 or self.knob("lines", 0) == 1
        return KernelCall(
            header=self.header,
            function=self.function,
            params_type="aboard_conv2d_dsp_t",
            params={
                "shape": {**shape_params(node, x, y), "groups": count},
                "wide": wide,
                "lines": int(lines),
                "row_ends": int(lines and has_row_ends(node)),
                "passes": self.knob("passes", 1),
                "zero_point": node.input(INPUT).quant.zero_point,
                **layer.params,
            },
            arguments=(
                InputArg(INPUT, "const int8_t *"),
                OutputArg(0, "int8_t *"),
                ConstantArg(PackedConstant("weights", weights, form=stored)),
                ScratchArg(Scratch(_PAIR_BYTES * padded), "uint32_t *"),
                ScratchArg(Scratch(2 * padded if lines else depth), "int8_t *"),
            ),
            rows=y.rows,
            code_variant=" ".join(
                (
                    f"im2col={'lines' if lines else _im2col(node)}",
                    f"single_rounding={int(layer.is_single_rounding)}",
                    f"wide={wide}",
                )
            ),
            slow_epilogue=not layer.is_single_rounding,
            loops=of_pixel_pairs(node, self.block, Windows(padded, lines, has_row_ends(node)), self._call(node)),
        )

    def _call(self, node: Node) -> int:
        """Returns the work of a pixel besides its window and its results."""
        channels = node.output.shape[3] // groups(node)
        return _CALL + (_LAST_CALL if channels % self.block and channels > self.block else 0)

    def _packed(self, layer: RequantisedLayer) -> Array:
        """Returns the weights and constants of a group as the C function reads them."""
        return dot.swar_pairs(layer) if self.swar else dot.widened_pairs(layer)

    def _layer(self, node: Node) -> RequantisedLayer:
        activation = op.attributes(node).activation
        layer = requantised(node, activation, op.AXIS, LINE_SHIFT, swar=self.swar)
        # Index -1 is the column of zeros.
        return replace(layer, weights=np.pad(layer.weights, ((0, 0), (0, 1)))[:, _order(node)])


@implements
class DspWideS8(DspS8):
    """Like `DspS8` with 16-bit weights, which need no widening: for few taps and single roundings."""

    name = "dsp_wide_s8"
    exact = True
    swar = False

    @override
    def refuses(self, node: Node, target: Target) -> str | None:
        reason = packing.refusal(node, Precision.INT8, op.AXIS)
        if reason is not None:
            return reason
        if has_one_channel(node):
            return "is for two channels or more"
        if _tap_groups(node) > _WIDE_TAP_GROUPS[-1]:
            return f"is for windows of at most {_WIDE_TAP_GROUPS[-1] * dot.TAP_GROUP} taps"
        try:
            layer = self._layer(node)
        except UnsupportedNodeError as error:
            return str(error)
        return None if layer.is_single_rounding else "is for results by single roundings"


def _im2col(node: Node) -> str:
    """Returns what `arm_dsp/conv2d.h` stages by whole tap groups: single pixels or windows."""
    return "pixels" if is_pointwise(node) else "windows"


def _tap_groups(node: Node) -> int:
    """Returns the number of tap groups of a window."""
    return -(-math.prod(node.input(WEIGHTS).shape[1:]) // dot.TAP_GROUP)


def _order(node: Node) -> list[int]:
    """Returns the order in which the taps of a window are packed; -1 for a weight of 0.

    If pixels do not consist of whole tap groups, the order is: whole tap groups of each row, then the rest of all rows.
    """
    height, width, depth = node.input(WEIGHTS).shape[1:]
    row = width * depth
    taps = np.arange(height * row).reshape(height, row)
    if has_row_ends(node):
        taps = np.pad(taps, ((0, 0), (0, -row % dot.TAP_GROUP)), constant_values=-1)
        return [int(tap) for tap in taps.reshape(-1)]
    whole = row if depth % dot.TAP_GROUP == 0 else row // dot.TAP_GROUP * dot.TAP_GROUP
    return [*taps[:, :whole].reshape(-1).tolist(), *taps[:, whole:].reshape(-1).tolist()]


def has_row_ends(node: Node) -> bool:
    """True if the rest of each row of a window is a tap group of its own.

    It must not add tap groups. A word is loaded from the input, also bytes behind the row: the last windows of a row of
    results, behind which there are none, are copied first, and should be few.
    """
    height, width, depth = node.input(WEIGHTS).shape[1:]
    rest = width * depth % dot.TAP_GROUP
    is_free = -(-height * rest // dot.TAP_GROUP) == height
    return rest > 0 and is_free and node.output.shape[2] >= _FEWEST_COLS
