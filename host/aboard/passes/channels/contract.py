"""The contract of a rule: how one op treats channels."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
import numpy.typing as npt

from aboard import ops
from aboard.ir import Array, DType, Graph, Node, Tensor

Bools = npt.NDArray[np.bool_]
Indices = npt.NDArray[np.intp]
Int64 = npt.NDArray[np.int64]

#: For each channel a key. Two channels with equal keys have equal values in every pixel, for any model input.
ValueNumbers = tuple[Hashable, ...]

_INT8_MIN, _INT8_MAX = -128, 127


@dataclass(frozen=True)
class ValueRanges:
    """The values that the elements of each channel can have, without padding.

    Attributes:
        low: Smallest value of each channel.
        high: Largest value of each channel.
    """

    low: Int64
    high: Int64

    @classmethod
    def full(cls, channels: int) -> ValueRanges:
        """Returns the ranges of channels that may hold any int8 value."""
        return cls(np.full(channels, _INT8_MIN, np.int64), np.full(channels, _INT8_MAX, np.int64))

    @classmethod
    def of(cls, values: Array) -> ValueRanges:
        """Returns the ranges of a constant."""
        columns = values.astype(np.int64).reshape(-1, values.shape[-1] if values.shape else 1)
        return cls(columns.min(0), columns.max(0))

    @property
    def ends(self) -> tuple[Int64, Int64]:
        """The smallest and the largest values."""
        return self.low, self.high

    @property
    def constant(self) -> Bools:
        """Mask of the channels with one value."""
        return np.asarray(self.low == self.high)

    def take(self, channels: Indices) -> ValueRanges:
        """Returns the ranges of some channels."""
        return ValueRanges(self.low[channels], self.high[channels])

    def fold(self, count: int) -> ValueRanges:
        """Returns for each i < count the range that covers channels i, i + count, i + 2 * count and so on."""
        return ValueRanges(self.low.reshape(-1, count).min(0), self.high.reshape(-1, count).max(0))


@dataclass(frozen=True)
class ChannelValues:
    """The possible values of a tensor, channel by channel.

    Attributes:
        ranges: The value range of each channel.
        numbers: The value number of each channel.
        known_classes: `classes`, if the caller knows them.
    """

    ranges: ValueRanges
    numbers: ValueNumbers
    known_classes: Indices | None = None

    @cached_property
    def classes(self) -> Indices:
        """For each channel a number that equal channels share, starting at 0 in each tensor."""
        return numbered(self.numbers) if self.known_classes is None else self.known_classes


class ChannelLiveness:
    """The live channels of each tensor: the channels on which some output depends. The sets only grow.

    All channels of other tensors (constants, types other than int8) are live.
    """

    def __init__(self, tensors: Sequence[Tensor]) -> None:
        self._live = {tensor: np.zeros(channels(tensor), np.bool_) for tensor in tensors}
        self._changed: set[Tensor] = set()

    def __getitem__(self, tensor: Tensor) -> Bools:
        live = self._live.get(tensor)
        return np.ones(channels(tensor), np.bool_) if live is None else live

    @property
    def tensors(self) -> list[Tensor]:
        """The tensors whose channels can be dead."""
        return list(self._live)

    def add(self, tensor: Tensor, wanted: Bools) -> None:
        """Makes more channels of a tensor live."""
        live = self._live.get(tensor)
        if live is not None and (wanted & ~live).any():
            self._live[tensor] = live | wanted
            self._changed.add(tensor)

    def changes(self) -> set[Tensor]:
        """Returns the tensors that have got live channels since the last call."""
        found, self._changed = self._changed, set()
        return found

    def add_all(self, tensor: Tensor) -> None:
        """Makes all channels of a tensor live."""
        self.add(tensor, np.ones(channels(tensor), np.bool_))

    def tie(self, *tensors: Tensor) -> None:
        """Makes a channel that is live in one tensor live in all; the tensors have equally many channels."""
        together = np.logical_or.reduce([self[tensor] for tensor in tensors])
        for tensor in tensors:
            self.add(tensor, together)


class Rule(ABC):
    """The treatment of channels by one op. A rule holds no state, and is only used for nodes that it accepts."""

    def accepts(self, node: Node) -> bool:  # noqa: ARG002 - for overrides
        """False for a node that is a barrier although its op has a rule."""
        return True

    @abstractmethod
    def ranges(self, node: Node, operands: Sequence[ValueRanges]) -> list[ValueRanges]:
        """Returns ranges of the results that hold for all values of the operands within their ranges.

        Args:
            node: The node.
            operands: The ranges of each operand except weights and biases.
        """

    @abstractmethod
    def value_numbers(self, node: Node, operands: Sequence[ChannelValues]) -> list[ValueNumbers]:
        """Returns keys of the channels of each result; the caller adds the node and the index of the result."""

    @abstractmethod
    def propagate(self, node: Node, live: ChannelLiveness) -> None:
        """Makes the channels of operands and results live on which the live channels depend."""

    def shrink(  # noqa: B027 - most ops have nothing to fit
        self, graph: Graph, node: Node, live: Mapping[Tensor, Bools]
    ) -> None:
        """Fits attributes and constants of a node to the channels that stay.

        Args:
            graph: The graph; the computed tensors still have all their channels.
            node: The node.
            live: The remaining channels of each tensor that loses some.
        """


def channels(tensor: Tensor) -> int:
    """Returns the number of channels of a tensor."""
    return tensor.shape[-1] if tensor.shape else 1


def is_followed(tensor: Tensor) -> bool:
    """True for tensors that the analyses follow: int8 with one scale."""
    quant = tensor.type.quant
    return tensor.dtype is DType.INT8 and quant is not None and not quant.per_channel


def columns(values: Array) -> ValueNumbers:
    """Returns the value numbers of the channels of a constant."""
    flat = values.reshape(-1, values.shape[-1] if values.shape else 1)
    return tuple(flat[:, channel].tobytes() for channel in range(flat.shape[1]))


def numbered(keys: ValueNumbers) -> Indices:
    """Returns for each channel a number that equal channels share, starting at 0."""
    numbers: dict[object, int] = {}
    return np.array([numbers.setdefault(key, len(numbers)) for key in keys], np.intp)


def evaluate(node: Node, operands: Sequence[Array]) -> Array:
    """Returns the result of an op for operands of any shape that it takes."""
    return ops.get(node.op).evaluate(node, operands)[0]
