"""The work of a node: counts of the operations that a kernel's cost consists of."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import prod

from aboard import ops
from aboard.ir import Node
from aboard.ops import rows_of

#: Terms of a kernel's cost: calls, and the fields of `Work`.
TERMS = ("setup", "mac", "element", "read", "window", "spread", "line", "pixel", "rounded", "loops")


@dataclass(frozen=True)
class Work:
    """Counts of a node's work; a kernel's cost is the sum of the counts times their measured costs.

    Attributes:
        mac: Multiply-accumulates.
        element: Elements of the result of a node with multiply-accumulates, else the larger of the elements of operands
            and results.
        read: Elements of the operands.
        window: Elements of all receptive fields of a layer with multiply-accumulates, which may be copied into im2col
            columns.
        spread: Multiply-accumulates of windows of more than one pixel, whose elements are not contiguous.
        line: Rows of the result times its channels.
        pixel: Pixels of the result.
        rounded: Elements of the result that a slow requantisation epilogue computes (`KernelCall.slow_epilogue`).
        loops: Work of the loops by the kernel's own count (`KernelCall.loops`).
    """

    mac: int
    element: int
    read: int
    window: int
    spread: int
    line: int
    pixel: int
    rounded: int
    loops: int

    @classmethod
    def of(
        cls,
        macs: int,
        operands: Sequence[Sequence[int]],
        results: Sequence[Sequence[int]],
        *,
        slow_epilogue: bool = False,
        loops: int = 0,
    ) -> Work:
        """Returns the work of a node by its shapes.

        Args:
            macs: Its multiply-accumulates.
            operands: Shapes of its operands, without constants.
            results: Shapes of its results.
            slow_epilogue: True if the kernel uses the slower requantisation epilogue.
            loops: Work of its loops by its own count.
        """
        read, written = sum(prod(shape) for shape in operands), sum(prod(shape) for shape in results)
        channels = results[0][-1] if results[0] else 1
        element = written if macs else max(read, written)
        window = macs // max(channels, 1)
        spread, line = macs if window != read else 0, rows_of(results[0]) * channels
        rounded = written if slow_epilogue else 0
        return cls(macs, element, read, window, spread, line, prod(results[0]) // max(channels, 1), rounded, loops)

    @property
    def terms(self) -> dict[str, int]:
        """The fields by name."""
        return {term: getattr(self, term) for term in TERMS[1:]}


def work(node: Node, *, slow_epilogue: bool = False, loops: int = 0) -> Work:
    """Returns the work of a node; `slow_epilogue` and `loops` as in `Work.of`."""
    operands = [tensor.type.shape for tensor in node.operands if not tensor.is_constant]
    results = [tensor.type.shape for tensor in node.outputs]
    return Work.of(ops.get(node.op).macs(node), operands, results, slow_epilogue=slow_epilogue, loops=loops)
