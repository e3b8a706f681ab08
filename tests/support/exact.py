"""What `-arithmetic=exact` is tested for: real results, rounded once to the nearest integer, on every core."""

from __future__ import annotations

import tempfile
from pathlib import Path

import numpy as np

import aboard
from aboard.importers import load
from aboard.ir import Graph, Quantization, Tensor
from aboard.ops import interpreter
from aboard.passes import neutral, run_passes
from support import sanitized

#: A core of each family of kernels.
CORES = ("cortex-m0", "cortex-m3", "cortex-m4", "cortex-m55")

#: Where steps are so near to a tie, multipliers of 31 bits and products of float32 decide.
_NEAR_A_TIE = 1e-4


def graph_of(model: bytes) -> Graph:
    """Returns the graph of a model behind the passes that `-arithmetic=exact` selects."""
    graph = load(model, name="model")
    run_passes(graph, neutral("exact"))
    return graph


def evaluate(model: bytes, *inputs: np.ndarray) -> list[np.ndarray]:
    """Returns the outputs of a model by the ops' `evaluate` with exact rounding."""
    graph = graph_of(model)
    values = interpreter.run(graph, {t.name: x for t, x in zip(graph.inputs, inputs, strict=True)})
    return [values[tensor.name] for tensor in graph.outputs]


def on_core(core: str, model: bytes, *inputs: np.ndarray) -> tuple[list[np.ndarray], set[str]]:
    """Returns the outputs of the generated C for a core, sanitized on this machine, and the names of its kernels."""
    module = aboard.compile(model, target=f"c -mcpu={core} -arithmetic=exact", name="model")
    feed = {record.name: x for record, x in zip(module.manifest.inputs, inputs, strict=True)}
    with tempfile.TemporaryDirectory() as folder:
        got = sanitized.run(module, feed, Path(folder))
    names = {node.implementation for node in module.manifest.nodes}
    return [np.asarray(got[record.name]) for record in module.manifest.outputs], names


def real(tensor: Tensor, values: np.ndarray) -> np.ndarray:
    """Returns what integers stand for, as float64."""
    return np.float64(tensor.quant.scale) * (values.astype(np.float64) - tensor.quant.zero_point)


def check(got: np.ndarray, values: np.ndarray, quant: Quantization) -> None:
    """Fails unless integers are the nearest to real values, where no tie is near."""
    info = np.iinfo(got.dtype)
    steps = np.asarray(values, np.float64) / np.float64(quant.scale)
    wanted = np.clip(np.rint(steps) + quant.zero_point, info.min, info.max)
    near = np.abs(np.abs(steps - np.trunc(steps)) - 0.5) < _NEAR_A_TIE * np.maximum(1, np.abs(steps) / 256)
    wrong = (got != wanted) & ~near
    assert not wrong.any(), f"{got[wrong][:5]} for {wanted[wrong][:5]} of {steps[wrong][:5]}"
    assert np.abs(got.astype(np.int64) - wanted).max(initial=0) <= 1
