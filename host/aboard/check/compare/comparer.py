"""Compares two sides, layer by layer, and names the first layer that is wrong.

Each layer of B is judged by A's layer on the same operands, so that what layers in front add does not count. What
rounding explains is the spread of results within a step of B's integers, and of weights within a step of theirs.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from aboard.check.compare import definitions
from aboard.check.compare.alignment import align
from aboard.check.compare.causes import explain
from aboard.check.compare.judgement import Judged, input_beside, judged_layer, without_nan
from aboard.check.compare.real_graph import RealNode, is_layer
from aboard.check.compare.real_numbers import Reals
from aboard.check.compare.recording import Recording
from aboard.check.compare.segments import Segments
from aboard.check.compare.types import (
    Cause,
    Comparison,
    Defect,
    Explanation,
    LayerDifference,
    OutputDifference,
    State,
)
from aboard.ops import registry

#: Share of the values' power that the range of integers may cut off in a layer, how many times more that must be than
#: in any other layer to be a defect, and the share in an input behind which it is none: the samples are unlike those
#: that the ranges come from.
_CUT, _MORE_CUT, _INPUT_CUT = 0.03, 9.0, 0.001
#: Largest difference of the two limits of symmetric integers, as a share of both.
_SYMMETRIC = 0.02
#: Least share of the limits of integers that results take when a quantiser chose the limits for them.
_LEAST_USE = 0.7

#: Ops that can hide that their operand is wrong.
_HIDING = ("softmax", "logistic", "log_softmax", "tanh", "arg_max", "arg_min", "hard_swish")


def compare(a: Recording, b: Recording) -> Comparison:
    """Returns how two sides differ that ran with the same samples."""
    return _Comparer(a.completed(), b.completed(only_moves=True)).found()


class _Comparer:
    def __init__(self, a: Recording, b: Recording) -> None:
        self._a, self._b = a, b
        self._alignment = align(a, b)
        self._differing = definitions.differing(a.network, b.network)

    def found(self) -> Comparison:
        judged, defect = self._judged()
        layers = tuple(self._layer(each) for each in judged)
        if defect is not None:
            layers = tuple(replace(each, state=State.DEFECT) if each.b == defect.layer.b else each for each in layers)
        pairs = self._alignment.pairs
        return Comparison(
            a=self._a.label,
            b=self._b.label,
            samples=len(self._a.samples),
            outputs=tuple(self._outputs()),
            layers=layers,
            defect=defect,
            unpaired_a=_unpaired(self._a, {pair.a for pair in pairs}),
            unpaired_b=_unpaired(self._b, {pair.b for pair in pairs}),
        )

    def _judged(self) -> tuple[list[Judged], Defect | None]:
        """Returns all layers, and the first that is wrong."""
        segments = Segments(self._a, self._b, self._alignment)
        while True:
            judged = [input_beside(segments, pair) for pair in segments.alignment.entries]
            judged += [
                each for each in (judged_layer(segments, pair) for pair in segments.alignment.pairs) if each is not None
            ]
            known = self._misshapen(judged) or self._by_definition(judged)
            wrong = next((each for each in judged if each.state is State.DEFECT), None)
            if known is not None or wrong is None:
                return judged, known or self._cut_off(judged)
            if not self._is_undone(segments, wrong):
                return judged, self._defect(wrong, self._explanation(segments, wrong))
            segments = segments.without(wrong.pair.a)

    def _misshapen(self, judged: Sequence[Judged]) -> Defect | None:
        """Returns the defect of the first operator whose result has another shape in B, if all in front are right."""
        if not self._alignment.misshapen:
            return None
        ours, theirs = self._alignment.misshapen[0]
        one, other = self._a.network.producers[ours], self._b.network.producers[theirs]
        order = {node.node.name: place for place, node in enumerate(self._a.network.nodes)}
        places = [
            max((order[node.node.name] for node in each.nodes), default=-1)
            for each in judged
            if each.state is State.DEFECT
        ]
        if min(places, default=len(order)) < order[one.node.name]:
            return None
        shapes = self._a.network.values[ours].shape, self._b.network.values[theirs].shape
        text = f"A's result has shape {list(shapes[0])}, B's {list(shapes[1])}"
        found = definitions.attributes(one.node.attrs, other.node.attrs) or Explanation(Cause.SHAPE, text)
        layer = LayerDifference(ours, theirs, one.op, _operator(one), _operator(other), State.DEFECT, None, None, None)
        return Defect(layer, replace(found, node=one.node.name), (), shapes[0][-1] if shapes[0] else 1)

    def _by_definition(self, judged: Sequence[Judged]) -> Defect | None:
        """Returns the defect of the first operator that B's file defines otherwise, if it changes results."""
        if not self._differing or all(each.state is State.EQUAL for each in judged):
            return None
        known = self._differing[0]
        node = self._a.network.producers.get(known.a)
        places = (
            place
            for place, each in enumerate(judged)
            if each.pair.a == known.a or any(part is node for part in each.nodes)
        )
        place = next(places, len(judged))
        if any(each.state is State.DEFECT for each in judged[:place]) or place == len(judged):
            return None
        return self._defect(judged[place], replace(known.explanation, node=None if node is None else node.node.name))

    def _explanation(self, segments: Segments, each: Judged) -> Explanation:
        """Returns the likely cause: how the files define the layer, or else what gives its numbers."""
        ours = [node for node in each.nodes if is_layer(node)]
        theirs = [node for node in self._part_of_b(each.pair.b) if is_layer(node)]
        if len(ours) == 1 == len(theirs) and ours[0].op == theirs[0].op:
            found = definitions.constants(self._a.network, self._b.network, ours[0], theirs[0])
            if found is not None and found.cause is not Cause.WEIGHTS:
                return replace(found, node=ours[0].node.name)
        return explain(each.observation(segments))

    def _input(self, each: Judged, difference: float) -> LayerDifference:
        tensors = self._b.network.values[each.pair.b].tensors
        graph = self._b.network.graph
        made = next((node for node in graph.nodes if node.output in tensors), None)
        return LayerDifference(
            a=each.pair.a,
            b=each.pair.b,
            op="input",
            operator=None,
            operator_b=made.sources[0] if made is not None and made.sources else None,
            state=each.state,
            own_db=decibels(each.expected, each.got),
            total_db=decibels(each.own, each.got),
            steps=difference / each.step if each.step else None,
        )

    def _same_of_b(self, each: Judged, ours: RealNode) -> RealNode | None:
        """Returns the operator of B that does what one of A does; None if B has none."""
        part = self._part_of_b(each.pair.b)
        main = _main(each.nodes)
        same = [node for node in part if node.op == ours.op] or (part if ours is main else [])
        return _main(same) if same else None

    def _part_of_b(self, key: str) -> Sequence[RealNode]:
        """Returns the operators of B that compute a value from aligned ones, in execution order."""
        pairs = (*self._alignment.entries, *self._alignment.pairs)
        part = self._b.network.part(key, {pair.b for pair in pairs})
        return (self._b.network.producers[key],) if part is None else part.nodes

    def _is_undone(self, segments: Segments, each: Judged) -> bool:
        """True if the layers behind one give what they should: both sides only divide the work otherwise.

        Quantisation moves factors from a layer to the next one, perhaps through several.
        """
        network = self._a.network
        readers = network.readers(each.pair.a)
        if not each.nodes or not readers or network.graph.is_output(network.values[each.pair.a].tensors[-1]):
            return False
        if any(node.op in _HIDING for node in readers):
            return False
        without = segments.without(each.pair.a)
        parts = ((pair, without.part(pair.a)) for pair in without.alignment.pairs)
        behind = [
            pair for pair, part in parts if part is not None and any(node is each.nodes[-1] for node in part.nodes)
        ]
        found = [judged_layer(without, pair) for pair in behind]
        return bool(found) and all(
            other is not None and (not other.wrong.any() or self._goes_on(segments, without, other)) for other in found
        )

    def _goes_on(self, segments: Segments, without: Segments, behind: Judged) -> bool:
        """True if a layer behind one that is divided otherwise is so too: it is wrong by itself, and undone behind."""
        alone = judged_layer(segments, behind.pair)
        return alone is not None and alone.state is State.DEFECT and self._is_undone(without, behind)

    def _cut_off(self, judged: Sequence[Judged]) -> Defect | None:
        """Returns the defect of a layer whose integers hold far less of its results than those of all others."""
        if any(each.cut > _INPUT_CUT for each in judged if not each.nodes):
            return None
        cuts = sorted(((each.cut, number) for number, each in enumerate(judged) if each.nodes), reverse=True)
        if not cuts or cuts[0][0] < _CUT or (len(cuts) > 1 and cuts[0][0] < _MORE_CUT * cuts[1][0]):
            return None
        each = judged[cuts[0][1]]
        low, high = each.limits
        least, most = float(each.expected.min()), float(each.expected.max())
        cause = Cause.ZERO_POINT if most - least <= 1.05 * (high - low) else Cause.SCALE
        if cause is Cause.SCALE and not _would_fit((low, high), (least, most)):
            return None
        text = f"B's integers hold numbers from {low:.4g} to {high:.4g}, the results are {least:.4g} to {most:.4g}"
        return self._defect(each, Explanation(cause, text))

    def _defect(self, each: Judged, explanation: Explanation) -> Defect:
        channels = tuple(int(channel) for channel in np.flatnonzero(each.wrong))
        layer = replace(self._layer(each, explanation.node), state=State.DEFECT)
        return Defect(layer, explanation, channels, len(each.spread))

    def _layer(self, each: Judged, blamed: str | None = None) -> LayerDifference:
        difference = float(np.abs(each.got - each.expected).max(initial=0.0))
        if not each.nodes:
            return self._input(each, difference)
        ours = _main([node for node in each.nodes if blamed in (None, node.node.name)] or each.nodes)
        theirs = self._same_of_b(each, ours)
        return LayerDifference(
            a=each.pair.a if ours.op == _main(each.nodes).op else ours.outputs[0],
            b=each.pair.b,
            op=ours.op,
            operator=_operator(ours),
            operator_b=None if theirs is None else _operator(theirs),
            state=each.state,
            own_db=decibels(each.expected, each.got),
            total_db=decibels(each.own, each.got),
            steps=difference / each.step if each.step else None,
        )

    def _outputs(self) -> list[OutputDifference]:
        found = []
        networks = self._a.network, self._b.network
        for one, other in zip(networks[0].graph.outputs, networks[1].graph.outputs, strict=False):
            keys = networks[0].of[one.name], networks[1].of[other.name]
            if not (self._a.known(keys[0]) and self._b.known(keys[1])):
                continue
            ours, theirs = (
                np.stack([sample[key].reshape(-1) for sample in side.samples])
                for side, key in zip((self._a, self._b), keys, strict=True)
            )
            if ours.shape != theirs.shape:
                continue
            ours, theirs = without_nan(ours, theirs)
            largest, step = float(np.abs(ours - theirs).max(initial=0.0)), networks[1].values[keys[1]].step
            same = (ours.argmax(1) == theirs.argmax(1)).mean() if ours.shape[1] > 1 else None
            found.append(
                OutputDifference(
                    a=one.name,
                    b=other.name,
                    largest=largest,
                    steps=largest / step if step else None,
                    snr_db=decibels(ours, theirs),
                    agreement=None if same is None else float(same),
                )
            )
        return found


def _would_fit(limits: tuple[float, float], results: tuple[float, float]) -> bool:
    """True if another scale makes the limits of integers those of the results, as a quantiser would have chosen them.

    Otherwise the samples go beyond those that the limits came from, on one side only. Limits of equal size on both
    sides say nothing about the smaller side of the results.
    """
    (low, high), (least, most) = limits, results
    factor = max(least / low if low < 0 else 0.0, most / high if high > 0 else 0.0)
    is_symmetric = abs(low + high) <= _SYMMETRIC * (high - low)
    return is_symmetric or most - least >= _LEAST_USE * factor * (high - low)


def _main(nodes: Sequence[RealNode]) -> RealNode:
    """Returns the last of some operators that does more than move values."""
    return next((node for node in reversed(nodes) if not registry.get(node.op).moves_data), nodes[-1])


def _operator(node: RealNode) -> int | None:
    return node.node.sources[0] if node.node.sources else None


def _unpaired(side: Recording, paired: set[str]) -> tuple[str, ...]:
    return tuple(value.key for value in side.network.computed() if value.key not in paired)


def decibels(right: Reals, values: Reals) -> float | None:
    """Returns the ratio of the power of right values to that of the difference, in dB; None for no difference."""
    power, error = float((right**2).sum()), float(((values - right) ** 2).sum())
    if error == 0:
        return None
    return float(10 * np.log10(max(power, 1e-30) / error))
