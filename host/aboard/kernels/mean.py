"""mean on any core."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from aboard.ir import DType, Node
from aboard.kernels.contract import Implementation, InputArg, KernelCall, Literal, OutputArg, View
from aboard.kernels.elementwise import present
from aboard.kernels.gather import axis_steps
from aboard.kernels.registry import implements
from aboard.ops.mean import attributes, count, scaling
from aboard.target import Target

#: ABOARD_MEAN_AXES of mean.h.
MAX_AXES = 4

#: Extent, and bytes from an index to the next.
_Axis = tuple[int, int]


def axes_of(node: Node, source: View, result: View) -> dict[str, Literal]:
    """Returns the fields of `aboard_mean_t`."""
    attrs, shape = attributes(node), node.input(0).shape
    if source.depth < source.rows:
        raise ValueError(f"mean {node.name}: the operand lies in a ring")
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
        "count": count(node),
    }


def _axis(axis: _Axis) -> Mapping[str, Literal]:
    return {"extent": axis[0], "bytes": axis[1]}


def _merged(axes: Sequence[_Axis]) -> list[_Axis]:
    """Returns the axes without those of one index, and with neighbours that form one regular axis made one."""
    merged: list[_Axis] = []
    for extent, step in axes:
        if extent == 1:
            continue
        if merged and merged[-1][1] == step * extent:
            merged[-1] = (merged[-1][0] * extent, step)
        else:
            merged.append((extent, step))
    return merged


def _too_many_axes(node: Node) -> str | None:
    rank = len(node.input(0).shape)
    return None if rank <= MAX_AXES + 2 else f"{rank} axes, at most {MAX_AXES + 2} are supported"


@implements
class MeanS8(Implementation):
    """mean of int8."""

    op, name = "mean", "portable_s8"
    strided = True

    def refuses(self, node: Node, target: Target) -> str | None:
        """Refuses other element types and more axes than the kernel has counters for."""
        del target
        return _too_many_axes(node) if node.output.dtype is DType.INT8 else "is for int8"

    def lower(self, node: Node, inputs: Sequence[View | None], outputs: Sequence[View], target: Target) -> KernelCall:
        """Returns the call."""
        del target
        (source,) = present(inputs)
        multiplier, shift = scaling(node)
        return KernelCall(
            header="mean.h",
            function="aboard_mean_s8",
            params_type="aboard_mean_s8_t",
            params={
                "axes": axes_of(node, source, outputs[0]),
                "correction": node.input(0).quant.zero_point * count(node),
                "multiplier": multiplier,
                "shift": shift,
                "zero_point": node.output.quant.zero_point,
            },
            arguments=(InputArg(0, "const int8_t *"), OutputArg(0, "int8_t *")),
            rows=outputs[0].rows,
        )


@implements
class MeanS16(Implementation):
    """mean of int16."""

    op, name = "mean", "portable_s16"
    strided = True

    def refuses(self, node: Node, target: Target) -> str | None:
        """Refuses other element types and more axes than the kernel has counters for."""
        del target
        return _too_many_axes(node) if node.output.dtype is DType.INT16 else "is for int16"

    def lower(self, node: Node, inputs: Sequence[View | None], outputs: Sequence[View], target: Target) -> KernelCall:
        """Returns the call."""
        del target
        (source,) = present(inputs)
        multiplier, shift = scaling(node)
        return KernelCall(
            header="mean_s16.h",
            function="aboard_mean_s16",
            params_type="aboard_mean_s16_t",
            params={"axes": axes_of(node, source, outputs[0]), "multiplier": multiplier, "shift": shift},
            arguments=(InputArg(0, "const int16_t *"), OutputArg(0, "int16_t *")),
            rows=outputs[0].rows,
        )


@implements
class MeanF32(Implementation):
    """mean of float32."""

    op, name = "mean", "portable_f32"
    strided = True

    def refuses(self, node: Node, target: Target) -> str | None:
        """Refuses other element types and more axes than the kernel has counters for."""
        del target
        return _too_many_axes(node) if node.output.dtype is DType.FLOAT32 else "is for float32"

    def lower(self, node: Node, inputs: Sequence[View | None], outputs: Sequence[View], target: Target) -> KernelCall:
        """Returns the call."""
        del target
        (source,) = present(inputs)
        return KernelCall(
            header="mean.h",
            function="aboard_mean_f32",
            params_type="aboard_mean_f32_t",
            params={"axes": axes_of(node, source, outputs[0])},
            arguments=(InputArg(0, "const float *"), OutputArg(0, "float *")),
            rows=outputs[0].rows,
        )
