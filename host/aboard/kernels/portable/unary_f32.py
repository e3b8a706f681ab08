"""Functions of one float32 on any core."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import ClassVar

from typing_extensions import override

from aboard.ir import DType, Node
from aboard.kernels.contract import Implementation, InputArg, KernelCall, OutputArg
from aboard.kernels.portable.elementwise import joined, present
from aboard.kernels.registry import implements
from aboard.kernels.view import View
from aboard.ops import relu
from aboard.ops.activation import Activation
from aboard.target import Target


class UnaryF32(Implementation):
    """An element-wise float32 op.

    Attributes:
        function: C function.
        activation: Activation whose limits clamp the result.
    """

    name = "portable_f32"
    in_place = ((0, 0),)
    strided = True
    by_rows = True
    function: ClassVar[str]
    activation: ClassVar[Activation] = Activation.NONE

    @override
    def refuses(self, node: Node, target: Target) -> str | None:
        """Refuses other element types."""
        return None if node.output.dtype is DType.FLOAT32 else "is for float32"

    def slope(self, node: Node) -> float:
        """Returns the factor for negative operands."""
        del node
        return 0.0

    @override
    def lower(self, node: Node, inputs: Sequence[View | None], outputs: Sequence[View], target: Target) -> KernelCall:
        source, result = joined(*present(inputs), outputs[0])
        low, high = self.activation.limits
        return KernelCall(
            header="portable/unary_f32.h",
            function=self.function,
            params_type="aboard_unary_f32_t",
            params={
                "in": source.literal(),
                "out": result.literal(),
                "low": -math.inf if low is None else low,
                "high": math.inf if high is None else high,
                "slope": self.slope(node),
            },
            arguments=(InputArg(0, "const float *"), OutputArg(0, "float *")),
            rows=result.rows,
        )


@implements
class ReluF32(UnaryF32):
    """relu."""

    op, function, activation = "relu", "aboard_clamp_f32", Activation.RELU


@implements
class Relu6F32(UnaryF32):
    """relu6."""

    op, function, activation = "relu6", "aboard_clamp_f32", Activation.RELU6


@implements
class ReluN1To1F32(UnaryF32):
    """relu_n1_to_1."""

    op, function, activation = "relu_n1_to_1", "aboard_clamp_f32", Activation.RELU_N1_TO_1


@implements
class LeakyReluF32(UnaryF32):
    """leaky_relu."""

    op, function = "leaky_relu", "aboard_leaky_relu_f32"

    @override
    def slope(self, node: Node) -> float:
        return relu.attributes(node).alpha


@implements
class HardSwishF32(UnaryF32):
    """hard_swish."""

    op, function = "hard_swish", "aboard_hard_swish_f32"


@implements
class LogisticF32(UnaryF32):
    """logistic."""

    op, function = "logistic", "aboard_logistic_f32"


@implements
class TanhF32(UnaryF32):
    """tanh."""

    op, function = "tanh", "aboard_tanh_f32"
