"""Depthwise layers in strips: four channels of some rows are copied, then the results of these rows are computed."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Sequence
from typing import ClassVar

from typing_extensions import override

from aboard.ir import Node
from aboard.kernels import weights as packing
from aboard.kernels.contract import Implementation, UnsupportedNodeError
from aboard.kernels.overlap import Reads, distance
from aboard.kernels.view import View
from aboard.kernels.windowed import sliding_window
from aboard.ops import depthwise_conv2d as op
from aboard.ops.weighted import INPUT, Precision
from aboard.target import Knob, Target


class InStrips(Implementation):
    """int8, strip by strip.

    Attributes:
        strips: Heights of strips that `aboard tune` tries beside a kernel's own and the whole image.
    """

    op = "depthwise_conv2d"
    exact = True
    strided = True
    strips: ClassVar[tuple[int, ...]]

    @abstractmethod
    def own_strip(self, node: Node) -> int:
        """Returns the rows of a strip, unless tuned."""

    @abstractmethod
    def work(self, node: Node, strip: int) -> int:
        """Returns the work of the loops of a layer, if strips have so many rows (`KernelCall.loops`)."""

    @abstractmethod
    def wrong_geometry(self, node: Node) -> str | None:
        """Returns why the kernel cannot compute windows, or None."""

    @abstractmethod
    def check(self, node: Node) -> None:
        """Raises `UnsupportedNodeError` for weights or scales that the kernel cannot compute with."""

    @override
    def refuses(self, node: Node, target: Target) -> str | None:
        reason = packing.refusal(node, Precision.INT8, op.AXIS) or self.wrong_geometry(node)
        if reason is not None:
            return reason
        try:
            self.check(node)
        except UnsupportedNodeError as error:
            return str(error)
        return None

    @override
    def knobs(self, node: Node, target: Target) -> tuple[Knob, ...]:
        height, own = node.output.shape[1], self.own_strip(node)
        strips = [own, *(rows for rows in (*self.strips, height) if rows <= height and rows != own)]
        return (Knob("strip", tuple(dict.fromkeys(strips)), "Rows of the result whose pixels are copied together."),)

    def rows(self, node: Node) -> int:
        """Returns the rows of a strip."""
        return self.knob("strip", self.own_strip(node))

    @override
    def growth(self, node: Node, rows: int) -> float:
        """Counts the rows that two neighbouring strips both copy, and what else strips of fewer rows cost."""
        own = self.rows(node)
        return self.work(node, min(rows, own)) / self.work(node, own)

    @override
    def runs_in_place(self, node: Node) -> tuple[tuple[int, int], ...]:
        """Allowed if a strip is a whole image: four channels are copied before their results are written."""
        same = node.input(INPUT).shape == node.output.shape
        return ((0, 0),) if same and self.rows(node) >= node.output.shape[1] else ()

    @override
    def overlap(self, node: Node, inputs: Sequence[View | None], outputs: Sequence[View]) -> int | None:
        """Four channels of a strip are copied, then written.

        The last channels of a strip's first row are read after the first channels of its last row are written.
        """
        x, y = packing.view(inputs), outputs[0]
        below = distance(sliding_window(node), x, y, Reads.ROW)
        return None if below is None else below + (self.rows(node) - 1) * y.row_stride
