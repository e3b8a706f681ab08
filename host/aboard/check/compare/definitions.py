"""How the definitions of one layer in two model files differ: attributes, weights, scales."""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from dataclasses import dataclass, fields

import numpy as np

from aboard.check.compare.orders import orders, reordered
from aboard.check.compare.real_graph import RealGraph, RealNode, Value
from aboard.check.compare.real_numbers import Reals, is_quantised
from aboard.check.compare.types import Cause, Explanation
from aboard.ir import Attributes, Tensor
from aboard.ops import registry
from aboard.ops.activation import Activation
from aboard.ops.weighted import BIAS, WEIGHTS

#: Relative difference of constants and scales that counts as none: far above float32's rounding, far below a defect.
_SAME = 1e-4

#: Share of the power of a difference that may remain if a reason explains it.
_EXPLAINED = 0.02

#: Share of the operators that may be defined otherwise in two files of one model of which one is damaged.
_FEW = 0.2


#: Ops that follow a layer to bend its results.
ACTIVATIONS = {"relu", "relu6", "relu_n1_to_1", "leaky_relu", "prelu", "elu", "gelu", "hard_swish", "logistic", "tanh"}


@dataclass(frozen=True)
class Difference:
    """What two files of one model define differently.

    Attributes:
        a: The input of A, or the first result of the operator.
        b: That of B.
        explanation: The difference.
    """

    a: str
    b: str
    explanation: Explanation


def differing(a: RealGraph, b: RealGraph) -> list[Difference]:
    """Returns what two files define differently, in execution order, if all else is the same; none if much differs.

    Two files of one training, quantised separately, differ everywhere: then a difference is no sign of a defect.
    """
    if len(a.nodes) != len(b.nodes) or len(a.graph.inputs) != len(b.graph.inputs):
        return []
    inputs = ((one.name, other.name) for one, other in zip(a.graph.inputs, b.graph.inputs, strict=True))
    rows = [(one, other, _integers(a.values[one], b.values[other])) for one, other in inputs]
    nodes = zip(a.nodes, b.nodes, strict=True)
    rows += [(one.outputs[0], other.outputs[0], explained(a, b, one, other)) for one, other in nodes]
    found = [Difference(one, other, explanation) for one, other, explanation in rows if explanation is not None]
    return found if len(found) <= max(1, _FEW * len(rows)) else []


def explained(a: RealGraph, b: RealGraph, one: RealNode, other: RealNode) -> Explanation | None:
    """Returns how the definitions of an operator differ, results' integers included; None if they do not."""
    if one.op != other.op:
        cause = Cause.ACTIVATION if {one.op, other.op} & ACTIVATIONS else Cause.OPERATOR
        return Explanation(cause, f"A computes {one.op}, B {other.op}")
    return (
        attributes(one.node.attrs, other.node.attrs)
        or constants(a, b, one, other)
        or next(filter(None, itertools.starmap(_integers, _results(a, b, one, other))), None)
    )


def _results(a: RealGraph, b: RealGraph, one: RealNode, other: RealNode) -> Iterator[tuple[Value, Value]]:
    return ((a.values[key], b.values[place]) for key, place in zip(one.outputs, other.outputs, strict=True))


def attributes(one: Attributes, other: Attributes) -> Explanation | None:
    """Returns how the attributes of two operators of the same op differ; None if they do not."""
    if type(one) is not type(other):
        return None
    for field in fields(one):
        ours, theirs = getattr(one, field.name), getattr(other, field.name)
        if field.name == "rounding" or ours == theirs:
            continue
        cause = {"activation": Cause.ACTIVATION, "padding": Cause.PADDING}.get(field.name, Cause.ATTRIBUTES)
        return Explanation(cause, f"A has {field.name} {_text(ours)}, B {_text(theirs)}")
    return None


def _text(value: object) -> str:
    if isinstance(value, Activation):
        return value.name
    sides = getattr(value, "sides", None)
    return str(value) if sides is None else "top {}, bottom {}, left {}, right {}".format(*sides)


def constants(a: RealGraph, b: RealGraph, one: RealNode, other: RealNode) -> Explanation | None:
    """Returns how the constants of two operators of the same op differ by more than rounding; None if they do not."""
    for number, (ours, theirs) in enumerate(zip(one.inputs, other.inputs, strict=False)):
        if ours is None or theirs is None:
            continue
        values = a.values[ours], b.values[theirs]
        if values[0].constant is None or values[1].constant is None or values[0].shape != values[1].shape:
            continue
        axis = registry.get(one.op).weights_axis
        what = f"operand {number}" if axis is None else {WEIGHTS: "weights", BIAS: "bias"}.get(number, "a constant")
        found = constant(values[0], values[1], axis if number == WEIGHTS else None, what)
        if found is not None:
            weights = one.inputs[WEIGHTS] if number == BIAS and axis is not None else None
            return _bias(*values, found, None if weights is None else a.values[weights].constant, axis)
    return None


def _bias(one: Value, other: Value, found: Explanation, weights: Reals | None, axis: int | None) -> Explanation:
    """Returns how two biases differ: as zero points would have it, if that fits, else as constants do."""
    if weights is None or axis is None or one.constant is None or other.constant is None:
        return found
    difference = other.constant - one.constant
    return (
        _moved_input(difference.reshape(-1), weights.sum(_others(weights, axis)))
        or _shifted(one.constant, other.constant, None, "bias", fewest=1)
        or found
    )


def _moved_input(difference: Reals, sums: Reals) -> Explanation | None:
    """Returns that biases differ as they do for another zero point of the input, or None.

    A zero point that is further by d adds d, times the sum of its weights, to each channel.

    Args:
        difference: What each bias is larger by in B.
        sums: The sum of the weights of each channel.
    """
    if difference.size != sums.size or difference.size < 2 or not sums.any():
        return None
    shift = float((difference * sums).sum() / (sums**2).sum())
    if not _remains_little(difference - shift * sums, difference):
        return None
    return Explanation(Cause.ZERO_POINT, f"the bias is that of an input which is {shift:.4g} larger than A's")


def constant(one: Value, other: Value, axis: int | None, what: str) -> Explanation | None:
    """Returns how two constants of the same shape differ by more than rounding; None if they do not.

    Args:
        one: The constant in A.
        other: That in B.
        axis: Axis of the output channels of weights; None for other constants.
        what: What it is, for messages.
    """
    ours, theirs = one.constant, other.constant
    if ours is None or theirs is None:
        return None
    steps = np.maximum(_steps(one, axis), _steps(other, axis))
    if (np.abs(ours - theirs) <= _SAME * np.abs(ours) + 1.5 * steps).all():
        return None
    return (
        _stored(one, other, what)
        or transposed(ours, theirs, steps, what)
        or _transposed_integers(ours, theirs, axis, what)
        or _scaled(ours, theirs, axis, what)
        or _shifted(ours, theirs, axis, what)
        or Explanation(Cause.WEIGHTS, f"B has other numbers: {what}")
    )


def _steps(value: Value, axis: int | None) -> Reals:
    """Returns the steps of the integers that a constant had: 0 for real numbers."""
    stored, real = value.tensors[0], value.constant
    if real is None or not is_quantised(stored) or stored.dtype.bytes > 1:
        return np.zeros(1)
    return np.asarray(np.abs(real).max(axis=_others(real, axis), keepdims=True) / np.iinfo(np.int8).max)


def _stored(one: Value, other: Value, what: str) -> Explanation | None:
    """Returns how two constants of the same integers stand for other numbers, or None."""
    ours, theirs = one.tensors[0], other.tensors[0]
    if ours.data is None or theirs.data is None or not (is_quantised(ours) and is_quantised(theirs)):
        return None
    if ours.dtype is not theirs.dtype or ours.shape != theirs.shape:
        return None
    if np.array_equal(ours.data, theirs.data):
        if ours.quant.scales != theirs.quant.scales:
            return Explanation(Cause.SCALE, f"B has other scales, {what}: {_ratios(ours, theirs)}")
        return Explanation(Cause.ZERO_POINT, f"B has other zero points: {what}")
    return transposed(ours.data.astype(np.float64), theirs.data.astype(np.float64), np.zeros(1), what)


def _ratios(ours: Tensor, theirs: Tensor) -> str:
    if len(ours.quant.scales) != len(theirs.quant.scales):
        return f"{len(theirs.quant.scales)} in place of {len(ours.quant.scales)}"
    ratios = np.array(theirs.quant.scales) / np.array(ours.quant.scales)
    changed = ratios[np.abs(ratios - 1) > _SAME]
    return f"{changed.min():.4g} to {changed.max():.4g} times those of A in {len(changed)} of {len(ratios)} channels"


def transposed(ours: Reals, theirs: Reals, steps: Reals, name: str) -> Explanation | None:
    """Returns that two constants have the same numbers at other places, or None.

    Args:
        ours: The constant in A.
        theirs: That in B.
        steps: What the numbers may differ by.
        name: The name in B.
    """
    for order in orders(ours.shape):
        moved = reordered(ours, order)
        if any((np.abs(each - theirs) <= _SAME * np.abs(each) + 1.5 * steps.max()).all() for each in moved):
            return Explanation(Cause.TRANSPOSITION, f"B has the axes of the {name} in the order {list(order)}")
    sizes = np.sort(ours, None), np.sort(theirs, None)
    if ours.size > 1 and (np.abs(sizes[1] - sizes[0]) <= _SAME * np.abs(sizes[0]) + steps.max()).all():
        return Explanation(Cause.TRANSPOSITION, f"B has the numbers of the {name} at other places")
    return None


def _transposed_integers(ours: Reals, theirs: Reals, axis: int | None, name: str) -> Explanation | None:
    """Returns that integers which have a scale for each channel are at other places, or None."""
    if axis is None:
        return None
    limit = np.iinfo(np.int8).max
    units = np.maximum(np.abs(ours).max(axis=_others(ours, axis), keepdims=True) / limit, 1e-30)
    whole = ours / units, theirs / units
    if max(float(np.abs(each - np.rint(each)).max()) for each in whole) > 0.05:
        return None
    return transposed(np.rint(whole[0]), np.rint(whole[1]), np.zeros(1), name)


def _scaled(ours: Reals, theirs: Reals, axis: int | None, name: str) -> Explanation | None:
    """Returns that constants are proportional, channel by channel, or None."""
    others = _others(ours, axis)
    with np.errstate(all="ignore"):
        factors = np.nan_to_num((ours * theirs).sum(others, keepdims=True) / (ours**2).sum(others, keepdims=True))
    if not _remains_little(theirs - factors * ours, theirs - ours):
        return None
    changed = factors[np.abs(factors - 1) > 0.02]
    if not changed.size or changed.min() <= 0:
        return None
    where = "" if factors.size == 1 else f" in {changed.size} of {factors.size} channels"
    return Explanation(Cause.SCALE, f"{name} {changed.min():.4g} to {changed.max():.4g} times as large in B{where}")


def _shifted(ours: Reals, theirs: Reals, axis: int | None, name: str, fewest: int = 2) -> Explanation | None:
    """Returns that the numbers of a constant differ by one number, channel by channel, or None."""
    others = _others(ours, axis)
    count = int(np.prod([ours.shape[other] for other in others])) if others else 1
    shift = (theirs - ours).mean(others, keepdims=True)
    if count < fewest or not _remains_little(theirs - ours - shift, theirs - ours):
        return None
    return Explanation(Cause.ZERO_POINT, f"{name} {shift.min():.4g} to {shift.max():.4g} larger in B")


def _others(values: Reals, axis: int | None) -> tuple[int, ...]:
    """Returns all axes but that of the output channels; all if there is none."""
    return tuple(other for other in range(values.ndim) if axis is None or other != axis % values.ndim)


def _remains_little(rest: Reals, difference: Reals) -> bool:
    return float((rest**2).sum()) < _EXPLAINED * float((difference**2).sum())


def _integers(one: Value, other: Value) -> Explanation | None:
    """Returns how the integers of a result differ; None if they do not."""
    ours, theirs = one.stored, other.stored
    if ours is None or theirs is None:
        return None if ours is theirs else Explanation(Cause.SCALE, "only one side stores the result as integers")
    if abs(ours.quant.scale - theirs.quant.scale) > _SAME * ours.quant.scale:
        text = f"the result has scale {theirs.quant.scale:.6g} in B, {ours.quant.scale:.6g} in A"
        return Explanation(Cause.SCALE, text)
    if ours.quant.zero_point != theirs.quant.zero_point:
        text = f"the result has zero point {theirs.quant.zero_point} in B, {ours.quant.zero_point} in A"
        return Explanation(Cause.ZERO_POINT, text)
    return None
