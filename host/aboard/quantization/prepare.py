"""The graph of real numbers that is quantised: normalisations and activations are part of the layers."""

from __future__ import annotations

import numpy as np

from aboard.errors import ModelError
from aboard.exporters.tflite import is_of_layer
from aboard.importers.onnx import affine
from aboard.ir import DType, Graph, TensorType
from aboard.ir.rewriting import free_name
from aboard.ops.weighted import WEIGHTS
from aboard.passes import NEUTRAL, run_passes
from aboard.passes.fuse_activations import FuseActivations
from aboard.passes.fuse_quantisation import FuseQuantisation
from aboard.passes.remove_dead_code import RemoveDeadCode

_WEIGHTED = ("conv2d", "depthwise_conv2d", "fully_connected")


def prepare(graph: Graph) -> None:
    """Brings a graph, as imported, to the form that is quantised; results change by the rounding of float32 only.

    Raises:
        ModelError: The model is quantised already, keeps state, or has decision trees.
    """
    _refuse(graph)
    _widen_weights(graph)
    run_passes(graph, [step for step in NEUTRAL if not isinstance(step, FuseQuantisation)])
    affine.fold(graph)
    run_passes(graph, (RemoveDeadCode(), FuseActivations(), RemoveDeadCode()))


def _refuse(graph: Graph) -> None:
    where = graph.source or graph.name
    quantised = next(
        (node for node in graph.nodes if any(t.type.quant is not None and t.dtype.bytes <= 2 for t in node.outputs)),
        None,
    )
    if quantised is not None:
        raise ModelError(
            f"{where}: quantised already, got {quantised.output.type} of {quantised.op} {quantised.name}, expected "
            "float32. Quantise the float model that it was made from"
        )
    other = next((state for state in graph.states if not is_of_layer(graph, state)), None)
    if other is not None:
        raise ModelError(
            f"{where}: keeps state {other.name} from run to run, expected a model whose runs are sequences of their "
            "own. Quantise the model before it is made a streaming one"
        )
    trees = next((node for node in graph.nodes if node.op == "tree_ensemble"), None)
    if trees is not None:
        raise ModelError(
            f"{where}: decision trees {trees.name}, which compare real numbers and need no multiplications, expected "
            "layers with weights. Compile the model as it is"
        )


def _widen_weights(graph: Graph) -> None:
    """Makes int8 weights of layers of real numbers real numbers: a hybrid model is quantised like a float one."""
    for node in graph.nodes:
        if node.op not in _WEIGHTED or node.output.dtype is not DType.FLOAT32:
            continue
        weights = node.input(WEIGHTS)
        if weights.dtype is not DType.INT8 or weights.data is None:
            continue
        quant = weights.quant
        shape = [1] * len(weights.shape)
        if quant.axis is not None:
            shape[quant.axis] = -1
        scales = np.array(quant.scales, np.float32).reshape(shape if quant.per_channel else 1)
        points = np.array(quant.zero_points, np.int32).reshape(shape if len(quant.zero_points) > 1 else 1)
        values = (scales * (weights.data.astype(np.int32) - points)).astype(np.float32)
        node.inputs[WEIGHTS] = type(weights)(
            free_name(graph, f"{weights.name}/real"), TensorType(weights.shape, DType.FLOAT32), values
        )
