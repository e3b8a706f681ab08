"""The figures of each layer of a quantised model: what its integers cost in accuracy, and what more bits would cost."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass

from aboard.ir import DType
from aboard.quantization.calibration import Calibrated
from aboard.quantization.costs import Costs
from aboard.quantization.groups import keeps_scale
from aboard.quantization.plan import Plan, nodes_of_reals
from aboard.quantization.sensitivity import Sensitivity, decibels
from aboard.quantization.simulation import mean_error, run_node, started


@dataclass(frozen=True)
class LayerFigures:
    """A layer of a quantised model. Signal-to-noise ratios are in dB; infinite where there is no error.

    Attributes:
        name: Name of the layer's result in the model file.
        op: The operator.
        dtype: What it computes with: `int8`, `int16` or `float32`.
        snr_db: Of its result, with all layers quantised.
        alone_db: Of the model's outputs, with this layer alone quantised; None for a layer with more than 8 bits.
        wide_db: Of the model's outputs, with more bits for this layer; None likewise.
        wide_dtype: What these bits are: `int16`, or `float32` for a layer without a form of 16 bits; None likewise.
        wide_instructions: Further instructions that they take, predicted, without conversions; None if not known.
    """

    name: str
    op: str
    dtype: str
    snr_db: float
    alone_db: float | None
    wide_db: float | None
    wide_dtype: str | None
    wide_instructions: int | None


def figures(
    found: Calibrated,
    plan: Plan,
    known: Mapping[str, Sensitivity],
    costs: Callable[[Plan], Costs | None],
) -> tuple[LayerFigures, ...]:
    """Returns the figures of all layers that compute something, in execution order.

    Args:
        found: The graph and its samples.
        plan: The plan that is taken.
        known: The sensitivities of layers of 8 bits.
        costs: Returns what a plan costs; None where it cannot be compiled.
    """
    nodes = [node for node in nodes_of_reals(found.graph) if not keeps_scale(node)]
    errors = _errors(found, plan)
    narrow = costs(plan)
    wide = costs(plan.with_types({name: dtype for each in known.values() for name, dtype in each.wider.items()}))
    layers = []
    for node in nodes:
        each = known.get(node.name) if plan.dtype(node) is DType.INT8 else None
        extra = None
        if each is not None and narrow is not None and wide is not None:
            before, after = (_of_layer(cost.layers, node.output.name) for cost in (narrow, wide))
            extra = None if before is None or after is None else after - before
        layers.append(
            LayerFigures(
                node.output.name,
                node.op,
                plan.dtype(node).value,
                decibels(errors[node.name]),
                None if each is None else decibels(each.alone),
                None if each is None else decibels(each.wide),
                None if each is None else each.wider[node.name].value,
                extra,
            )
        )
    return tuple(layers)


def _of_layer(costs: Mapping[str, int], name: str) -> int | None:
    """Returns the instructions of a layer, whose result is named after its integers in an ONNX file."""
    return next((count for each, count in costs.items() if each == name or each.startswith(f"{name}/int")), None)


def _errors(found: Calibrated, plan: Plan) -> dict[str, float]:
    """Returns the error of each node's result, relative to the power of its values, by the node's name."""
    runs = [started(found.graph, values) for values in found.inputs]
    errors = {}
    for node in found.graph.nodes:
        for values in runs:
            run_node(node, values, plan)
        if node.output.dtype is DType.FLOAT32:
            errors[node.name] = mean_error(runs, found.exact, node.output.name)
    return errors
