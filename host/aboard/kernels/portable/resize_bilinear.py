"""Resize by bilinear interpolation on any core: places by tables, four products an element."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from typing_extensions import override

from aboard.ir import DType, Node
from aboard.kernels.contract import ConstantArg, Implementation, InputArg, KernelCall, OutputArg, PackedConstant
from aboard.kernels.portable import gather
from aboard.kernels.registry import implements
from aboard.kernels.view import View
from aboard.ops.resize_bilinear import Places, places
from aboard.target import Target

_LARGEST_INDEX = np.iinfo(np.uint16).max


@implements
class ResizeBilinearPortable(Implementation):
    """Tables of the rows and pixels around each place, and of the fractions, which the host has worked out."""

    op = "resize_bilinear"
    name = "portable"
    strided = True
    by_rows = True

    @override
    def refuses(self, node: Node, target: Target) -> str | None:
        """Refuses images whose indices do not fit the tables."""
        largest = max(*node.input(0).shape[1:3], *node.output.shape[1:3])
        return (
            None if largest <= _LARGEST_INDEX else f"{largest} rows or pixels, at most {_LARGEST_INDEX} are supported"
        )

    @override
    def lower(self, node: Node, inputs: Sequence[View | None], outputs: Sequence[View], target: Target) -> KernelCall:
        rows, cols = places(node)
        dtype, result = node.output.dtype, outputs[0]
        function = f"aboard_resize_bilinear_{'f32' if dtype is DType.FLOAT32 else 's8'}"
        return KernelCall(
            header="portable/resize_bilinear.h",
            function=function,
            params_type="aboard_resize_bilinear_t",
            params={
                "in": gather.operand(inputs).literal(),
                "out": result.literal(),
                "in_height": node.input(0).shape[1],
                "out_height": node.output.shape[1],
            },
            arguments=(
                InputArg(0, f"const {dtype.c} *"),
                *_tables("row", rows),
                *_tables("col", cols),
                OutputArg(0, f"{dtype.c} *"),
            ),
            rows=result.rows,
        )


def _tables(name: str, along: Places) -> tuple[ConstantArg, ConstantArg]:
    pairs = np.stack([along.low, along.high], 1).astype(np.uint16)
    is_float = along.fraction.dtype == np.float32
    fractions = along.fraction if is_float else along.fraction.astype(np.int16)
    return ConstantArg(PackedConstant(f"{name}s", pairs)), ConstantArg(PackedConstant(f"{name}_fractions", fractions))
