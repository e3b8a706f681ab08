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
    Scratch,
    ScratchArg,
    View,
)
from aboard.kernels.conv2d import groups, shape_params, sliding_window
from aboard.kernels.overlap import Reads, distance
from aboard.kernels.registry import implements
from aboard.ops import conv2d as op
from aboard.ops.weighted import INPUT, Form
from aboard.target import Target

#: ABOARD_DSP_LINE_SHIFT of `arm_dsp/dot.h`.
LINE_SHIFT = 4

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

    def lower(self, node: Node, inputs: Sequence[View | None], outputs: Sequence[View], target: Target) -> KernelCall:
        """Returns the call."""
        del target
        x, y = packing.view(inputs), outputs[0]
        layer = _layer(node)
        if isinstance(layer, str):
            raise ValueError(f"{node.name}: {layer}")
        count = groups(node)
        weights = np.concatenate([composites.pairs(part) for part in _split(layer, count)])
        taps = layer.weights.shape[1]
        padded = -(-taps // composites.QUAD) * composites.QUAD
        depth = x.channels // count
        return KernelCall(
            header="arm_dsp/conv2d.h",
            function="aboard_conv2d_dsp",
            params_type="aboard_conv2d_dsp_t",
            params={
                "shape": {**shape_params(node, x, y), "groups": count},
                "zero_point": node.input(INPUT).quant.zero_point,
                **layer.params,
            },
            arguments=(
                InputArg(INPUT, "const int8_t *"),
                OutputArg(0, "int8_t *"),
                ConstantArg(Constant("weights", weights)),
                ScratchArg(Scratch(_PAIR_BYTES * padded), "uint32_t *"),
                ScratchArg(Scratch(depth if depth % composites.QUAD == 0 else 2 * padded), "int8_t *"),
            ),
            rows=y.rows,
        )


def _layer(node: Node) -> composites.Requantized | str:
    matrix = packing.matrix(node, op.AXIS)
    activation = op.attributes(node).activation
    return composites.requantized(node, matrix, packing.bias(node), activation, op.AXIS, LINE_SHIFT)


def _split(layer: composites.Requantized, count: int) -> list[composites.Requantized]:
    """Returns the layer's groups of channels."""
    names = ("weights", "bias", "factor", "constant", "shift")
    parts = zip(*(np.split(getattr(layer, name), count) for name in names), strict=True)
    return [replace(layer, **dict(zip(names, part, strict=True))) for part in parts]
