"""A reference for a build whose inputs and outputs are other than those of the model file (`-io=int8`).

Integers stand for the real numbers of the file: `real = scale * (integer - zero point)`.
"""

from __future__ import annotations

import copy
from collections.abc import Mapping

import numpy as np
from typing_extensions import override

from aboard.base.manifest import Manifest
from aboard.base.manifest_records import TensorRecord
from aboard.check.reference import Reference
from aboard.check.verify import differs
from aboard.device import real_values
from aboard.ir import Array, Graph, Tensor
from aboard.ops import interpreter
from aboard.ops.axes import inverse
from aboard.passes import neutral, run_passes
from aboard.target import Target

#: How many steps quantised results of an ONNX file may be away from onnxruntime's, by `-arithmetic`.
_STEPS = {"tflite": 2, "exact": 1}

_MOVES = ("reshape", "transpose", "strided_slice")


def fitted(reference: Reference, manifest: Manifest) -> Reference:
    """Returns a reference that takes the inputs of a build, gives its outputs, and has its tolerance."""
    return _Fitted(reference, manifest)


class _Fitted(Reference):
    def __init__(self, inner: Reference, manifest: Manifest) -> None:
        super().__init__(inner.graph, inner.note)
        self.name = inner.name
        self._inner = inner
        self._inputs = {record.name: record for record in manifest.inputs}
        self._outputs = {record.name: record for record in manifest.outputs}
        self._steps, self._scales = 0, dict[str, float]()
        self._rounded: tuple[Graph, Graph] | None = None
        attrs = Target(manifest.target).host.attrs
        if inner.name == "onnxruntime" and any(node.op == "dequantize" for node in self.graph.nodes):
            self._steps, self._scales = _STEPS[str(attrs["arithmetic"])], _scales(self.graph)
            if attrs["arithmetic"] == "tflite":
                self._rounded = _passed(self.graph, "tflite"), _passed(self.graph, "exact")

    @override
    def run(self, inputs: Mapping[str, Array]) -> dict[str, Array]:
        given = self._as(self.graph, inputs)
        found = self._inner.run(given)
        if self._rounded is not None:
            found = self._explained(found, *(interpreter.run(graph, given) for graph in self._rounded))
        return {name: to_type(value, self._outputs[name]) for name, value in found.items()}

    def _explained(
        self, found: Mapping[str, Array], rounded: Mapping[str, Array], exact: Mapping[str, Array]
    ) -> dict[str, Array]:
        """Returns what the layers' rounding gives where it adds up to more steps than are allowed.

        This is so only where exact rounding is within its step of onnxruntime: the layers are right then.
        """
        results = dict[str, Array]()
        for name, value in found.items():
            allowed = self.allowed(value, name)
            step = allowed / self._steps
            explained = differs(rounded[name], value, allowed) & ~differs(exact[name], value, step)
            if explained.any():
                gap = np.abs(rounded[name].astype(np.float64) - value.astype(np.float64))
                steps = round(float(gap[explained].max()) / step)
                self.note = (
                    f"layers round as TensorFlow Lite Micro does, which adds up to {steps} steps of {name}; "
                    "-arithmetic=exact is within one step of onnxruntime"
                )
            results[name] = np.where(explained, rounded[name], value).astype(value.dtype)
        return results

    @override
    def tensors(self, inputs: Mapping[str, Array]) -> dict[int, Array]:
        return self._inner.tensors(self._as(self.graph, inputs))

    @override
    def inputs_of(self, graph: Graph, inputs: Mapping[str, Array]) -> Mapping[str, Array]:
        return self._as(graph, inputs)

    @override
    def outputs_of(self, graph: Graph, values: Mapping[str, Array]) -> Mapping[str, Array]:
        return {tensor.name: to_type(values[tensor.name], self._outputs[tensor.name]) for tensor in graph.outputs}

    @override
    def allowed(self, values: Array, name: str) -> float:
        if values.dtype.kind in "iu":
            return float(self._steps)
        return self._steps * self._scales.get(name, 0.0)

    @override
    def reset(self) -> None:
        self._inner.reset()

    def _as(self, graph: Graph, inputs: Mapping[str, Array]) -> dict[str, Array]:
        types = {tensor.name: tensor for tensor in graph.inputs}
        return {
            name: from_type(value, self._inputs[name], types[name]) if name in types else value
            for name, value in inputs.items()
        }


def _passed(graph: Graph, arithmetic: str) -> Graph:
    """Returns a copy of a graph behind the passes that choose its integer layers."""
    passed = copy.deepcopy(graph)
    run_passes(passed, neutral(arithmetic))
    return passed


def from_type(values: Array, record: TensorRecord, tensor: Tensor) -> Array:
    """Returns an input of a build as the tensor of a graph has it."""
    values = values if record.order is None else values.transpose(inverse(record.order))
    values = np.ascontiguousarray(values if tensor.order is None else values.transpose(tensor.order))
    if tensor.dtype.value == record.dtype or not real_values.is_quantised(record):
        return values
    if tensor.dtype.is_float:
        return real_values.real(values, record)
    moved = values.astype(np.int64) - (record.zero_point or 0) + tensor.quant.zero_point
    return moved.astype(tensor.dtype.numpy)


def to_type(values: Array, record: TensorRecord) -> Array:
    """Returns an output of the model file as a build gives it."""
    if values.dtype == np.dtype(record.dtype) or not real_values.is_quantised(record):
        return values
    if values.dtype.kind == "f":
        return real_values.quantised(values.astype(np.float32), record)
    # Of 8 bits, with and without a sign: the same number of steps from the zero point.
    return (values.astype(np.int64) + (128 if record.dtype == "uint8" else -128)).astype(record.dtype)


def _scales(graph: Graph) -> dict[str, float]:
    """Returns the scale of each tensor of real numbers that stands for integers, by name."""
    scales: dict[str, float] = {}
    for node in graph.nodes:
        if node.op == "dequantize" and not node.input(0).quant.per_channel:
            scales[node.output.name] = node.input(0).quant.scale
        elif node.op in _MOVES and node.input(0).name in scales:
            scales[node.output.name] = scales[node.input(0).name]
    return scales
