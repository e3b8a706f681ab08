"""Kernels of one operand of the form that ABOARD_UNARY_KERNEL describes, on any core."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import ClassVar

from typing_extensions import override

from aboard.ir import DType, Node
from aboard.kernels.contract import Implementation, InputArg, KernelCall, OutputArg
from aboard.kernels.portable.elementwise import SUFFIXES, joined, present
from aboard.kernels.registry import implement
from aboard.kernels.view import Literal, View
from aboard.target import Target

#: Fields of a parameter struct behind the views.
Fields = Callable[[Node], Mapping[str, Literal]]


class Elements(Implementation):
    """A kernel of one operand.

    Attributes:
        header: C header.
        types: Element types of operand and result.
        params_type: Type of the parameters, without `aboard_` and `_t`.
        fields: What they hold behind the views.
    """

    name = "portable"
    in_place = ((0, 0),)
    strided = True
    by_rows = True
    header: ClassVar[str]
    types: ClassVar[tuple[tuple[DType, DType], ...]]
    params_type: ClassVar[str] = "elements"
    fields: ClassVar[Fields | None] = None

    def function(self, node: Node) -> str:
        """Returns the name of the C function, without `aboard_`."""
        return f"{self.op}_{SUFFIXES[node.input(0).dtype]}"

    @override
    def refuses(self, node: Node, target: Target) -> str | None:
        """Refuses other element types."""
        if (node.input(0).dtype, node.output.dtype) in self.types:
            return None
        return f"is for {' and '.join(f'{a.value} to {b.value}' for a, b in self.types)}"

    @override
    def runs_in_place(self, node: Node) -> tuple[tuple[int, int], ...]:
        """Returns that elements of one type may be computed in place."""
        return self.in_place if node.input(0).dtype is node.output.dtype else ()

    @override
    def lower(self, node: Node, inputs: Sequence[View | None], outputs: Sequence[View], target: Target) -> KernelCall:
        source, result = joined(*present(inputs), outputs[0])
        fields = type(self).fields
        return KernelCall(
            header=f"portable/{self.header}",
            function=f"aboard_{self.function(node)}",
            params_type=f"aboard_{self.params_type}_t",
            params={"in": source.literal(), "out": result.literal(), **(fields(node) if fields else {})},
            arguments=(InputArg(0, f"const {node.input(0).dtype.c} *"), OutputArg(0, f"{node.output.dtype.c} *")),
            rows=result.rows,
        )


implement(Elements, [{"op": "logical_not", "header": "elements.h", "types": ((DType.BOOL, DType.BOOL),)}])
