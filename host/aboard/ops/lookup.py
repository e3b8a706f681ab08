"""lookup: any function of one byte, as a table of its 256 results."""

from __future__ import annotations

from dataclasses import dataclass
from typing import cast

import numpy as np
from typing_extensions import override

from aboard.ir import Attributes, DType, Node
from aboard.ir.numerics import Int64
from aboard.ops.registry import register
from aboard.ops.unary import Unary


@dataclass(frozen=True)
class LookupAttributes(Attributes):
    """Attributes of `lookup`.

    Attributes:
        table: The result for each operand from -128 to 127.
    """

    table: tuple[int, ...]


@register
class Lookup(Unary):
    """result[i] = table[operand[i] + 128]."""

    name = "lookup"
    selects = True
    attributes = LookupAttributes
    types = (DType.INT8,)

    @override
    def problem(self, node: Node) -> str | None:
        table = attributes(node).table
        if len(table) != 256 or not all(-128 <= value <= 127 for value in table):
            return f"table, got {len(table)} numbers, expected 256 of int8. Give the result for each operand"
        return super().problem(node)

    @override
    def quantized(self, node: Node, x: Int64) -> Int64:
        """Looks the elements up."""
        return np.asarray(attributes(node).table, np.int64)[x + 128]


def attributes(node: Node) -> LookupAttributes:
    """Returns the attributes of a `lookup` node."""
    return cast(LookupAttributes, node.attrs)
