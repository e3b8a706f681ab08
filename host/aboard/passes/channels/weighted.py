"""Rules of int8 conv2d, depthwise_conv2d and fully_connected, and the exact rewriting of their weights.

Pixels whose windows have the same taps in the padding form a class. The rules compute a range of sums for each class.
"""

from __future__ import annotations

import itertools
from abc import abstractmethod
from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from typing_extensions import override

from aboard.ir import Array, Graph, Node, Tensor
from aboard.ir.fingerprint import Memo, fingerprint
from aboard.ir.numerics import INT32_MAX, INT32_MIN
from aboard.ops import conv2d, depthwise_conv2d, fully_connected, weighted
from aboard.ops.activation import Activation
from aboard.ops.depthwise_conv2d import depth_multiplier
from aboard.ops.weighted import BIAS, INPUT, WEIGHTS, Precision
from aboard.passes.channels.constants import replace_constant
from aboard.passes.channels.contract import (
    Bools,
    ChannelLiveness,
    ChannelValues,
    Int64,
    Rule,
    ValueNumbers,
    ValueRanges,
    channels,
)

#: Weights stay symmetric, as in quantisers.
_LARGEST_WEIGHT = 127


#: What the rules of this file found for equal nodes with equal operands. Passes analyse a graph several times, and
#: `-partition=cost` compiles a model again and again.
_FOUND: Memo[list[ValueRanges]] = Memo(4096)
_SIMPLER: Memo[Constants | None] = Memo(4096)
#: For each output and input of a window, True if a weight is not 0.
_NONZERO: Memo[Bools] = Memo(1024)


@dataclass(frozen=True)
class Constants:
    """Weights and bias of a node.

    Attributes:
        weights: Weights as [outputs, taps of the window, input channels of the window].
        bias: One for each output; zeros if absent.
    """

    weights: Int64
    bias: Int64

    def __eq__(self, other: object) -> bool:
        same = isinstance(other, Constants)
        return same and all(np.array_equal(getattr(self, n), getattr(other, n)) for n in ("weights", "bias"))


class Weighted(Rule):
    """The common part of the rules of the three ops.

    Attributes:
        axis: The axis of the weights whose index is the output channel.
    """

    axis: int

    @override
    def accepts(self, node: Node) -> bool:
        """True for int8 with constant weights and bias."""
        operands = [node.optional_input(WEIGHTS), node.optional_input(BIAS)]
        return weighted.form(node) is Precision.INT8 and all(t is None or t.is_constant for t in operands)

    @abstractmethod
    def activation(self, node: Node) -> Activation:
        """Returns the fused activation of the node."""

    @abstractmethod
    def constants(self, node: Node) -> Constants:
        """Returns weights and bias, the weights as [outputs, taps, input channels] (`Constants`)."""

    @abstractmethod
    def stored(self, node: Node, weights: Int64) -> Array:
        """Returns weights in the shape of the node's operand, with the given numbers of outputs and inputs."""

    @abstractmethod
    def inputs(self, node: Node) -> Array:
        """Returns the input channel that each weight multiplies: [outputs or 1, input channels of the window]."""

    def pixel_classes(self, node: Node) -> list[Bools]:
        """Returns, for each class of pixels, a mask of the taps inside the image."""
        return [np.ones(self.constants(node).weights.shape[1], np.bool_)]

    @override
    def ranges(self, node: Node, operands: Sequence[ValueRanges]) -> list[ValueRanges]:
        def found() -> list[ValueRanges]:
            return [self._results(node, *self._sums(node, operands[INPUT]))]

        return _FOUND.get(_key(node, *operands), found)

    @override
    def value_numbers(self, node: Node, operands: Sequence[ChannelValues]) -> list[ValueNumbers]:
        own = self.constants(node)
        epilogue = np.stack([own.bias, *weighted.multipliers(node, self.axis)], 1)
        numbers = operands[INPUT].classes[self.inputs(node)]
        if len(numbers) == 1:
            order = np.argsort(numbers[0], kind="stable")
            starts = np.flatnonzero(np.diff(numbers[0][order], prepend=-1))
            numbers, terms = numbers[:, :0], np.add.reduceat(own.weights[:, :, order], starts, axis=2)
        else:
            terms = own.weights
        numbers = np.broadcast_to(numbers, (len(terms), numbers.shape[1]))
        rows = zip(numbers, terms, epilogue, strict=True)
        keys = tuple(tuple(part.tobytes() for part in row) for row in rows)
        return [keys]

    @override
    def shrink(self, graph: Graph, node: Node, live: Mapping[Tensor, Bools]) -> None:
        own = self.constants(node)
        outputs = live.get(node.output, np.ones(len(own.weights), np.bool_))
        taken = own.weights[outputs][:, :, self.columns(node, live)]
        scaled = None if outputs.all() else np.flatnonzero(outputs)
        replace_constant(graph, node, WEIGHTS, self.stored(node, taken), scaled)
        if node.optional_input(BIAS) is not None:
            replace_constant(graph, node, BIAS, own.bias[outputs], scaled)

    def columns(self, node: Node, live: Mapping[Tensor, Bools]) -> Bools:
        """Returns a mask of the window's input channels that remain."""
        kept = live.get(node.input(INPUT))
        inputs = self.inputs(node)[0]
        return np.ones(len(inputs), np.bool_) if kept is None else kept[inputs]

    def read(self, node: Node, outputs: Bools) -> Bools:
        """Returns the input channels that at least one of the given outputs reads with a weight other than 0."""
        nonzero = _NONZERO.get(fingerprint(node), lambda: (self.constants(node).weights != 0).any(1))
        return np.asarray(nonzero[outputs].any(0))

    def simplified(self, node: Node, operand: ChannelValues, result: ChannelValues) -> Constants | None:
        """Returns weights and bias that give the same results and read fewer inputs; None if there are none.

        Args:
            node: The node.
            operand: The values of its input.
            result: The values of its result.
        """
        key = _key(node, operand.ranges, operand.classes, result.ranges)
        return _SIMPLER.get(key, lambda: self._simplified(node, operand, result))

    def _simplified(self, node: Node, operand: ChannelValues, result: ChannelValues) -> Constants | None:
        own = self.constants(node)
        new = Constants(own.weights.copy(), own.bias.copy())
        self._drop_constant_results(node, operand, result, new)
        self._fold_constant_inputs(node, operand, new)
        if len(self.inputs(node)) == 1:
            _merge_equal_inputs(new.weights, operand.numbers)
        fits = new.bias.min() >= INT32_MIN and new.bias.max() <= INT32_MAX
        return new if fits and new != own else None

    def _drop_constant_results(self, node: Node, operand: ChannelValues, result: ChannelValues, new: Constants) -> None:
        """Sets the weights of constant results to 0, and their bias to a sum with the constant as result."""
        constant = result.ranges.constant & new.weights.any((1, 2))
        low = self._sums(node, operand.ranges)[0][0]
        # Any sum that the channel can reach gives its constant, if sums cannot overflow.
        constant &= (low >= INT32_MIN) & (low <= INT32_MAX)
        new.weights[constant] = 0
        new.bias[constant] = low[constant]

    def _fold_constant_inputs(self, node: Node, operand: ChannelValues, new: Constants) -> None:
        """Moves the contribution of constant inputs into the bias, if it is the same in every pixel."""
        value = operand.ranges.low - node.input(INPUT).quant.zero_point
        classes = self.pixel_classes(node)
        foldable = operand.ranges.constant & ((value == 0) | (len(classes) == 1))
        at = self.inputs(node)
        moved = np.where(foldable[at][:, None], new.weights, 0)
        new.bias[:] += (moved[:, classes[0]] * value[at][:, None]).sum((1, 2))
        new.weights[:] -= moved

    def _sums(self, node: Node, operand: ValueRanges) -> tuple[Int64, Int64]:
        """Returns the smallest and the largest sums: [classes of pixels, outputs] each."""
        own, at = self.constants(node), self.inputs(node)
        zero_point = node.input(INPUT).quant.zero_point
        low, high = ((end - zero_point)[at][:, :, None] for end in (operand.low, operand.high))
        positive, negative = np.maximum(own.weights, 0), np.minimum(own.weights, 0)
        seen = np.array(self.pixel_classes(node), np.int64)
        smallest = (positive @ low + negative @ high)[:, :, 0]
        largest = (positive @ high + negative @ low)[:, :, 0]
        return own.bias + seen @ smallest.T, own.bias + seen @ largest.T

    def _results(self, node: Node, low: Int64, high: Int64) -> ValueRanges:
        """Returns the results of sums of all classes; requantisation is monotonic while no value overflows 32 bits."""
        _, shift = weighted.multipliers(node, self.axis)
        left = np.maximum(shift, 0)
        sound = (low >= INT32_MIN >> left) & (high <= INT32_MAX >> left)
        ends = weighted.finish(node, np.stack([low, high]).astype(np.float64), None, self.activation(node), self.axis)
        limits = self.activation(node).range(node.output.quant)
        lowest, highest = (
            np.where(sound, end, limit) for end, limit in zip(ends.astype(np.int64), limits, strict=True)
        )
        return ValueRanges(lowest.min(0), highest.max(0))


class Conv2d(Weighted):
    """A window over all channels."""

    axis = conv2d.AXIS

    @override
    def activation(self, node: Node) -> Activation:
        return conv2d.attributes(node).activation

    @override
    def constants(self, node: Node) -> Constants:
        weights = _values(node, WEIGHTS)
        return Constants(weights.reshape(len(weights), -1, weights.shape[3]), _bias(node, len(weights)))

    @override
    def stored(self, node: Node, weights: Int64) -> Array:
        return weights.reshape(len(weights), *conv2d.window(node), -1)

    @override
    def inputs(self, node: Node) -> Array:
        outputs, *_, width = node.input(WEIGHTS).shape
        groups = channels(node.input(INPUT)) // width
        return np.arange(groups * width).reshape(groups, width).repeat(outputs // groups if groups > 1 else 1, 0)

    @override
    def pixel_classes(self, node: Node) -> list[Bools]:
        return _pixel_classes(node)

    @override
    def propagate(self, node: Node, live: ChannelLiveness) -> None:
        """Grouped convolutions keep all channels."""
        if channels(node.input(INPUT)) != node.input(WEIGHTS).shape[3]:
            live.add_all(node.input(INPUT))
            live.add_all(node.output)
            return
        live.add(node.input(INPUT), self.read(node, live[node.output]))


class DepthwiseConv2d(Weighted):
    """A window over one channel, with as many outputs per channel as the depth multiplier."""

    axis = depthwise_conv2d.AXIS

    @override
    def activation(self, node: Node) -> Activation:
        return conv2d.attributes(node).activation

    @override
    def constants(self, node: Node) -> Constants:
        weights = _values(node, WEIGHTS)
        return Constants(weights.reshape(-1, weights.shape[3]).T[..., None], _bias(node, weights.shape[3]))

    @override
    def stored(self, node: Node, weights: Int64) -> Array:
        stored: Int64 = weights[..., 0].T.reshape(1, *conv2d.window(node), len(weights))
        return stored

    @override
    def inputs(self, node: Node) -> Array:
        return np.arange(channels(node.input(INPUT))).repeat(depth_multiplier(node))[:, None]

    @override
    def pixel_classes(self, node: Node) -> list[Bools]:
        return _pixel_classes(node)

    @override
    def propagate(self, node: Node, live: ChannelLiveness) -> None:
        """An input channel and its output channels are live or dead together."""
        multiplier = depth_multiplier(node)
        live.add(node.input(INPUT), np.logical_or.reduce(live[node.output].reshape(-1, multiplier), 1))
        live.add(node.output, live[node.input(INPUT)].repeat(multiplier))

    @override
    def columns(self, node: Node, live: Mapping[Tensor, Bools]) -> Bools:
        return np.ones(1, np.bool_)


class FullyConnected(Weighted):
    """A product with samples; a sample may contain several pixels or a part of one."""

    axis = fully_connected.AXIS

    @override
    def activation(self, node: Node) -> Activation:
        return fully_connected.attributes(node).activation

    @override
    def accepts(self, node: Node) -> bool:
        """True if samples consist of whole pixels."""
        return super().accepts(node) and node.input(WEIGHTS).shape[1] % channels(node.input(INPUT)) == 0

    @override
    def constants(self, node: Node) -> Constants:
        weights = _values(node, WEIGHTS)
        return Constants(weights.reshape(len(weights), -1, channels(node.input(INPUT))), _bias(node, len(weights)))

    @override
    def stored(self, node: Node, weights: Int64) -> Array:
        return weights.reshape(len(weights), -1)

    @override
    def inputs(self, node: Node) -> Array:
        return np.arange(channels(node.input(INPUT)))[None]

    @override
    def propagate(self, node: Node, live: ChannelLiveness) -> None:
        live.add(node.input(INPUT), self.read(node, live[node.output]))


def is_weighted(node: Node) -> bool:
    """True for the ops of this file."""
    return node.op in ("conv2d", "depthwise_conv2d", "fully_connected")


def _key(node: Node, *values: ValueRanges | Array) -> Hashable | None:
    """Returns what results for a node and values depend on; None if the node has no fingerprint."""
    node_key = fingerprint(node)
    if node_key is None:
        return None
    arrays = [end for v in values for end in (v.ends if isinstance(v, ValueRanges) else (v,))]
    return node_key, *(array.tobytes() for array in arrays)


def _values(node: Node, index: int) -> Int64:
    data = node.input(index).data
    if data is None:
        raise ValueError(f"{node.op} {node.name}: operand {index} has no values")
    return data.astype(np.int64)


def _bias(node: Node, outputs: int) -> Int64:
    return np.zeros(outputs, np.int64) if node.optional_input(BIAS) is None else _values(node, BIAS).reshape(-1)


def _pixel_classes(node: Node) -> list[Bools]:
    attrs = conv2d.attributes(node)
    before = (attrs.padding.top, attrs.padding.left)
    lines, pixels = (
        {
            tuple(0 <= out * attrs.strides[a] - before[a] + tap * attrs.dilations[a] < node.input(INPUT).shape[1 + a]
                  for tap in range(conv2d.window(node)[a]))
            for out in range(node.output.shape[1 + a])
        }
        for a in (0, 1)
    )  # fmt: skip
    return [np.outer(line, pixel).reshape(-1) for line, pixel in itertools.product(sorted(lines), sorted(pixels))]


def _merge_equal_inputs(weights: Int64, numbers: ValueNumbers) -> None:
    """Adds the weights of an input channel to the weights of an equal earlier channel, if the sums fit."""
    first: dict[object, int] = {}
    for channel, number in enumerate(numbers):
        if not weights[:, :, channel].any():
            continue
        into = first.setdefault(number, channel)
        total = weights[:, :, into] + weights[:, :, channel]
        if into != channel and np.abs(total).max() <= _LARGEST_WEIGHT:
            weights[:, :, into], weights[:, :, channel] = total, 0
