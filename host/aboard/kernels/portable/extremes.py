"""Largest and smallest elements, and their places, on any core."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import cast

from typing_extensions import override

from aboard.ir import DType, Node
from aboard.kernels.contract import Implementation, InputArg, KernelCall, OutputArg
from aboard.kernels.portable.elementwise import SUFFIXES, present
from aboard.kernels.portable.mean import axes_of, too_many_axes
from aboard.kernels.registry import implements
from aboard.kernels.view import View
from aboard.ops import get
from aboard.ops.extremes import knows_infinity, place_attributes
from aboard.ops.reduction import Reduction
from aboard.target import Target

#: What the C functions call an element type.
_SUFFIXES = {dtype: "" if dtype is DType.BOOL else f"_{name}" for dtype, name in SUFFIXES.items()}


class _Reduce(Implementation):
    name = "portable"
    strided = True
    header = "portable/extremes.h"

    @property
    def function(self) -> str:
        """Name of the C function, without its prefix and element type."""
        return self.op

    @override
    def refuses(self, node: Node, target: Target) -> str | None:
        """Refuses more axes than the kernel has counters for."""
        return too_many_axes(node)

    @override
    def lower(self, node: Node, inputs: Sequence[View | None], outputs: Sequence[View], target: Target) -> KernelCall:
        (source,) = present(inputs)
        ctype = node.output.dtype.c
        infinite = "_infinite" if knows_infinity(node) and node.output.dtype.is_float else ""
        return KernelCall(
            header=self.header,
            function=f"aboard_{self.function}{infinite}{_SUFFIXES[node.output.dtype]}",
            params_type="aboard_reduce_t",
            params={"axes": axes_of(node, source, outputs[0])},
            arguments=(InputArg(0, f"const {ctype} *"), OutputArg(0, f"{ctype} *")),
            rows=outputs[0].rows,
        )


class _ArgExtreme(Implementation):
    name = "portable"

    @override
    def refuses(self, node: Node, target: Target) -> str | None:
        """Refuses element types that only the host compares."""
        dtype = node.input(0).dtype
        return None if dtype in (DType.INT8, DType.FLOAT32) else f"{dtype.value}, only int8 and float32 are supported"

    @override
    def lower(self, node: Node, inputs: Sequence[View | None], outputs: Sequence[View], target: Target) -> KernelCall:
        operand, axis = node.input(0), place_attributes(node).axis
        return KernelCall(
            header="portable/extremes.h",
            function=f"aboard_{self.op}{_SUFFIXES[operand.dtype]}",
            params_type="aboard_place_t",
            params={
                "outer": math.prod(operand.shape[:axis]),
                "extent": operand.shape[axis],
                "inner": math.prod(operand.shape[axis + 1 :]),
            },
            arguments=(InputArg(0, f"const {operand.dtype.c} *"), OutputArg(0, "int32_t *")),
            rows=outputs[0].rows,
            step_rows=outputs[0].rows,
        )


@implements
class ReduceMaxPortable(_Reduce):
    """The largest element."""

    op = "reduce_max"


@implements
class ReduceMinPortable(_Reduce):
    """The smallest element."""

    op = "reduce_min"


@implements
class ReduceProdPortable(_Reduce):
    """The product of all elements."""

    op = "reduce_prod"


@implements
class SumPlain(_Reduce):
    """The sum of integers that stand for themselves."""

    op, name = "sum", "portable_plain"
    # `aboard_sum_s8` adds two tensors.
    function = "reduce_sum"

    @override
    def refuses(self, node: Node, target: Target) -> str | None:
        """Refuses quantised operands and floats, and more axes than the kernel has counters for."""
        if not cast(Reduction, get(node.op)).is_plain(node):
            return "is for integers without quantisation"
        return too_many_axes(node)


@implements
class ReduceAllPortable(_Reduce):
    """Whether all elements are true."""

    op = "reduce_all"


@implements
class ArgMaxPortable(_ArgExtreme):
    """Where the largest element is."""

    op = "arg_max"


@implements
class ArgMinPortable(_ArgExtreme):
    """Where the smallest element is."""

    op = "arg_min"
