"""Functions of one int16 on any core: rectifiers, logistic and tanh, and changes of quantisation."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from typing_extensions import override

from aboard.ir import DType, Node
from aboard.kernels.contract import ConstantArg, Implementation, InputArg, KernelCall, OutputArg, PackedConstant
from aboard.kernels.portable.elementwise import joined, present
from aboard.kernels.registry import implements
from aboard.kernels.view import Literal, View
from aboard.ops import get, relu, sigmoid_wide
from aboard.ops.activation import Activation
from aboard.ops.rescaling import scaling
from aboard.ops.sigmoid import Sigmoid
from aboard.target import Target


@dataclass(frozen=True)
class ElementFunction:
    """A C function for elements.

    Attributes:
        name: Name of the function, without `aboard_`.
        params: Fields of its parameters after the views.
        params_type: Type of its parameters, without `aboard_` and `_s16_t`.
        constants: Its arguments after operand and result.
    """

    name: str
    params: Mapping[str, Literal]
    params_type: str
    constants: tuple[PackedConstant, ...] = ()


class ElementsS16(Implementation):
    """An element-wise op with one int16 operand and an int16 result.

    Attributes:
        header: C header.
    """

    name = "portable_s16"
    in_place = ((0, 0),)
    strided = True
    by_rows = True
    header: ClassVar[str]

    @override
    def refuses(self, node: Node, target: Target) -> str | None:
        """Refuses other element types."""
        both = node.input(0).dtype, node.output.dtype
        return None if both == (DType.INT16, DType.INT16) else "is for int16"

    @abstractmethod
    def function(self, node: Node) -> ElementFunction:
        """Returns the function that computes a node."""

    @override
    def lower(self, node: Node, inputs: Sequence[View | None], outputs: Sequence[View], target: Target) -> KernelCall:
        source, result = joined(*present(inputs), outputs[0])
        called = self.function(node)
        return KernelCall(
            header=self.header,
            function=f"aboard_{called.name}",
            params_type=f"aboard_{called.params_type}_s16_t",
            params={"in": source.literal(), "out": result.literal(), **called.params},
            arguments=(
                InputArg(0, f"const {node.input(0).dtype.c} *"),
                OutputArg(0, f"{node.output.dtype.c} *"),
                *(ConstantArg(constant) for constant in called.constants),
            ),
            rows=result.rows,
        )


def _limits(activation: Activation, node: Node) -> dict[str, Literal]:
    low, high = activation.range(node.output.quant, node.output.dtype)
    return {"low": low, "high": high}


def _rescaling(node: Node) -> dict[str, Literal]:
    """Returns the fields of `aboard_rescale_s16_t`, from an operand to the result's quantisation."""
    multiplier, shift = scaling(node.input(0), node.output)
    return {
        "in_zero_point": node.input(0).quant.zero_point,
        "out_zero_point": node.output.quant.zero_point,
        "multiplier": multiplier,
        "shift": shift,
    }


class Clamp(ElementsS16):
    """Two comparisons, if operand and result have one scale."""

    name = "clamp_s16"
    specialised = True
    header = "portable/clamp_s16.h"
    activation: ClassVar[Activation]

    @override
    def refuses(self, node: Node, target: Target) -> str | None:
        """Refuses nodes that do more than clamp."""
        same = node.input(0).type.quant == node.output.type.quant
        return super().refuses(node, target) or (None if same else "is for operand and result of one quantisation")

    @override
    def function(self, node: Node) -> ElementFunction:
        return ElementFunction("elements_clamp_s16", _limits(self.activation, node), "elements_clamp")


@implements
class ReluClamp(Clamp):
    """relu."""

    op, activation = "relu", Activation.RELU


@implements
class Relu6Clamp(Clamp):
    """relu6."""

    op, activation = "relu6", Activation.RELU6


@implements
class Relu(ElementsS16):
    """relu with a change of scale."""

    op, header = "relu", "portable/rescale_s16.h"

    @override
    def function(self, node: Node) -> ElementFunction:
        return ElementFunction("rescale_s16", {**_rescaling(node), **_limits(Activation.RELU, node)}, "rescale")


@implements
class LeakyRelu(ElementsS16):
    """leaky_relu."""

    op, header = "leaky_relu", "portable/rescale_s16.h"

    @override
    def function(self, node: Node) -> ElementFunction:
        op = get(node.op)
        assert isinstance(op, relu.LeakyRelu)  # noqa: S101  an internal invariant that also narrows the type
        above, below = op.scalings(node)
        params: dict[str, Literal] = {
            "above_multiplier": above[0],
            "above_shift": above[1],
            "below_multiplier": below[0],
            "below_shift": below[1],
            "sign": -1 if relu.attributes(node).alpha < 0 else 1,
        }
        return ElementFunction("leaky_relu_s16", params, "leaky_relu")


class SigmoidS16(ElementsS16):
    """A function that is interpolated in the table of the logistic function."""

    header = "portable/sigmoid_s16.h"

    @override
    def function(self, node: Node) -> ElementFunction:
        op = get(node.op)
        assert isinstance(op, Sigmoid)  # noqa: S101  an internal invariant that also narrows the type
        argument = op.argument(node)
        table = PackedConstant("table", sigmoid_wide.TABLE.astype(np.uint16))
        params = {"multiplier": argument.multiplier, "shift": argument.shift}
        return ElementFunction(f"{node.op}_s16", params, "sigmoid", constants=(table,))


@implements
class Logistic(SigmoidS16):
    """logistic."""

    op = "logistic"


@implements
class Tanh(SigmoidS16):
    """tanh."""

    op = "tanh"


_RESCALED_WIDE = {
    (DType.INT8, DType.INT32): "rescale_s8_to_s32",
    (DType.INT16, DType.INT32): "rescale_s16_to_s32",
    (DType.INT32, DType.INT8): "rescale_s32_to_s8",
    (DType.INT32, DType.INT16): "rescale_s32_to_s16",
}
_RESCALED = {
    (DType.INT16, DType.INT16): "rescale_s16",
    (DType.INT8, DType.INT16): "rescale_s8_to_s16",
    (DType.INT16, DType.INT8): "rescale_s16_to_s8",
}


class Rescaling(ElementsS16):
    """quantize from one quantisation to another.

    Attributes:
        functions: C function for each pair of types, without `aboard_`.
    """

    functions: ClassVar[Mapping[tuple[DType, DType], str]]

    @override
    def runs_in_place(self, node: Node) -> tuple[tuple[int, int], ...]:
        """Elements of one size may be rescaled in place."""
        return self.in_place if node.input(0).dtype is node.output.dtype else ()

    @override
    def refuses(self, node: Node, target: Target) -> str | None:
        """Refuses other element types."""
        if (node.input(0).dtype, node.output.dtype) in self.functions:
            return None
        return f"is for {', '.join(f'{a.value} to {b.value}' for a, b in self.functions)}"

    @override
    def function(self, node: Node) -> ElementFunction:
        name = self.functions[node.input(0).dtype, node.output.dtype]
        return ElementFunction(name, {**_rescaling(node), **_limits(Activation.NONE, node)}, "rescale")


@implements
class Requantize(Rescaling):
    """Of 8 and 16 bits."""

    op, header, functions = "quantize", "portable/rescale_s16.h", _RESCALED


@implements
class RequantizeS32(Rescaling):
    """To and from int32."""

    op, name, header, functions = "quantize", "portable_s32", "portable/quantize_s32.h", _RESCALED_WIDE
