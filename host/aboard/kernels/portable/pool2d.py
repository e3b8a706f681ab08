"""average_pool2d, l2_pool2d and max_pool2d on any core."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Sequence
from dataclasses import replace
from itertools import product
from typing import ClassVar

from typing_extensions import override

from aboard.ir import DType, Node
from aboard.kernels import loops
from aboard.kernels.contract import (
    Argument,
    Implementation,
    InputArg,
    KernelCall,
    OutputArg,
    RowWise,
    Scratch,
    ScratchArg,
)
from aboard.kernels.overlap import Reads, SlidingWindow, distance
from aboard.kernels.portable.elementwise import present
from aboard.kernels.registry import implements
from aboard.kernels.view import Literal, View
from aboard.ops.pool2d import attributes, spans
from aboard.target import Target

#: Largest number of int8 pixels whose sum fits 16 bits, and the bytes of such a sum.
_MOST_PIXELS, _HALFWORD = 256, 2

#: Work of a result, a line and a tap: of a whole window, and of one that the border of the image cuts.
WindowCosts = tuple[tuple[float, float, float], tuple[float, float, float]]
_OF_MAXIMUM: WindowCosts = ((2, 0, 1), (3, 5, 2))
_OF_AVERAGE: WindowCosts = ((2, 3.5, 1), (21, 1, 0.5))

_SUFFIXES = {DType.INT8: "s8", DType.INT16: "s16", DType.FLOAT32: "f32"}


class Pool(Implementation):
    """One window and one channel at a time.

    Attributes:
        dtype: Element type.
        block: Channels at once.
        costs: Work of its windows.
        function: C function; the parameter struct is named after the type.
    """

    strided = True
    by_rows = True
    dtype: ClassVar[DType]
    function: ClassVar[str]
    block: ClassVar[int] = 1
    costs: ClassVar[WindowCosts] = _OF_MAXIMUM

    @override
    def refuses(self, node: Node, target: Target) -> str | None:
        """Refuses other element types."""
        return None if node.output.dtype is self.dtype else f"is for {self.dtype.value}"

    @override
    def overlap(self, node: Node, inputs: Sequence[View | None], outputs: Sequence[View]) -> int | None:
        """A channel is written while other channels are still to be read."""
        attrs = attributes(node)
        window = SlidingWindow(attrs.window, attrs.strides, attrs.padding, node.output.shape[0])
        (source,) = present(inputs)
        return distance(window, source, outputs[0], Reads.PIXEL)

    @override
    def lower(self, node: Node, inputs: Sequence[View | None], outputs: Sequence[View], target: Target) -> KernelCall:
        (source,), result, activation = present(inputs), outputs[0], attributes(node).activation
        is_float, ctype = self.dtype.is_float, self.dtype.c
        low, high = activation.float_range() if is_float else activation.range(node.output.quant, self.dtype)
        pool = _pool(node, source, result)
        return KernelCall(
            header="portable/pool2d_s16.h" if self.dtype is DType.INT16 else "portable/pool2d.h",
            function=self.function,
            params_type=f"aboard_pool2d_{_SUFFIXES[self.dtype]}_t",
            params={"pool": pool, "low": low, "high": high},
            arguments=(InputArg(0, f"const {ctype} *"), OutputArg(0, f"{ctype} *")),
            rows=result.rows,
            code_variant=f"padded={pool['padded']}",
            loops=_loops(node, self.block, self.costs),
        )


def is_global(node: Node) -> bool:
    """True if one window covers exactly one image."""
    return node.output.shape[1:3] == (1, 1) and node.input(0).shape[1:3] == attributes(node).window


def _pool(node: Node, source: View, result: View) -> dict[str, Literal]:
    attrs = attributes(node)
    (height, width), (down, right) = attrs.window, attrs.strides
    cut = any(end - start < attrs.window[axis] for axis in (0, 1) for start, end in spans(node, axis))
    return {
        "in": source.literal(),
        "out": result.literal(),
        "in_height": node.input(0).shape[1],
        "out_height": node.output.shape[1],
        "window_height": height,
        "window_width": width,
        "stride_height": down,
        "stride_width": right,
        "pad_top": attrs.padding.top,
        "pad_left": attrs.padding.left,
        "padded": int(cut),
    }


def _loops(node: Node, block: int, costs: WindowCosts) -> int:
    """Returns the work of all windows: loops of those that the border cuts have no literal bounds."""
    images, _, _, channels = node.output.shape
    lines, columns = (Counter(end - start for start, end in spans(node, axis)) for axis in (0, 1))
    work = 0.0
    for (rows, down), (cols, right) in product(lines.items(), columns.items()):
        result, line, tap = costs[(rows, cols) != attributes(node).window]
        work += down * right * (result + rows * (line + cols * tap))
    return round(images * -(-channels // block) * work)


class AccumulatingAverage(Pool):
    """average_pool2d of integers; in a cascade, a window over whole images accumulates row by row.

    Attributes:
        rows_function: C function that accumulates rows.
        sums: C type of its sums.
        sum_bytes: Bytes of the sum of a channel.
        sum_block: Channels whose sums are stored together.
    """

    op = "average_pool2d"
    costs = _OF_AVERAGE
    rows_function: ClassVar[str]
    sums: ClassVar[str] = "int32_t"
    sum_bytes: ClassVar[int] = 4
    sum_block: ClassVar[int] = 1

    @override
    def refuses(self, node: Node, target: Target) -> str | None:
        """Refuses nodes that the base class refuses, and windows of int8 whose sums may exceed 16 bits."""
        reason, size = super().refuses(node, target), math.prod(attributes(node).window)
        if reason is not None or self.sum_bytes != _HALFWORD or size <= _MOST_PIXELS:
            return reason
        return f"is for windows of at most {_MOST_PIXELS} pixels, got {size}"

    @override
    def row_wise(self, node: Node) -> RowWise:
        """One row: of the operand if one window covers the image."""
        return RowWise(accumulates=is_global(node))

    @override
    def lower(self, node: Node, inputs: Sequence[View | None], outputs: Sequence[View], target: Target) -> KernelCall:
        call = super().lower(node, inputs, outputs, target)
        if not outputs[0].stripe_height or not is_global(node):
            return call
        (source,) = present(inputs)
        size = self.sum_bytes * loops.padded(source.channels, self.sum_block)
        sums = ScratchArg(Scratch(size, persistent=True), f"{self.sums} *")
        arguments: tuple[Argument, ...] = (*call.arguments, sums)
        return replace(call, function=self.rows_function, arguments=arguments, rows=source.rows)


@implements
class AveragePool2dS8(AccumulatingAverage):
    """average_pool2d of int8."""

    name = "portable_s8"
    dtype, function = DType.INT8, "aboard_average_pool2d_s8"
    rows_function = "aboard_average_pool2d_rows_s8"


@implements
class AveragePool2dS16(AccumulatingAverage):
    """average_pool2d of int16."""

    name = "portable_s16"
    dtype, function = DType.INT16, "aboard_average_pool2d_s16"
    rows_function = "aboard_average_pool2d_rows_s16"


@implements
class AveragePool2dF32(Pool):
    """average_pool2d of float32."""

    op, name = "average_pool2d", "portable_f32"
    costs = _OF_AVERAGE
    dtype, function = DType.FLOAT32, "aboard_average_pool2d_f32"


@implements
class L2Pool2dF32(Pool):
    """l2_pool2d of float32."""

    op, name = "l2_pool2d", "portable_f32"
    costs = _OF_AVERAGE
    dtype, function = DType.FLOAT32, "aboard_l2_pool2d_f32"


@implements
class MaxPool2dS8(Pool):
    """max_pool2d of int8."""

    op, name = "max_pool2d", "portable_s8"
    dtype, function = DType.INT8, "aboard_max_pool2d_s8"


@implements
class MaxPool2dS16(Pool):
    """max_pool2d of int16."""

    op, name = "max_pool2d", "portable_s16"
    dtype, function = DType.INT16, "aboard_max_pool2d_s16"


@implements
class MaxPool2dF32(Pool):
    """max_pool2d of float32."""

    op, name = "max_pool2d", "portable_f32"
    dtype, function = DType.FLOAT32, "aboard_max_pool2d_f32"
