"""Ways in which a layer can be wrong, and what each of them would give: the way that gives B's numbers is the cause."""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from aboard.check.compare import definitions
from aboard.check.compare.orders import orders, reordered
from aboard.check.compare.real_graph import Part, RealNode, weighted
from aboard.check.compare.real_numbers import Reals
from aboard.check.compare.segments import Segments, weight_steps, weights_of, with_weights
from aboard.check.compare.types import Cause, Explanation
from aboard.ir import Attributes, Node
from aboard.ops import registry
from aboard.ops.activation import Activation
from aboard.ops.pad import PadAttributes
from aboard.ops.reshape import ReshapeAttributes
from aboard.ops.window import Padding

#: Operators that are nothing but an activation.
ACTIVATIONS = {"relu": Activation.RELU, "relu6": Activation.RELU6, "relu_n1_to_1": Activation.RELU_N1_TO_1}

#: Orders in which formats store the axes of weights of convolutions: as aboard does, and as ONNX does.
_LAYOUTS = {4: ((0, 1, 2, 3), (0, 3, 1, 2))}


@dataclass(frozen=True)
class Hypothesis:
    """A way in which a layer can be wrong.

    Attributes:
        explanation: The cause that it stands for.
        changed: Other operators, by the name of the one that each takes the place of.
        then: An activation behind the layer; NONE for no further one.
    """

    explanation: Explanation
    changed: Mapping[str, Node]
    then: Activation = Activation.NONE

    def value(self, segments: Segments, part: Part, sample: int) -> Reals:
        """Returns what the layer would give."""
        return limited(segments.computed(part, sample, self.changed), self.then)


def limited(value: Reals, activation: Activation) -> Reals:
    """Returns a value behind an activation."""
    low, high = activation.limits
    return np.clip(value, -np.inf if low is None else low, np.inf if high is None else high)


def all_of(part: Part) -> Iterator[Hypothesis]:
    """Yields the ways in which a part of A can be wrong, the simplest first."""
    yield from _activations(part)
    yield from itertools.chain.from_iterable(_paddings(node) for node in part.nodes if node.real is not None)
    yield from itertools.chain.from_iterable(_transpositions(node) for node in part.nodes if weighted(node))


def _activations(part: Part) -> Iterator[Hypothesis]:
    for node in part.nodes:
        real = node.real
        if real is None:
            continue
        own = getattr(real.attrs, "activation", None)
        for other in Activation:
            if isinstance(own, Activation) and other is not own:
                changed = replace(real, attrs=_with(real.attrs, activation=other))
                text = f"B has activation {other.name}, A {own.name}"
                yield Hypothesis(Explanation(Cause.ACTIVATION, text, real.name), {real.name: changed})
        if _bends(real):
            yield from _other_activations(real)
    for other in (Activation.RELU, Activation.RELU6, Activation.RELU_N1_TO_1):
        text = f"B has a further activation {other.name}"
        yield Hypothesis(Explanation(Cause.ACTIVATION, text), {}, other)


def _other_activations(real: Node) -> Iterator[Hypothesis]:
    """Yields what other activations in the place of an operator, and none, would give."""
    for name in (*ACTIVATIONS, None):
        if name == real.op:
            continue
        changed = nothing(real) if name is None else replace(real, op=name, attrs=Attributes())
        text = f"A has {real.op}, B {name or 'no activation'}"
        yield Hypothesis(Explanation(Cause.ACTIVATION, text, real.name), {real.name: changed})


def _bends(real: Node) -> bool:
    """True for an operator that is an activation, without operands of its own."""
    return real.op in definitions.ACTIVATIONS and len(real.operands) == 1


def nothing(real: Node) -> Node:
    """Returns an operator that gives its first operand, in place of one of the same shape."""
    return replace(real, op="reshape", inputs=real.inputs[:1], attrs=ReshapeAttributes(real.output.shape))


def linear(part: Part) -> dict[str, Node]:
    """Returns the operators of a part without their activations, by name."""
    found = dict[str, Node]()
    for node in part.nodes:
        if node.real is None:
            continue
        own = getattr(node.real.attrs, "activation", None)
        if _bends(node.real):
            found[node.real.name] = nothing(node.real)
        elif own is not None:
            found[node.real.name] = replace(node.real, attrs=_with(node.real.attrs, activation=Activation.NONE))
    return found


def _with(attrs: Attributes, **changes: Any) -> Attributes:
    return replace(attrs, **changes)


def _paddings(node: RealNode) -> Iterator[Hypothesis]:
    """Yields the same window at other places of the padded image, and other paddings of an operator that pads."""
    real = node.real
    if real is None:
        return
    if isinstance(real.attrs, PadAttributes):
        pairs = [[(before, total - before) for before in range(total + 1)] for total in map(sum, real.attrs.padding)]
        others = (tuple(each) for each in itertools.product(*pairs))
        yield from _padded(real, (way for way in others if way != real.attrs.padding))
        return
    padding = getattr(real.attrs, "padding", None)
    if not isinstance(padding, Padding):
        return
    strides: tuple[int, int] = getattr(real.attrs, "strides", (1, 1))
    heights = _sums(padding.top, padding.bottom, strides[0])
    widths = _sums(padding.left, padding.right, strides[1])
    ways = (Padding(top, left, bottom, right) for (top, bottom), (left, right) in itertools.product(heights, widths))
    yield from _padded(real, (way for way in ways if way != padding))


def _padded(real: Node, ways: Iterator[object]) -> Iterator[Hypothesis]:
    op = registry.get(real.op)
    for way in ways:
        changed = replace(real, attrs=_with(real.attrs, padding=way))
        if op.infer(changed)[0].shape == real.output.shape:
            sides = getattr(way, "sides", way)
            text = f"B pads by {sides} (above, below, left, right)"
            yield Hypothesis(Explanation(Cause.PADDING, text, real.name), {real.name: changed})


def _sums(before: int, after: int, stride: int) -> list[tuple[int, int]]:
    """Returns paddings of one axis that may give as many windows."""
    totals = range(max(0, before + after - stride + 1), before + after + stride)
    return [(first, total - first) for total in totals for first in range(total + 1)]


def _transpositions(node: RealNode) -> Iterator[Hypothesis]:
    """Yields the weights as if their axes were in another order: as real numbers, or as integers of their channels."""
    if node.real is None:
        return
    weights, steps = weights_of(node.real), np.maximum(weight_steps(node.real), 1e-30)
    seen: list[Reals] = [weights]
    for unit, layout in itertools.product((np.ones(1), steps), _LAYOUTS.get(weights.ndim, (range(weights.ndim),))):
        stored = (weights / unit).transpose(layout)
        for order in orders(stored.shape):
            for moved in reordered(stored, order):
                found = moved.transpose(np.argsort(layout)) * unit
                if any(np.allclose(found, each, 1e-6, 0) for each in seen):
                    continue
                seen.append(found)
                text = f"B has the axes of the weights in the order {list(order)}"
                changed = {node.node.name: with_weights(node.real, found)}
                yield Hypothesis(Explanation(Cause.TRANSPOSITION, text, node.node.name), changed)


def activation_of(node: RealNode) -> Activation:
    """Returns the activation that an operator applies or is; NONE without one."""
    own = ACTIVATIONS.get(node.op) or getattr(node.node.attrs, "activation", None)
    return own if isinstance(own, Activation) else Activation.NONE
