"""Base of the ops of an audio front end: the custom operators of TensorFlow Lite Micro's signal library.

Results are defined bit for bit by that library (`signal/src`, `signal/micro/kernels`). Where it leaves elements of a
result as they were in memory, here they have a value.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from typing_extensions import override

from aboard.ir import Attributes, DType, Node, State, Tensor, TensorType
from aboard.ops.registry import Op, SourceNode, require

_AGAIN = "Export the model again"


@dataclass(frozen=True)
class Signature:
    """Element types that an op takes together.

    Attributes:
        operands: Of the operands that the model file names.
        results: Of the results that the model file names.
    """

    operands: tuple[DType, ...]
    results: tuple[DType, ...]

    def __str__(self) -> str:
        return f"{_names(self.operands)} to {_names(self.results)}"


@dataclass(frozen=True)
class Kept:
    """What a node keeps from run to run.

    Attributes:
        name: Of the state, behind the name of the node.
        shape: Its shape.
        dtype: Its element type.
        initial: Value of all elements after a reset.
        result: Which result is the next value too; None for a result of its own behind all others.
    """

    name: str
    shape: tuple[int, ...]
    dtype: DType
    initial: int = 0
    result: int | None = None


class SignalOp(Op):
    """An op of the signal library. States are operands and results behind those of the model file.

    Attributes:
        signatures: Element types it is defined for.
        ranks: For each operand of the file its rank; None for any from 1 on.
    """

    signatures: ClassVar[tuple[Signature, ...]]
    ranks: ClassVar[tuple[int | None, ...]] = (1,)

    @override
    def element_types(self) -> tuple[str, ...]:
        return tuple(map(str, self.signatures))

    @abstractmethod
    def read(self, source: SourceNode) -> Attributes:
        """Returns the attributes that the operator's options stand for.

        Raises:
            ModelError: An option is missing or out of range.
        """

    @abstractmethod
    def shapes(self, node: Node) -> list[tuple[int, ...]]:
        """Returns the shapes of the results of the model file; called where `problem` finds nothing."""

    def kept(self, node: Node) -> list[Kept]:
        """Returns what a node keeps from run to run; called where `problem` finds nothing."""
        del node
        return []

    def problem(self, node: Node) -> str | None:
        """Returns what is wrong with shapes and attributes of a node with the right types and ranks, or None."""
        del node
        return None

    @override
    def from_tflite(self, source: SourceNode) -> Node:
        node = source.node(self.name, source.inputs, self.read(source))
        wrong = self._operands_problem(node) or self.problem(node)
        if wrong is not None:
            raise source.unsupported(f"{wrong}. {_AGAIN}")
        for kept in self.kept(node):
            kind = TensorType(kept.shape, kept.dtype)
            node.inputs.append(Tensor(f"{node.name}/{kept.name}", kind))
            if kept.result is None:
                node.outputs.append(Tensor(f"{node.name}/next_{kept.name}", kind))
        return node

    @override
    def own_states(self, node: Node) -> list[State]:
        found, behind = [], len(self.signatures[0].results)
        for index, kept in enumerate(self.kept(node), len(self.signatures[0].operands)):
            read = node.input(index)
            write = node.outputs[behind if kept.result is None else kept.result]
            behind += kept.result is None
            found.append(State(read.name, read, write, np.full(kept.shape, kept.initial, kept.dtype.numpy)))
        return found

    @override
    def infer(self, node: Node) -> list[TensorType]:
        types = self._signature(node).results
        found = [
            TensorType(shape, dtype, result.type.quant)
            for shape, dtype, result in zip(self.shapes(node), types, node.outputs, strict=False)
        ]
        return found + [TensorType(kept.shape, kept.dtype) for kept in self.kept(node) if kept.result is None]

    @override
    def verify(self, node: Node) -> None:
        """Checks types, ranks, and what `problem` finds.

        Raises:
            VerifyError: One of them is wrong, or a state is missing.
        """
        wrong = self._operands_problem(node) or self.problem(node)
        require(wrong is None, node, wrong or "")
        states = len(node.inputs) - len(self.signatures[0].operands)
        wanted = len(self.kept(node))
        require(states == wanted, node, f"operands of states, got {states}, expected {wanted}")

    def _signature(self, node: Node) -> Signature:
        """Returns the element types of a node; those of the first signature for types that no signature has."""
        got = tuple(tensor.dtype for tensor in node.operands[: len(self.signatures[0].operands)])
        return next((each for each in self.signatures if each.operands == got), self.signatures[0])

    def _operands_problem(self, node: Node) -> str | None:
        operands, results = len(self.signatures[0].operands), len(self.signatures[0].results)
        if len(node.operands) < operands or len(node.operands) != len(node.inputs) or len(node.outputs) < results:
            got = f"{len(node.operands)} and {len(node.outputs)}"
            return f"operands and results, got {got}, expected {operands} and {results}"
        stated = Signature(
            tuple(tensor.dtype for tensor in node.operands[:operands]),
            tuple(tensor.dtype for tensor in node.outputs[:results]),
        )
        if stated not in self.signatures:
            return f"element types, got {stated}, expected {' or '.join(map(str, self.signatures))}"
        for index, (tensor, rank) in enumerate(zip(node.operands, self.ranks, strict=False)):
            if len(tensor.shape) != rank and (rank is not None or not tensor.shape):
                expected = f"{rank} dimensions" if rank is not None else "1 dimension at least"
                return f"shape of operand {index}, got {list(tensor.shape)}, expected {expected}"
        return None


def integer(source: SourceNode, name: str, low: int, high: int) -> int:
    """Returns an option of an operator.

    Args:
        source: The operator.
        name: Name of the option.
        low: Smallest value.
        high: Largest value.

    Raises:
        ModelError: The option is missing, no integer, or out of range.
    """
    value = source.options.get(name)
    if not isinstance(value, int) or not low <= value <= high:
        got = "none" if value is None else value
        raise source.unsupported(f"option {name}, got {got}, expected an integer from {low} to {high}. {_AGAIN}")
    return value


def _names(types: Sequence[DType]) -> str:
    return ", ".join(dtype.value for dtype in types)
