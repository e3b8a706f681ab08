"""Padding on any core."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
from typing_extensions import override

from aboard.ir import Node
from aboard.kernels.contract import Implementation, InputArg, KernelCall, OutputArg
from aboard.kernels.portable import gather
from aboard.kernels.registry import implements
from aboard.kernels.view import Literal, View
from aboard.ops.pad import attributes
from aboard.target import Target

#: ABOARD_PAD_LEAD of pad.h.
MAX_LEAD = 5


@implements
class PadPortable(Implementation):
    """Rows of the result in order: filled, or the operand's row between padding."""

    op = "pad"
    name = "portable"
    strided = True

    @override
    def refuses(self, node: Node, target: Target) -> str | None:
        """Refuses more axes than the kernel has counters for, and numbers beyond 32 bits."""
        rank = len(node.output.shape)
        if not -(2**31) <= _bits(attributes(node).value, node) < 2**31:
            return f"is for values of 32 bits, got {attributes(node).value}"
        return None if rank <= MAX_LEAD + 2 else f"{rank} axes, at most {MAX_LEAD + 2} are supported"

    @override
    def lower(self, node: Node, inputs: Sequence[View | None], outputs: Sequence[View], target: Target) -> KernelCall:
        attrs, shape, result = attributes(node), node.input(0).shape, outputs[0]
        axes = [_axis(before, size, after) for (before, after), size in zip(attrs.padding, shape, strict=True)]
        rank, none = len(shape), _axis(0, 1, 0)
        within = min(rank, 1 if rank < 3 else 2)
        lead = axes[: rank - within]
        params: dict[str, Literal] = {
            "in": gather.operand(inputs).literal(),
            "out": result.literal(),
            "element_bytes": result.element_bytes,
            "value": _bits(attrs.value, node),
            "lead": [*[none] * (MAX_LEAD - len(lead)), *lead],
            "col": axes[-2] if rank >= 3 else none,
            "channel": axes[-1] if rank else none,
        }
        arguments = (InputArg(0, "const void *"), OutputArg(0, "void *"))
        return KernelCall("portable/pad.h", "aboard_pad", "aboard_pad_t", params, arguments, result.rows)


def _axis(before: int, size: int, after: int) -> Mapping[str, Literal]:
    return {"before": before, "size": size, "total": before + size + after}


def _bits(value: float, node: Node) -> int:
    """Returns the bits of a stored value as a signed number of the same width."""
    dtype = node.output.dtype.numpy
    return int(np.array([value]).astype(dtype).view(f"i{dtype.itemsize}")[0])
