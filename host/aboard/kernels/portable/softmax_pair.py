"""softmax of two channels on any core."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np
from typing_extensions import override

from aboard import ops
from aboard.ir import Array, DType, Node, Tensor
from aboard.kernels.contract import ConstantArg, Implementation, InputArg, KernelCall, OutputArg, PackedConstant
from aboard.kernels.portable.elementwise import present
from aboard.kernels.registry import implements
from aboard.kernels.view import View
from aboard.target import Target

#: Largest difference of two int8 elements.
_MOST = 255


@implements
class SoftmaxPairS8(Implementation):
    """softmax of int8 over two channels: a table by their difference is smaller than exponentials and a division."""

    op, name = "softmax", "pair_s8"
    specialised = True
    in_place = ((0, 0),)
    strided = True

    @override
    def refuses(self, node: Node, target: Target) -> str | None:
        """Refuses other element types and other numbers of channels."""
        if node.output.dtype is not DType.INT8:
            return "is for int8"
        return None if node.output.shape[-1] == 2 else "is for two channels"

    @override
    def lower(self, node: Node, inputs: Sequence[View | None], outputs: Sequence[View], target: Target) -> KernelCall:
        (source,), result = present(inputs), outputs[0]
        table = by_difference(node)
        return KernelCall(
            header="portable/softmax_pair.h",
            function="aboard_softmax_pair_s8",
            params_type="aboard_softmax_pair_s8_t",
            params={"in": source.literal(), "out": result.literal(), "reach": len(table) // 2},
            arguments=(
                InputArg(0, "const int8_t *"),
                OutputArg(0, "int8_t *"),
                ConstantArg(PackedConstant("results", table, align=1)),
            ),
            rows=result.rows,
        )


def by_difference(node: Node) -> Array:
    """Returns the results of a channel by its difference from the other channel, from -reach to reach.

    The reach is the smallest difference beyond which results do not change on either side.
    """
    above = np.arange(-_MOST, _MOST + 1)
    second = np.where(above > 0, -128, 127)
    pairs = np.stack([second + above, second], 1).astype(np.int8)
    operand = Tensor("pairs", replace(node.input(0).type, shape=pairs.shape))
    result = Tensor("results", replace(node.output.type, shape=pairs.shape))
    every = ops.get(node.op).evaluate(Node(node.op, node.name, [operand], [result], node.attrs), [pairs])[0][:, 0]
    reach = _MOST
    while (
        reach and every[_MOST - reach] == every[_MOST + 1 - reach] and every[_MOST + reach] == every[_MOST - 1 + reach]
    ):
        reach -= 1
    return np.ascontiguousarray(every[_MOST - reach : _MOST + reach + 1])
