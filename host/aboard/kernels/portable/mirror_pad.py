"""Padding with mirrored elements on any core."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from typing_extensions import override

from aboard.ir import Node
from aboard.kernels.contract import Implementation, InputArg, KernelCall, OutputArg
from aboard.kernels.portable import gather
from aboard.kernels.portable.pad import MAX_LEAD
from aboard.kernels.registry import implements
from aboard.kernels.view import Literal, View
from aboard.ops.mirror_pad import attributes
from aboard.target import Target


@implements
class MirrorPadPortable(Implementation):
    """Rows of the result in order, each from the row of the operand that it mirrors."""

    op = "mirror_pad"
    name = "portable"
    strided = True

    @override
    def refuses(self, node: Node, target: Target) -> str | None:
        """Refuses more axes than the kernel has counters for."""
        rank = len(node.output.shape)
        return None if rank <= MAX_LEAD + 2 else f"{rank} axes, at most {MAX_LEAD + 2} are supported"

    @override
    def lower(self, node: Node, inputs: Sequence[View | None], outputs: Sequence[View], target: Target) -> KernelCall:
        attrs, shape, result = attributes(node), node.input(0).shape, outputs[0]
        axes = [_axis(before, size, after) for (before, after), size in zip(attrs.padding, shape, strict=True)]
        rank, none = len(shape), _axis(0, 1, 0)
        lead = axes[: rank - min(rank, 1 if rank < 3 else 2)]
        params: dict[str, Literal] = {
            "in": gather.operand(inputs).literal(),
            "out": result.literal(),
            "element_bytes": result.element_bytes,
            "edge": int(attrs.edge),
            "lead": [*[none] * (MAX_LEAD - len(lead)), *lead],
            "col": axes[-2] if rank >= 3 else none,
            "channel": axes[-1] if rank else none,
        }
        arguments = (InputArg(0, "const void *"), OutputArg(0, "void *"))
        return KernelCall(
            "portable/mirror_pad.h", "aboard_mirror_pad", "aboard_mirror_pad_t", params, arguments, result.rows
        )


def _axis(before: int, size: int, after: int) -> Mapping[str, Literal]:
    return {"before": before, "size": size, "total": before + size + after}
