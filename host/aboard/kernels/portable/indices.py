"""Gathers by index tensors on any core: runs of elements copied from where indices say."""

from __future__ import annotations

import math
from abc import abstractmethod
from collections.abc import Mapping, Sequence

from typing_extensions import override

from aboard.ir import Node
from aboard.kernels.contract import Implementation, InputArg, KernelCall, OutputArg
from aboard.kernels.registry import implements
from aboard.kernels.view import Literal, View
from aboard.ops.gather import MAX_INDICES, counts, gather_attributes
from aboard.target import Target


class _Indexed(Implementation):
    name = "portable"
    function: str

    @abstractmethod
    def fields(self, node: Node) -> Mapping[str, Literal]:
        """Returns the parameters beside the size of an element."""

    @override
    def lower(self, node: Node, inputs: Sequence[View | None], outputs: Sequence[View], target: Target) -> KernelCall:
        result = outputs[0]
        return KernelCall(
            header="portable/indices.h",
            function=self.function,
            params_type=f"{self.function}_t",
            params={"element_bytes": result.element_bytes, **self.fields(node)},
            arguments=(InputArg(0, "const void *"), InputArg(1, "const int32_t *"), OutputArg(0, "void *")),
            rows=result.rows,
            step_rows=result.rows,
        )


@implements
class GatherPortable(_Indexed):
    """Runs behind the axis, for each index, for each index of the axes before."""

    op = "gather"
    function = "aboard_take"

    @override
    def fields(self, node: Node) -> Mapping[str, Literal]:
        attrs, shape, indices = gather_attributes(node), node.input(0).shape, node.input(1).shape
        return {
            "batches": math.prod(shape[: attrs.batch_dims]),
            "outer": math.prod(shape[attrs.batch_dims : attrs.axis]),
            "extent": shape[attrs.axis],
            "indices": math.prod(indices[attrs.batch_dims :]),
            "run": math.prod(shape[attrs.axis + 1 :]),
        }


@implements
class GatherNdPortable(_Indexed):
    """A run for each tuple of indices."""

    op = "gather_nd"
    function = "aboard_take_tuples"

    @override
    def refuses(self, node: Node, target: Target) -> str | None:
        """Refuses longer tuples than the kernel has counters for."""
        length = node.input(1).shape[-1]
        return None if length <= MAX_INDICES else f"tuples of {length} indices, at most {MAX_INDICES} are supported"

    @override
    def fields(self, node: Node) -> Mapping[str, Literal]:
        shape, indices = node.input(0).shape, node.input(1).shape
        length = indices[-1]
        rest = [0] * (MAX_INDICES - length)
        return {
            "tuples": math.prod(indices[:-1]),
            "length": length,
            "extent": [*shape[:length], *[1 for _ in rest]],
            "count": [*counts(shape, length), *rest],
            "run": math.prod(shape[length:]),
        }
