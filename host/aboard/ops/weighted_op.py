"""Ops whose second operand is constant weights, and whose third is a bias or left out."""

from __future__ import annotations

from abc import abstractmethod
from typing import ClassVar

from typing_extensions import override

from aboard.ir import Attributes, Node
from aboard.ops import weighted
from aboard.ops.registry import Op, SourceNode, require


class WeightedOp(Op):
    """An op with constant weights."""

    weights_axis: ClassVar[int]

    @abstractmethod
    def problem(self, node: Node) -> str | None:
        """Returns what is wrong with operands or attributes as text, or None."""

    def imported(self, source: SourceNode, attrs: Attributes) -> Node:
        """Returns the node of an operator of a TFLite file.

        Raises:
            ModelError: The operator has a problem.
        """
        node = source.node(self.name, source.inputs, attrs)
        wrong = self.problem(node)
        if wrong is not None:
            raise source.unsupported(
                f"{wrong}. Convert the model to int8, to int16 with int8 weights, or to float32 throughout"
            )
        return node

    @override
    def element_types(self) -> tuple[str, ...]:
        return weighted.element_types()

    @override
    def verify(self, node: Node) -> None:
        require(len(node.inputs) in (2, 3), node, f"operands, got {len(node.inputs)}, expected 2 or 3")
        wrong = self.problem(node)
        require(wrong is None, node, wrong or "")

    @override
    def is_exact(self, node: Node) -> bool:
        return weighted.is_exact(node, self.weights_axis)
