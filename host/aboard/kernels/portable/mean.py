"""Averages and sums on any core: one kernel, whose multiplier has the division in it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from typing_extensions import override

from aboard.ir import DType, Node, Rounding
from aboard.kernels.contract import Implementation, InputArg, KernelCall, OutputArg
from aboard.kernels.portable.elementwise import present
from aboard.kernels.portable.gather import axis_steps
from aboard.kernels.registry import implements
from aboard.kernels.view import Literal, View
from aboard.ops.mean import divisor, scaling
from aboard.ops.reduction import attributes, count
from aboard.target import Target

#: ABOARD_MEAN_AXES of mean.h.
MAX_AXES = 4

#: Number of indices, and bytes from one index to the next.
_Axis = tuple[int, int]


def axes_of(node: Node, source: View, result: View) -> dict[str, Literal]:
    """Returns the fields of `aboard_mean_t`."""
    attrs, shape = attributes(node), node.input(0).shape
    if source.buffer_rows < source.rows:
        raise ValueError(f"{node.op} {node.name}: the operand is stored in a rolling buffer")
    steps = [step.rows * source.row_stride + step.bytes for step in axis_steps(shape, source)]
    axes = list(zip(shape, steps, strict=True))
    reduced = _merged([axes[axis] for axis in attrs.axes])
    if attrs.keep_dims:
        left = [(1, 0) if axis in attrs.axes else axes[axis] for axis in range(len(shape))]
    else:
        left = [axes[axis] for axis in range(len(shape)) if axis not in attrs.axes]
    channel = left.pop() if left else (1, 0)
    col = left.pop() if len(left) >= 2 else (1, 0)
    lead = _merged(left)
    return {
        "out": result.literal(),
        "lead": [_axis(axis) for axis in [*lead, *[(1, 0)] * (MAX_AXES - len(lead))]],
        "col": _axis(col),
        "channel": _axis(channel),
        "over": [_axis(axis) for axis in [*[(1, 0)] * (MAX_AXES - len(reduced)), *reduced]],
        "count": divisor(node),
    }


def _axis(axis: _Axis) -> Mapping[str, Literal]:
    return {"extent": axis[0], "bytes": axis[1]}


def _merged(axes: Sequence[_Axis]) -> list[_Axis]:
    """Returns the axes, without axes of one index, and with neighbours joined that form one regular axis."""
    merged: list[_Axis] = []
    for extent, step in axes:
        if extent == 1:
            continue
        if merged and merged[-1][1] == step * extent:
            merged[-1] = (merged[-1][0] * extent, step)
        else:
            merged.append((extent, step))
    return merged


def too_many_axes(node: Node) -> str | None:
    """Returns why a reduction has more axes than kernels have counters for, or None."""
    rank = len(node.input(0).shape)
    return None if rank <= MAX_AXES + 2 else f"{rank} axes, at most {MAX_AXES + 2} are supported"


class _Mean(Implementation):
    op = "mean"
    strided = True
    dtype: DType
    header = "portable/mean.h"
    #: What the C function is called, without its prefix and element type.
    function = "mean"

    @override
    def refuses(self, node: Node, target: Target) -> str | None:
        """Refuses other element types and more axes than the kernel has counters for."""
        if not self.dtype.is_float and node.output.type.quant is None:
            return "is for quantised operands"
        return too_many_axes(node) if node.output.dtype is self.dtype else f"is for {self.dtype.value}"

    def scaling(self, node: Node) -> Mapping[str, Literal]:
        """Returns the requantisation fields."""
        multiplier, shift = scaling(node)
        return {"multiplier": multiplier, "shift": shift}

    @override
    def lower(self, node: Node, inputs: Sequence[View | None], outputs: Sequence[View], target: Target) -> KernelCall:
        (source,) = present(inputs)
        suffix = self.name.rpartition("_")[2]
        return KernelCall(
            header=self.header,
            function=f"aboard_{self.function}_{suffix}",
            params_type=f"aboard_mean_{suffix}_t",
            params={"axes": axes_of(node, source, outputs[0]), **self.scaling(node)},
            arguments=(InputArg(0, f"const {self.dtype.c} *"), OutputArg(0, f"{self.dtype.c} *")),
            rows=outputs[0].rows,
        )


@implements
class MeanS8(_Mean):
    """mean of int8."""

    name = "portable_s8"
    exact = True
    dtype = DType.INT8

    @override
    def scaling(self, node: Node) -> Mapping[str, Literal]:
        zero_points = {
            "correction": node.input(0).quant.zero_point * count(node),
            "zero_point": node.output.quant.zero_point,
        }
        exact = {"exact": 1} if node.attrs.rounding is Rounding.EXACT else {}
        return {**super().scaling(node), **zero_points, **exact}


@implements
class MeanS16(_Mean):
    """mean of int16, which has no zero points."""

    name = "portable_s16"
    dtype = DType.INT16
    header = "portable/mean_s16.h"


@implements
class MeanF32(_Mean):
    """mean of float32."""

    name = "portable_f32"
    dtype = DType.FLOAT32

    @override
    def scaling(self, node: Node) -> Mapping[str, Literal]:
        return {}


@implements
class SumS8(MeanS8):
    """Sum of int8."""

    op = "sum"


@implements
class SumS16(MeanS16):
    """Sum of int16."""

    op = "sum"


@implements
class SumF32(MeanF32):
    """Sum of float32: a mean that is divided by 1."""

    op = "sum"
