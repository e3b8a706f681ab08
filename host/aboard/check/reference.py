"""The reference for a device's results: TensorFlow Lite for Microcontrollers if it can run the model, else numpy.

For an ONNX file it is onnxruntime without optimisations.

LiteRT with its reference kernels takes the place of tflite-micro for a model for which tflite-micro reads memory that
it never wrote: behind wrong shapes of the file, which LiteRT computes again, and for the padding of SPACE_TO_BATCH_ND.

reference = Reference.open("kws.tflite")
outputs = reference.run({"input_1": x})
inner = reference.tensors({"input_1": x})      # every computed tensor, by its index in the model file

A model with state keeps it from run to run, until `reference.reset()`.
"""

from __future__ import annotations

import importlib
from abc import ABC, abstractmethod
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
from typing_extensions import override

from aboard import frameworks
from aboard.check import onnx_session
from aboard.errors import ModelError, ToolError
from aboard.importers import load
from aboard.ir import Array, DType, Graph, Tensor
from aboard.ops.control import graphs
from aboard.ops.interpreter import check_inputs, initial_states, next_states, run_all

# The interpreter keeps every tensor and its own tables.
_ARENA_BYTES = 1 << 24

#: What a reference may be asked for.
KINDS = ("auto", "tflm", "litert", "onnxruntime", "numpy")

#: The format of the files that an interpreter runs.
_FORMATS = {"tflm": "TFLite", "litert": "TFLite", "onnxruntime": "ONNX"}


class Reference(ABC):
    """Computes the expected results of a model.

    Attributes:
        name: The interpreter: `tflite-micro`, `litert`, `onnxruntime` or `numpy`.
        note: Why tflite-micro is not used; empty if it is.
        graph: The model as imported, before any pass.
    """

    name: str

    def __init__(self, graph: Graph, note: str = "") -> None:
        self.graph = graph
        self.note = note

    @staticmethod
    def open(model: str | Path | bytes, kind: str = "auto") -> Reference:
        """Returns a reference for a model.

        Args:
            model: A model file: its path, or its bytes.
            kind: `tflm` for the interpreter of TensorFlow Lite for Microcontrollers, `litert` for LiteRT with its
                reference kernels, `onnxruntime`, `numpy` for this package's own evaluation of each op, `auto` for the
                first of these that is installed and can run the model, with LiteRT in place of tflite-micro where
                `Graph.undefined_in_tflm` says why.

        Raises:
            ModelError: The model cannot be read; or the interpreter that is asked for refuses it.
            ToolError: The interpreter that is asked for is not installed; or `kind` is unknown.
        """
        if kind not in KINDS:
            raise ToolError(f"reference: kind, got {kind!r}, expected one of {', '.join(KINDS)}. Choose one")
        graph = load(model)
        if kind == "numpy":
            return _Numpy(graph, "asked for")
        wanted = _FORMATS.get(kind, graph.format)
        if graph.format != wanted:
            raise ModelError(
                f"{graph.source}: format, got {graph.format}, expected {wanted} for {kind}. Choose auto, "
                "which takes the interpreter of the format"
            )
        data = model if isinstance(model, bytes) else frameworks.read_bytes(Path(model))
        try:
            if graph.format == "ONNX":
                return _OnnxRuntime(graph, data)
            undefined = graph.undefined_in_tflm
            if kind == "litert" or (undefined and kind == "auto"):
                return _LiteRT(graph, data, f"{graph.source}: {undefined}" if kind == "auto" else "asked for")
            return _TFLM(graph, data)
        except ToolError as error:
            if kind != "auto":
                raise
            return _Numpy(graph, str(error))
        except _RefusedError as error:
            if kind != "auto":
                raise ModelError(f"{graph.source}: {error}. Open the reference with kind='numpy'") from error
            return _Numpy(graph, f"{graph.source}: {error}")

    @abstractmethod
    def run(self, inputs: Mapping[str, Array]) -> dict[str, Array]:
        """Returns the outputs by tensor name.

        Args:
            inputs: Value of each input by tensor name, with its exact shape and type.

        Raises:
            InputError: An input is missing, unknown, or has another shape or type.
        """

    @abstractmethod
    def tensors(self, inputs: Mapping[str, Array]) -> dict[int, Array]:
        """Returns every tensor that an operator computes, by index in the model file; otherwise as `run`."""

    def inputs_of(self, graph: Graph, inputs: Mapping[str, Array]) -> Mapping[str, Array]:
        """Returns inputs as a graph between two passes has them, whose input types may be the file's or a build's."""
        del graph
        return inputs

    def outputs_of(self, graph: Graph, values: Mapping[str, Array]) -> Mapping[str, Array]:
        """Returns the outputs of a graph between two passes as this reference gives them."""
        return {tensor.name: values[tensor.name] for tensor in graph.outputs}

    def allowed(self, values: Array, name: str) -> float:
        """Returns by how much a tensor may differ beside the tolerance of floats: 0, as integers are exact."""
        del values, name
        return 0.0

    @abstractmethod
    def reset(self) -> None:
        """Gives every state its initial value, so that the next run is the first of a sequence."""


class _Interpreter(Reference):
    """A reference that computes the tensors it is asked for."""

    @override
    def run(self, inputs: Mapping[str, Array]) -> dict[str, Array]:
        values = self._compute(check_inputs(self.graph, inputs), self.graph.outputs)
        return {tensor.name: values[tensor.name] for tensor in self.graph.outputs}

    @override
    def tensors(self, inputs: Mapping[str, Array]) -> dict[int, Array]:
        known = {
            tensor.source: tensor for node in self.graph.nodes for tensor in node.outputs if tensor.source is not None
        }
        values = self._compute(check_inputs(self.graph, inputs), list(known.values()))
        return {number: values[tensor.name] for number, tensor in known.items()}

    @abstractmethod
    def _compute(self, inputs: Mapping[str, Array], wanted: list[Tensor]) -> Mapping[str, Array]:
        """Returns at least the wanted tensors by name, for checked inputs."""


class _Numpy(_Interpreter):
    name = "numpy"

    def __init__(self, graph: Graph, note: str = "") -> None:
        super().__init__(graph, note)
        self._states = initial_states(graph)

    @override
    def reset(self) -> None:
        self._states = initial_states(self.graph)

    @override
    def _compute(self, inputs: Mapping[str, Array], wanted: list[Tensor]) -> Mapping[str, Array]:
        values = run_all(self.graph, inputs, self._states)
        self._states = next_states(self.graph, values)
        return values


class _RefusedError(Exception):
    """Why tflite-micro does not run a model, for callers that can use numpy instead."""


class _TFLM(_Interpreter):
    name = "tflite-micro"

    def __init__(self, graph: Graph, data: bytes) -> None:
        super().__init__(graph)
        if graph.undefined_in_tflm:
            raise _RefusedError(graph.undefined_in_tflm)
        refusal = _refused_by_tflm(graph)
        if refusal is not None:
            raise _RefusedError(refusal)
        self._data = data
        self._interpreter = _interpreter(graph, data)
        self._bounds_loops = any(node.op == "while" for each in (graph, *graphs(graph)) for node in each.nodes)
        self._states = initial_states(graph)

    @override
    def reset(self) -> None:
        self._states = initial_states(self.graph)
        if self.graph.states:
            # The interpreter's own reset forgets what CALL_ONCE has assigned.
            self._interpreter = _interpreter(self.graph, self._data)

    @override
    def _compute(self, inputs: Mapping[str, Array], wanted: list[Tensor]) -> Mapping[str, Array]:
        if self._bounds_loops:
            # The interpreter would never return from an endless loop; numpy counts iterations.
            self._states = next_states(self.graph, run_all(self.graph, inputs, self._states))
        for index, value in enumerate(inputs.values()):
            self._interpreter.set_input(np.asarray(value, order="C"), index)
        self._interpreter.invoke()
        return {tensor.name: self._tensor(tensor) for tensor in wanted}

    def _tensor(self, tensor: Tensor) -> Array:
        value: Array = np.array(self._interpreter.GetTensor(tensor.source, 0)["tensor_data"])
        return value.reshape(tensor.shape)


class _LiteRT(_Interpreter):
    name = "litert"

    def __init__(self, graph: Graph, data: bytes, note: str) -> None:
        super().__init__(graph, note)
        self._data = data
        self._interpreter = _litert(data)

    @override
    def reset(self) -> None:
        if self.graph.states:
            self._interpreter = _litert(self._data)

    @override
    def _compute(self, inputs: Mapping[str, Array], wanted: list[Tensor]) -> Mapping[str, Array]:
        for detail, value in zip(self._interpreter.get_input_details(), inputs.values(), strict=True):
            self._interpreter.set_tensor(detail["index"], value)
        self._interpreter.invoke()
        return {tensor.name: self._tensor(tensor) for tensor in wanted}

    def _tensor(self, tensor: Tensor) -> Array:
        value: Array = np.array(self._interpreter.get_tensor(tensor.source))
        return value.reshape(tensor.shape)


class _OnnxRuntime(_Interpreter):
    """onnxruntime without optimisations, with every tensor of the file as an output."""

    name = "onnxruntime"

    def __init__(self, graph: Graph, data: bytes) -> None:
        super().__init__(graph)
        self._names, self._session = _onnxruntime(data)

    @override
    def reset(self) -> None:
        """Does nothing: an ONNX file has no state."""

    @override
    def _compute(self, inputs: Mapping[str, Array], wanted: list[Tensor]) -> Mapping[str, Array]:
        known = [tensor for tensor in wanted if tensor.name in self._names]
        names = [self._names[tensor.name] for tensor in known]
        values = self._session.run(names, {name: np.asarray(value) for name, value in inputs.items()})
        found = {tensor.name: _numbers(tensor, np.asarray(value)) for tensor, value in zip(known, values, strict=True)}
        return found if len(found) == len(wanted) else {**run_all(self.graph, inputs), **found}


def _numbers(tensor: Tensor, value: Array) -> Array:
    """Returns what a tensor has for a value of onnxruntime: of text the index."""
    if not tensor.text:
        return value
    places = {text: place for place, text in enumerate(tensor.text)}
    return np.array([places[str(each)] for each in value.flat], np.int64).reshape(value.shape)


def _onnxruntime(data: bytes) -> tuple[dict[str, str], Any]:
    """Returns the names of all tensors that nodes of a file compute, and a session that gives them.

    For the maps of a ZipMap, the name is that of the tensor that they are made of.
    """
    try:
        session = onnx_session.open_session(data, every_tensor=True)
    except ToolError:
        raise
    except Exception as error:  # its exceptions have no common base
        raise _RefusedError(f"onnxruntime refuses the model, got {str(error).splitlines()[0][:160]}") from error
    graph = importlib.import_module("onnx").load_from_string(data).graph
    names = {name for node in graph.node for name in node.output if name} | {output.name for output in graph.output}
    zipped = {node.output[0]: node.input[0] for node in graph.node if node.op_type == "ZipMap"}
    return {name: zipped.get(name, name) for name in names}, session


def _litert(data: bytes) -> Any:
    try:
        litert = importlib.import_module("ai_edge_litert.interpreter")
    except ImportError as error:
        raise ToolError(
            "LiteRT: not installed, expected the Python package. Install it with: pip install ai-edge-litert"
        ) from error
    try:
        interpreter = litert.Interpreter(
            model_content=data,
            experimental_op_resolver_type=litert.OpResolverType.BUILTIN_REF,
            experimental_preserve_all_tensors=True,
            num_threads=1,
        )
        interpreter.allocate_tensors()
    except (RuntimeError, ValueError) as error:
        raise _RefusedError(f"LiteRT refuses the model, got {' '.join(str(error).split())[:160]}") from error
    return interpreter


def _refused_by_tflm(graph: Graph) -> str | None:
    """Returns why the interpreter is known to fail on the model; None if no reason is known.

    Such a model is never given to it: it would print on standard error, and a depthwise convolution with an absent bias
    would crash the process.
    """
    for node in [node for each in (graph, *graphs(graph)) for node in each.nodes]:
        if node.op == "depthwise_conv2d" and None in node.inputs:
            return f"{node.op} {node.name} has an absent bias, at which tflite-micro crashes"
        types = {tensor.dtype for tensor in node.operands}
        if node.output.dtype is DType.FLOAT32 and {DType.FLOAT32, DType.INT8} <= types:
            return f"{node.op} {node.name} has float32 activations and int8 weights, which tflite-micro refuses"
    return None


def _interpreter(graph: Graph, data: bytes) -> Any:
    try:
        runtime = importlib.import_module("tflite_micro").runtime
    except ImportError as error:
        raise ToolError(
            "tflite-micro: not installed, expected the Python package. Install it with: pip install --pre tflite-micro"
        ) from error
    arena = _ARENA_BYTES + 2 * sum(tensor.type.bytes for tensor in graph.tensors())
    try:
        return runtime.Interpreter.from_bytes(
            data, arena_size=arena, intrepreter_config=runtime.InterpreterConfig.kPreserveAllTensors
        )
    except RuntimeError as error:
        raise _RefusedError(f"tflite-micro refuses the model, got {error}") from error
