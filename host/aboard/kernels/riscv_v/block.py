"""Weights and constants of blocks of sixteen channels; the kernels in `firmware/kernels/riscv_v` read them."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from aboard.ir import Array, Node
from aboard.ir.numerics import wrap32
from aboard.kernels import weights as packing
from aboard.kernels.contract import UnsupportedNodeError
from aboard.kernels.requantisation import RequantisedLayer, requantised
from aboard.kernels.view import Literal
from aboard.kernels.weights import filled
from aboard.ops.activation import Activation
from aboard.ops.weighted import Precision

#: ABOARD_RISCV_V_BLOCK, ABOARD_RISCV_V_PIXELS and ABOARD_RISCV_V_SINGLE_SHIFT of `riscv_v/block.h`.
BLOCK, PIXELS, SINGLE_SHIFT = 16, 4, 4

#: Key of the cores that have such vectors.
KEYS = frozenset({"riscv_v"})

#: Bytes of a place in the table of windows.
PLACE_BYTES = 4


def layer(node: Node, activation: Activation, axis: int) -> RequantisedLayer:
    """Returns an INT8 layer.

    Raises:
        UnsupportedNodeError: Its sums or shifts are too large.
    """
    return requantised(node, activation, axis, SINGLE_SHIFT, swar=False, half=0)


def refusal(node: Node, activation: Activation, axis: int) -> str | None:
    """Returns why the kernels do not compute a node, or None."""
    reason = packing.refusal(node, Precision.INT8, axis)
    if reason is not None:
        return reason
    try:
        layer(node, activation, axis)
    except UnsupportedNodeError as error:
        return str(error)
    return None


def weights(part: RequantisedLayer) -> Array:
    """Returns the weights as [blocks of sixteen channels, taps, 16], padded with zeros."""
    return packing.blocks(part.weights.astype(np.int8), BLOCK)


def constants(part: RequantisedLayer) -> Array:
    """Returns starts of sums, factors, addends and, for double roundings, shifts: [blocks, kinds, 16]."""
    rows = [part.bias, part.factor, part.constant] + ([] if part.is_single_rounding else [part.shift])
    words = np.stack([wrap32(filled(row, BLOCK)).astype(np.int32) for row in rows])
    return np.ascontiguousarray(words.reshape(len(rows), -1, BLOCK).swapaxes(0, 1))


def limits(part: RequantisedLayer) -> Mapping[str, Literal]:
    """Returns the fields `single_rounding`, `low` and `high` of a kernel's parameters."""
    return {name: part.params[name] for name in ("single_rounding", "low", "high")}
