"""Rectifiers that only clamp: int8 operand and result of one quantisation."""

from __future__ import annotations

from collections.abc import Sequence

from typing_extensions import override

from aboard.ir import DType, Node
from aboard.kernels.contract import Implementation, InputArg, KernelCall, OutputArg
from aboard.kernels.portable.elementwise import joined, present
from aboard.kernels.registry import implements
from aboard.kernels.view import View
from aboard.ops.activation import Activation
from aboard.target import Target

_ACTIVATIONS = {"relu": Activation.RELU, "relu6": Activation.RELU6, "relu_n1_to_1": Activation.RELU_N1_TO_1}


class Clamp(Implementation):
    """Two comparisons instead of a table."""

    name = "clamp"
    specialised = True
    in_place = ((0, 0),)
    strided = True
    by_rows = True

    @override
    def refuses(self, node: Node, target: Target) -> str | None:
        """Refuses nodes that do more than clamp."""
        if node.output.dtype is not DType.INT8:
            return "is for int8"
        same = node.input(0).type.quant == node.output.type.quant
        return None if same else "is for operand and result of one quantisation"

    @override
    def lower(self, node: Node, inputs: Sequence[View | None], outputs: Sequence[View], target: Target) -> KernelCall:
        source, result = joined(*present(inputs), outputs[0])
        low, high = _ACTIVATIONS[node.op].range(node.output.quant)
        return KernelCall(
            header="portable/clamp.h",
            function="aboard_clamp_s8",
            params_type="aboard_clamp_s8_t",
            params={"in": source.literal(), "out": result.literal(), "low": low, "high": high},
            arguments=(InputArg(0, "const int8_t *"), OutputArg(0, "int8_t *")),
            rows=result.rows,
        )


@implements
class ReluClamp(Clamp):
    """relu."""

    op = "relu"


@implements
class Relu6Clamp(Clamp):
    """relu6."""

    op = "relu6"


@implements
class ReluN1To1Clamp(Clamp):
    """relu_n1_to_1."""

    op = "relu_n1_to_1"
