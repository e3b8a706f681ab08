"""conv2d for cores with the DSP extension (Cortex-M4, M7, M33): int8."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from aboard.ir import Node
from aboard.kernels import composites
from aboard.kernels import weights as packing
from aboard.kernels.contract import (
    Constant,
    ConstantArg,
    Implementation,
    InputArg,
    KernelCall,
    OutputArg,
    RowWise,
    Scratch,
    ScratchArg,
    View,
)
from aboard.kernels.conv2d import groups, shape_params, sliding_window
from aboard.kernels.overlap import Reads, distance
from aboard.kernels.registry import implements
from aboard.ops import conv2d as op
from aboard.ops.weighted import INPUT, WEIGHTS, Form
from aboard.target import Target

#: ABOARD_DSP_LINE_SHIFT of `arm_dsp/dot.h`.
LINE_SHIFT = 4

#: ABOARD_DSP_WIDE_QUADS of `arm_dsp/dot_wide.h`.
_WIDE_QUADS = 16

#: Instructions that a byte of wider weights must save, unless speed is all that counts.
WORTH = 30

#: Bytes of the staged taps of a pixel pair, for each tap.
_PAIR_BYTES = 4


@implements
class DspS8(Implementation):
    """int8: two pixels and two channels at once, weights of two channels in a halfword."""

    op = "conv2d"
    name = "dsp_s8"
    keys = frozenset({"arm_dsp"})
    priority = 10
    strided = True

    def refuses(self, node: Node, target: Target) -> str | None:
        """Returns why the node cannot be computed, or None."""
        del target
        reason = packing.refusal(node, Form.INT8, op.AXIS)
        if reason is not None:
            return reason
        if not composites.fits_composites(packing.matrix(node, op.AXIS)):
            return "has weights of -128"
        layer = _layer(node)
        return layer if isinstance(layer, str) else None

    def overlap(self, node: Node, inputs: Sequence[View | None], outputs: Sequence[View]) -> int | None:
        """Returns how operand and result may share memory: windows are staged before their results are written."""
        if groups(node) != 1:
            return None
        return distance(sliding_window(node), packing.view(inputs), outputs[0], Reads.FIRST)

    def row_wise(self, node: Node) -> RowWise:
        """Takes two rows at once where one holds an odd number of pixels, which are computed in pairs."""
        return RowWise(1 + node.output.shape[2] % 2)

    def lower(self, node: Node, inputs: Sequence[View | None], outputs: Sequence[View], target: Target) -> KernelCall:
        """Returns the call."""
        x, y = packing.view(inputs), outputs[0]
        wide = _wide(node, target)
        layer = wide or _layer(node)
        if isinstance(layer, str):
            raise ValueError(f"{node.name}: {layer}")
        count = groups(node)
        pack = composites.wide_pairs if wide else composites.pairs
        weights = np.concatenate([pack(part) for part in _split(layer, count)])
        taps = layer.weights.shape[1]
        padded = -(-taps // composites.QUAD) * composites.QUAD
        depth = x.channels // count
        return KernelCall(
            header="arm_dsp/conv2d.h",
            function="aboard_conv2d_dsp",
            params_type="aboard_conv2d_dsp_t",
            params={
                "shape": {**shape_params(node, x, y), "groups": count},
                "wide": int(wide is not None),
                "zero_point": node.input(INPUT).quant.zero_point,
                **layer.params,
            },
            arguments=(
                InputArg(INPUT, "const int8_t *"),
                OutputArg(0, "int8_t *"),
                ConstantArg(Constant("weights", weights, form=composites.WIDENED if wide else composites.PAIRED)),
                ScratchArg(Scratch(_PAIR_BYTES * padded), "uint32_t *"),
                ScratchArg(Scratch(depth if depth % composites.QUAD == 0 else 2 * padded), "int8_t *"),
            ),
            rows=y.rows,
        )


def _wide(node: Node, target: Target) -> composites.Requantized | None:
    """Returns the layer with weights of 16 bits, where they save enough for their size."""
    batch, height, width, _ = node.output.shape
    taps = int(np.prod(node.input(WEIGHTS).shape[1:]))
    quads = -(-taps // composites.QUAD)
    # For two channels: a byte for each tap of both, against 3 instructions of each two quads of two pixels, and 2.
    saved, extra = batch * height * width / 2 * (1.5 * quads + 2), 2 * composites.QUAD * quads
    if quads > _WIDE_QUADS or target.opt == "size" or (target.opt != "speed" and saved < WORTH * extra):
        return None
    layer = _layer(node, composite=False)
    return None if isinstance(layer, str) or not layer.line else layer


def _layer(node: Node, *, composite: bool = True) -> composites.Requantized | str:
    matrix = packing.matrix(node, op.AXIS)
    activation = op.attributes(node).activation
    layer = composites.requantized(
        node, matrix, packing.bias(node), activation, op.AXIS, LINE_SHIFT, composite=composite
    )
    return layer if isinstance(layer, str) else replace(layer, weights=layer.weights[:, _order(node)])


def _order(node: Node) -> list[int]:
    """Returns the taps of a window in the order in which they are staged.

    Where pixels hold no whole quads, these are the whole quads of each row, then what is left of all rows.
    """
    height, width, depth = node.input(WEIGHTS).shape[1:]
    row = width * depth
    whole = row if depth % composites.QUAD == 0 else row // composites.QUAD * composites.QUAD
    taps = np.arange(height * row).reshape(height, row)
    return [*taps[:, :whole].reshape(-1).tolist(), *taps[:, whole:].reshape(-1).tolist()]


def _split(layer: composites.Requantized, count: int) -> list[composites.Requantized]:
    """Returns the layer's groups of channels."""
    names = ("weights", "bias", "factor", "constant", "shift")
    parts = zip(*(np.split(getattr(layer, name), count) for name in names), strict=True)
    return [replace(layer, **dict(zip(names, part, strict=True))) for part in parts]
