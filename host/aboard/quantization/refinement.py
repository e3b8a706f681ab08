"""Rounds weights for the operands that they will meet, and corrects the mean error of each channel in its bias.

Layers are refined in the order of execution, each for the operands that the quantised layers before it give. A weight's
rounding error is made up for by the weights of its row that are not rounded yet, so that the sum over a window is right
and not each weight (the "optimal brain" update of Frantar and others, GPTQ, arXiv:2210.17323, section 3).
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from aboard.ir import Array, DType, Graph, Node
from aboard.ops import conv2d
from aboard.ops.weighted import BIAS, INPUT, WEIGHTS
from aboard.quantization import weights
from aboard.quantization.plan import Float64, Plan
from aboard.quantization.samples import Inputs
from aboard.quantization.simulation import operands, run_node, started

#: Windows of a layer that are looked at.
_MOST_WINDOWS = 4096

#: Weights of an output channel at most.
_MOST_COLUMNS = 2048

#: What is added to the diagonal of the windows' second moments, as part of its mean.
_DAMPING = 0.01


def refine(graph: Graph, plan: Plan, inputs: Sequence[Inputs], exact: Sequence[dict[str, Array]]) -> Plan:
    """Returns the plan with refined weights and biases.

    Args:
        graph: The prepared graph.
        plan: The plan.
        inputs: Samples.
        exact: The values of all tensors without quantisation, for each sample.
    """
    runs: list[dict[str, Array]] = [started(graph, values) for values in inputs]
    layers = {id(node) for node in weights.layers(graph)}
    for node in graph.nodes:
        if id(node) in layers and plan.dtype(node) is not DType.FLOAT32:
            plan = _refined(node, plan, runs, exact)
        for values in runs:
            run_node(node, values, plan)
    return plan


def _refined(node: Node, plan: Plan, runs: Sequence[dict[str, Array]], exact: Sequence[dict[str, Array]]) -> Plan:
    given = [np.asarray(operands(node, values, plan)[INPUT], np.float64) for values in runs]
    right = [np.asarray(values[node.input(INPUT).name], np.float64) for values in exact]
    most = max(1, _MOST_WINDOWS // len(runs))
    seen, wanted = (np.concatenate([_windows(node, each, most) for each in part], axis=1) for part in (given, right))
    old = plan.weights[node.name]
    rows = weights.rows_of(node)
    if rows.shape[1] > _MOST_COLUMNS:
        return plan
    scales = np.broadcast_to(old.scales, (len(rows),))
    integers, mean = np.empty_like(rows), np.empty(len(rows))
    each = len(rows) // len(seen)
    for group in range(len(seen)):
        part = slice(group * each, (group + 1) * each)
        integers[part] = _rounded(rows[part], seen[group], scales[part])
        stored = integers[part] * scales[part, None]
        mean[part] = rows[part] @ wanted[group].mean(axis=0) - stored @ seen[group].mean(axis=0)
    bias = node.optional_input(BIAS)
    known = np.zeros(len(rows)) if bias is None or bias.data is None else np.asarray(bias.data, np.float64).reshape(-1)
    made = weights.of_rows(node, integers, old.scales)
    return plan.with_layer(node.name, made, (known + mean).astype(np.float32))


def _windows(node: Node, operand: Float64, most: int) -> Float64:
    """Returns windows of an operand.

    Returns:
        [groups, windows, columns]: the same number of output channels reads each group.
    """
    if node.op == "fully_connected":
        found = operand.reshape(-1, node.input(WEIGHTS).shape[1])
        return found[:: max(1, len(found) // most)][None]
    attrs = conv2d.attributes(node)
    height, width = conv2d.window(node)
    pad = attrs.padding
    padded = np.pad(operand, ((0, 0), (pad.top, pad.bottom), (pad.left, pad.right), (0, 0)))
    (down, right), (tall, wide) = attrs.strides, attrs.dilations
    views = np.lib.stride_tricks.sliding_window_view(
        padded, ((height - 1) * tall + 1, (width - 1) * wide + 1), axis=(1, 2)
    )[:, ::down, ::right, :, ::tall, ::wide]
    flat = views.reshape(-1, views.shape[3], height, width)
    flat = flat[:: max(1, len(flat) // most)]
    groups = flat.shape[1] if node.op == "depthwise_conv2d" else flat.shape[1] // node.input(WEIGHTS).shape[3]
    parts = flat.reshape(len(flat), groups, -1, height, width).transpose(1, 0, 3, 4, 2)
    columns: Float64 = parts.reshape(groups, len(flat), -1)
    return columns


def _rounded(rows: Float64, seen: Float64, scales: Float64) -> Float64:
    """Returns rows of weights as whole numbers.

    Args:
        rows: [outputs, columns].
        seen: Windows, [windows, columns].
        scales: [outputs].
    """
    moments = seen.T @ seen / len(seen)
    diagonal = np.diagonal(moments)
    damping = _DAMPING * float(diagonal.mean()) or 1.0
    try:
        inverse = np.linalg.inv(moments + damping * np.eye(len(moments)))
        factor = np.linalg.cholesky((inverse + inverse.T) / 2).T
    except np.linalg.LinAlgError:
        return weights.rounded(rows, scales)
    left, integers = rows.copy(), np.empty_like(rows)
    for column in range(rows.shape[1]):
        steps = weights.rounded(left[:, column : column + 1], scales)[:, 0]
        integers[:, column] = steps
        error = (left[:, column] - steps * scales) / factor[column, column]
        left[:, column:] -= np.outer(error, factor[column, column:])
    return integers
