"""Comparisons and logic of two elements, and the choice between two by a third."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, ClassVar

import numpy as np
from typing_extensions import override

from aboard.ir import DType, Node, Tensor
from aboard.ir.numerics import Int64, multiply_by_quantized_multiplier, quantize_multiplier
from aboard.ops.broadcasting import WHOLE, Broadcasting, Numbers, Signature, alike
from aboard.ops.registry import register, register_family

#: Bits by which int8 is moved up before it is scaled for a comparison.
LEFT_SHIFT = 8

Function = Callable[[Any, Any], Any]


def _compared(*types: DType) -> tuple[Signature, ...]:
    return tuple(((dtype, dtype), DType.BOOL) for dtype in types)


_ORDERED = _compared(DType.INT8, DType.INT32, DType.INT64, DType.FLOAT32)
_EQUATED = (*_ORDERED, *_compared(DType.BOOL))
_OTHERS = _compared(DType.INT8, DType.UINT8, DType.INT16, DType.UINT32, DType.UINT64)


class Comparison(Broadcasting):
    """A comparison of two elements. Int8 operands are scaled by the scale of each, with 8 bits to spare, and rounded.

    Attributes:
        function: The comparison, of numpy arrays.
    """

    scaled = (DType.INT8,)
    plain_signatures = _OTHERS
    function: ClassVar[Function]

    def scaling(self, operand: Tensor) -> tuple[int, int]:
        """Returns multiplier and shift of an int8 operand that is moved up by `LEFT_SHIFT` bits."""
        return quantize_multiplier(operand.quant.scale)

    @override
    def scaling_problem(self, node: Node) -> str | None:
        large = next((tensor for tensor in node.operands if tensor.quant.scale >= 1), None)
        if large is None:
            return None
        return (
            f"scale of {large.name}, got {large.quant.scale:g}, expected less than 1, which tflite-micro compares. "
            "Quantise the model again"
        )

    def values(self, operand: Tensor, x: Numbers) -> Int64:
        """Returns what is compared of int8 elements."""
        centred = (x.astype(np.int64) - operand.quant.zero_point) << LEFT_SHIFT
        return multiply_by_quantized_multiplier(centred, *self.scaling(operand))

    @override
    def compute(self, node: Node, *operands: Numbers) -> Numbers:
        if node.input(0).dtype is DType.INT8:
            operands = tuple(map(self.values, node.operands, operands))
        return np.asarray(type(self).function(*operands))


register_family(
    Comparison,
    [
        {
            "name": "equal",
            "tflite": ("EQUAL",),
            "function": np.equal,
            "plain_function": np.equal,
            "signatures": _EQUATED,
        },
        {
            "name": "not_equal",
            "tflite": ("NOT_EQUAL",),
            "function": np.not_equal,
            "plain_function": np.not_equal,
            "signatures": _EQUATED,
        },
        {
            "name": "greater",
            "tflite": ("GREATER",),
            "function": np.greater,
            "plain_function": np.greater,
            "signatures": _ORDERED,
        },
        {
            "name": "greater_equal",
            "tflite": ("GREATER_EQUAL",),
            "function": np.greater_equal,
            "plain_function": np.greater_equal,
            "signatures": _ORDERED,
        },
        {"name": "less", "tflite": ("LESS",), "function": np.less, "plain_function": np.less, "signatures": _ORDERED},
        {
            "name": "less_equal",
            "tflite": ("LESS_EQUAL",),
            "function": np.less_equal,
            "plain_function": np.less_equal,
            "signatures": _ORDERED,
        },
    ],
)


_ONE, _TWO = alike(1, DType.BOOL), alike(2, DType.BOOL)


class Logic(Broadcasting):
    """A function of bool elements.

    Attributes:
        function: The function, of numpy arrays.
    """

    function: ClassVar[Callable[..., Any]]

    @override
    def compute(self, node: Node, *operands: Numbers) -> Numbers:
        return np.asarray(type(self).function(*operands))


register_family(
    Logic,
    [
        {
            "name": "logical_and",
            "tflite": ("LOGICAL_AND",),
            "function": np.logical_and,
            "signatures": _TWO,
        },
        {
            "name": "logical_or",
            "tflite": ("LOGICAL_OR",),
            "function": np.logical_or,
            "signatures": _TWO,
        },
        {
            "name": "logical_not",
            "tflite": ("LOGICAL_NOT",),
            "function": np.logical_not,
            "signatures": _ONE,
        },
    ],
)


@register
class Select(Broadcasting):
    """The second operand where the first is true, else the third. Integers are not rescaled."""

    name = "select"
    selects = True
    tflite = ("SELECT_V2",)
    signatures = tuple(((DType.BOOL, dtype, dtype), dtype) for dtype in (DType.INT8, DType.INT16, DType.FLOAT32))
    plain_signatures = tuple(((DType.BOOL, dtype, dtype), dtype) for dtype in (*WHOLE, DType.BOOL))
    plain_function = np.where

    @override
    def compute(self, node: Node, *operands: Numbers) -> Numbers:
        return np.where(*operands)
