"""Averages, sums and extremes of int8 for cores with the DSP extension: four elements at once."""

from __future__ import annotations

from typing_extensions import override

from aboard.ir import DType, Node
from aboard.kernels.contract import Implementation
from aboard.kernels.portable.extremes import ReduceMaxPortable, ReduceMinPortable
from aboard.kernels.portable.mean import MeanS8, SumS8
from aboard.kernels.registry import implements
from aboard.target import Target

#: Elements of a word.
_WORD = 4


class OfInt8(Implementation):
    """What these kernels refuse beside a portable kernel, which is behind it in the order of base classes.

    Attributes:
        least: Smallest extent of the innermost axis.
        per_element: Instructions of an element of the operand, and of one of the result beside these; counted in QEMU.
        per_result: See `per_element`.
    """

    least: int
    per_element: float
    per_result: float

    @override
    def formula(self, node: Node) -> float | None:
        elements, results = node.input(0).type.elements, node.output.type.elements
        return self.per_element * elements + self.per_result * results

    @override
    def refuses(self, node: Node, target: Target) -> str | None:
        """Refuses other element types, and operands whose innermost axis is short."""
        shape, dtype = node.input(0).shape, node.input(0).dtype
        if dtype is not DType.INT8:
            return f"is for int8, got {dtype.value}"
        if not shape or shape[-1] < self.least:
            return f"is for an innermost axis of at least {self.least} elements"
        return super().refuses(node, target)


class _Dsp(OfInt8):
    name = "dsp_s8"
    keys = frozenset({"arm_dsp"})
    header = "arm_dsp/reduction.h"
    least = _WORD
    per_element, per_result = 1.0, 14.0


@implements
class MeanDsp(_Dsp, MeanS8):
    """mean."""

    function = "mean_dsp"


@implements
class SumDsp(_Dsp, SumS8):
    """sum."""

    function = "mean_dsp"


@implements
class ReduceMaxDsp(_Dsp, ReduceMaxPortable):
    """reduce_max."""

    function = "reduce_max_dsp"


@implements
class ReduceMinDsp(_Dsp, ReduceMinPortable):
    """reduce_min."""

    function = "reduce_min_dsp"
