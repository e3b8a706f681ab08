"""expanded_depthwise_conv2d in portable C: int8."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from typing_extensions import override

from aboard.ir import Array, Node
from aboard.ir.fingerprint import once_for_equal_nodes
from aboard.kernels import weights as packing
from aboard.kernels.contract import (
    ConstantArg,
    Implementation,
    InputArg,
    KernelCall,
    OutputArg,
    PackedConstant,
    RowWise,
    Scratch,
    ScratchArg,
)
from aboard.kernels.portable import depthwise_conv2d as depthwise_kernel
from aboard.kernels.portable.epilogue import BLOCK, epilogue
from aboard.kernels.registry import implements
from aboard.kernels.view import Literal, View
from aboard.ops import conv2d, depthwise_conv2d, get
from aboard.ops import expanded_depthwise_conv2d as op
from aboard.ops.conv2d import attributes
from aboard.ops.weighted import INPUT, Precision
from aboard.target import Target

HEADER = "portable/expanded_depthwise_conv2d.h"

#: Largest work of the expansion in stripes of the preferred height, as a factor of that in one call.
_MOST_GROWTH = 2.0


class Expanded(Implementation):
    """Computes rows of the expanded image into line buffers, of a few channels after others."""

    op = "expanded_depthwise_conv2d"
    exact = True
    strided = True
    by_rows = True
    mac_costs: tuple[float, float]  #: Instructions of a multiply-accumulate of the expansion and of the depthwise part.
    element_cost: float  #: Instructions of an element of either.

    @override
    def refuses(self, node: Node, target: Target) -> str | None:
        expansion, depthwise = op.parts(node)
        return packing.refusal(expansion, Precision.INT8, conv2d.AXIS) or packing.refusal(
            depthwise, Precision.INT8, depthwise_conv2d.AXIS
        )

    @override
    def formula(self, node: Node) -> float:
        costs = zip(op.parts(node), self.mac_costs, strict=True)
        return sum(get(n.op).macs(n) * mac + n.output.type.elements * self.element_cost for n, mac in costs)

    @override
    def row_wise(self, node: Node) -> RowWise:
        """As few rows as keep the expansions that are computed again within a factor."""
        rows = node.output.shape[1]
        return RowWise(next((n for n in range(1, rows) if expansion_growth(node, n) <= _MOST_GROWTH), rows))

    @override
    def growth(self, node: Node, rows: int) -> float:
        """Counts the rows of the expanded image that two stripes both need."""
        again = (expansion_growth(node, rows) - 1) * get("conv2d").macs(op.parts(node)[0])
        return 1 + again / get(node.op).macs(node)


@once_for_equal_nodes(1 << 12)
def expansion_growth(node: Node, rows: int) -> float:
    """Returns the work of the expansion in stripes of a number of rows, as a factor of its work in one call."""
    height = node.output.shape[1]
    stripes = [(first, min(first + rows, height)) for first in range(0, height, rows)]
    return op.expanded_rows(node, stripes) / op.expanded_rows(node, [(0, height)])


@implements
class PortableS8(Expanded):
    """int8: rows of up to four expanded channels, one pixel after another."""

    name = "portable_s8"
    mac_costs = (3.0, 2.4)
    element_cost = 16

    @override
    def lower(self, node: Node, inputs: Sequence[View | None], outputs: Sequence[View], target: Target) -> KernelCall:
        expansion, depthwise = op.parts(node)
        x, y, channels = packing.view(inputs), outputs[0], _channels(depthwise)
        first, expanded, epilogue_of_first = _expansion(expansion, channels)
        windows = Windows.of(depthwise, y, channels, target)
        params: dict[str, Literal] = {"depthwise": windows.params, "in": x.literal(), "epilogue": epilogue_of_first}
        return KernelCall(
            header=HEADER,
            function="aboard_expanded_depthwise_conv2d_s8",
            params_type="aboard_expanded_depthwise_conv2d_s8_t",
            params=params,
            arguments=(
                InputArg(INPUT, "const int8_t *"),
                OutputArg(0, "int8_t *"),
                ConstantArg(PackedConstant("expansion", first)),
                ConstantArg(PackedConstant("expanded", expanded)),
                *windows.arguments,
            ),
            rows=y.rows,
            slow_epilogue=windows.has_slow_epilogue,
            # As for depthwise layers, one shared function for every geometry would be larger than instances for a few.
            code_key=repr(params),
        )


@dataclass(frozen=True)
class Windows:
    """The depthwise part of a call, which reads line buffers of some channels.

    Attributes:
        params: Fields of the C struct `aboard_depthwise_conv2d_s8_t`.
        arguments: Weights, constants and line buffers.
        has_slow_epilogue: As `KernelCall.slow_epilogue`.
    """

    params: Mapping[str, Literal]
    arguments: tuple[ConstantArg | ScratchArg, ...]
    has_slow_epilogue: bool

    @classmethod
    def of(cls, depthwise: Node, y: View, channels: int, target: Target) -> Windows:
        """Returns the part for a depthwise convolution of some channels after others."""
        stream, constants, shared = depthwise_kernel.packed(depthwise)
        rows, cols = depthwise_kernel.padded_window(depthwise)
        params: dict[str, Literal] = {
            "shape": depthwise_kernel.params_of_shape(depthwise, View.whole(depthwise.input(INPUT).shape, 1), y),
            **depthwise_kernel.block_params(depthwise, target),
            "buffered_cols": cols,
            "buffered_channels": channels,
            "strip": y.rows,
            "zero_point": depthwise.input(INPUT).quant.zero_point,
            "epilogue": shared,
        }
        arguments = (
            ConstantArg(PackedConstant("weights", stream)),
            ConstantArg(PackedConstant("constants", constants)),
            ScratchArg(Scratch(rows * cols * channels), "int8_t *"),
        )
        return cls(params, arguments, shared["fast"] != depthwise_kernel.SINGLE_ROUNDING)


def _channels(depthwise: Node) -> int:
    """Returns the expanded channels whose rows are computed together: they divide all."""
    return next(n for n in range(BLOCK, 0, -1) if depthwise.input(INPUT).shape[3] % n == 0)


def _expansion(node: Node, channels: int) -> tuple[Array, Array, Mapping[str, Literal]]:
    """Returns weights and constants of groups of expanded channels, each padded to four, and constants of all."""
    matrix = packing.matrix(node, conv2d.AXIS)
    found = epilogue(node, matrix, packing.bias(node), attributes(node).activation, conv2d.AXIS)
    groups = len(matrix) // channels
    weights = np.concatenate([packing.blocks(group, BLOCK) for group in np.split(matrix, groups)])
    return weights, np.concatenate([group.blocks() for group in found.split(groups)]), found.params
