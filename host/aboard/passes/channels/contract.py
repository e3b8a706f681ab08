"""The contract of a rule: what one op does to channels."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from aboard import ops
from aboard.ir import Array, DType, Graph, Node, Tensor

Bools = npt.NDArray[np.bool_]
Indices = npt.NDArray[np.intp]
Int64 = npt.NDArray[np.int64]

#: For each channel something that is equal where channels are equal, pixel by pixel, whatever the model's inputs are.
Marks = tuple[Hashable, ...]

_INT8_MIN, _INT8_MAX = -128, 127


@dataclass(frozen=True)
class Ranges:
    """The values that the elements of each channel can take, padding not counted.

    Attributes:
        low: Smallest, one for each channel.
        high: Largest.
    """

    low: Int64
    high: Int64

    @classmethod
    def full(cls, channels: int) -> Ranges:
        """Returns what is known of channels of which nothing is known."""
        return cls(np.full(channels, _INT8_MIN, np.int64), np.full(channels, _INT8_MAX, np.int64))

    @classmethod
    def of(cls, values: Array) -> Ranges:
        """Returns the ranges of values that are known."""
        columns = values.astype(np.int64).reshape(-1, values.shape[-1] if values.shape else 1)
        return cls(columns.min(0), columns.max(0))

    @property
    def constant(self) -> Bools:
        """Which channels have one value."""
        return np.asarray(self.low == self.high)

    def take(self, channels: Indices) -> Ranges:
        """Returns the ranges of some channels."""
        return Ranges(self.low[channels], self.high[channels])

    def fold(self, count: int) -> Ranges:
        """Returns for i < count what channels i, i + count, i + 2 * count and so on have together."""
        return Ranges(self.low.reshape(-1, count).min(0), self.high.reshape(-1, count).max(0))


@dataclass(frozen=True)
class Fact:
    """What is known of a tensor.

    Attributes:
        ranges: Of its channels.
        marks: Of its channels.
    """

    ranges: Ranges
    marks: Marks


class Keep:
    """Which channels of each tensor must stay; grows until every rule is content.

    Tensors it does not know (constants, other types than int8) keep all channels.
    """

    def __init__(self, tensors: Sequence[Tensor]) -> None:
        self._kept = {tensor: np.zeros(channels(tensor), np.bool_) for tensor in tensors}
        self.changed = False

    def __getitem__(self, tensor: Tensor) -> Bools:
        kept = self._kept.get(tensor)
        return np.ones(channels(tensor), np.bool_) if kept is None else kept

    @property
    def tensors(self) -> list[Tensor]:
        """The tensors it knows."""
        return list(self._kept)

    def add(self, tensor: Tensor, wanted: Bools) -> None:
        """Keeps more channels of a tensor."""
        kept = self._kept.get(tensor)
        if kept is not None and (wanted & ~kept).any():
            self._kept[tensor] = kept | wanted
            self.changed = True

    def add_all(self, tensor: Tensor) -> None:
        """Keeps all channels of a tensor."""
        self.add(tensor, np.ones(channels(tensor), np.bool_))

    def tie(self, *tensors: Tensor) -> None:
        """Keeps of tensors with equally many channels whatever is kept of one of them."""
        together = np.logical_or.reduce([self[tensor] for tensor in tensors])
        for tensor in tensors:
            self.add(tensor, together)


class Rule(ABC):
    """What one op does to channels. Holds no state; sees only nodes that it accepts."""

    def accepts(self, node: Node) -> bool:
        """False where a node is a wall after all."""
        del node
        return True

    @abstractmethod
    def ranges(self, node: Node, operands: Sequence[Ranges]) -> list[Ranges]:
        """Returns ranges of the results, sound whatever operands do within theirs.

        Args:
            node: The node.
            operands: Of each operand but weights and biases.
        """

    @abstractmethod
    def marks(self, node: Node, operands: Sequence[Fact]) -> list[Marks]:
        """Returns marks of the results; the caller adds what tells nodes and their results apart."""

    @abstractmethod
    def spread(self, node: Node, keep: Keep) -> None:
        """Keeps the channels of operands and results that those kept already need."""

    def shrink(self, graph: Graph, node: Node, keep: Mapping[Tensor, Bools]) -> None:
        """Changes attributes and constants of a node to fit the channels that are kept.

        Args:
            graph: The graph; the computed tensors still have all their channels.
            node: The node.
            keep: Kept channels of each tensor that loses some.
        """
        del graph, node, keep


def channels(tensor: Tensor) -> int:
    """Returns how many channels a tensor has."""
    return tensor.shape[-1] if tensor.shape else 1


def is_followed(tensor: Tensor) -> bool:
    """True for tensors whose channels are looked at: int8 with one scale."""
    quant = tensor.type.quant
    return tensor.dtype is DType.INT8 and quant is not None and not quant.per_channel


def columns(values: Array) -> Marks:
    """Returns marks of the channels of a constant."""
    flat = values.reshape(-1, values.shape[-1] if values.shape else 1)
    return tuple(flat[:, channel].tobytes() for channel in range(flat.shape[1]))


def evaluate(node: Node, operands: Sequence[Array]) -> Array:
    """Returns the result of an op for operands of any shape that it takes."""
    return ops.get(node.op).evaluate(node, operands)[0]
