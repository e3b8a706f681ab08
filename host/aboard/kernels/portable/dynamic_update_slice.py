"""Updates and copies of a part of a tensor, at a place that is known at run time, on any core."""

from __future__ import annotations

from collections.abc import Sequence

from typing_extensions import override

from aboard.ir import Node
from aboard.kernels.contract import Implementation, InputArg, KernelCall, OutputArg
from aboard.kernels.registry import implements
from aboard.kernels.view import View
from aboard.target import Target

#: ABOARD_UPDATE_AXES of dynamic_update_slice.h.
MAX_AXES = 6


@implements
class DynamicUpdateSlicePortable(Implementation):
    """Only the update is copied where the result is the operand's memory."""

    op = "dynamic_update_slice"
    name = "portable"
    in_place = ((0, 0),)

    @override
    def refuses(self, node: Node, target: Target) -> str | None:
        """Refuses more axes than the kernel has counters for."""
        rank = len(node.output.shape)
        return None if rank <= MAX_AXES else f"{rank} axes, at most {MAX_AXES} are supported"

    @override
    def lower(self, node: Node, inputs: Sequence[View | None], outputs: Sequence[View], target: Target) -> KernelCall:
        result, shape, starts = outputs[0], node.output.shape, node.input(2)
        missing = [1] * (MAX_AXES - len(shape))
        return KernelCall(
            header="portable/dynamic_update_slice.h",
            function="aboard_dynamic_update_slice",
            params_type="aboard_dynamic_update_slice_t",
            params={
                "element_bytes": result.element_bytes,
                "axes": len(shape),
                "index_bytes": starts.dtype.bytes,
                "extent": [*shape, *missing],
                "update": [*node.input(1).shape, *missing],
            },
            arguments=(
                InputArg(0, "const void *"),
                InputArg(1, "const void *"),
                InputArg(2, "const void *"),
                OutputArg(0, "void *"),
            ),
            rows=result.rows,
            step_rows=result.rows,
        )


@implements
class DynamicSlicePortable(Implementation):
    """A copy of each run of the last axis."""

    op = "dynamic_slice"
    name = "portable"

    @override
    def refuses(self, node: Node, target: Target) -> str | None:
        """Refuses more axes than the kernel has counters for."""
        rank = len(node.output.shape)
        return None if rank <= MAX_AXES else f"{rank} axes, at most {MAX_AXES} are supported"

    @override
    def lower(self, node: Node, inputs: Sequence[View | None], outputs: Sequence[View], target: Target) -> KernelCall:
        result, shape = outputs[0], node.output.shape
        missing = [1] * (MAX_AXES - len(shape))
        return KernelCall(
            header="portable/dynamic_update_slice.h",
            function="aboard_dynamic_slice",
            params_type="aboard_dynamic_update_slice_t",
            params={
                "element_bytes": result.element_bytes,
                "axes": len(shape),
                "index_bytes": node.input(1).dtype.bytes,
                "extent": [*node.input(0).shape, *missing],
                "update": [*shape, *missing],
            },
            arguments=(InputArg(0, "const void *"), InputArg(1, "const void *"), OutputArg(0, "void *")),
            rows=result.rows,
            step_rows=result.rows,
        )
