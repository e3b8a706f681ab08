"""Quantises a model of real numbers: from a model file and samples to a model file of integers, and what it costs."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass
from pathlib import Path

from aboard import frameworks, outputs
from aboard.errors import InputError, ModelError
from aboard.exporters import onnx, tflite
from aboard.importers import identifier, load
from aboard.ir import DType, Graph
from aboard.ir.rewriting import free_name
from aboard.passes import run_passes
from aboard.passes.quantise_border import QuantiseBorder
from aboard.quantization import accuracy, budget, calibration, costs, samples, scaling
from aboard.quantization.accuracy import Accuracy
from aboard.quantization.budget import Limits
from aboard.quantization.calibration import Calibrated
from aboard.quantization.costs import Costs
from aboard.quantization.insertion import integer_graph, real_graph
from aboard.quantization.layers import LayerFigures, figures
from aboard.quantization.plan import Plan, nodes_of_reals
from aboard.quantization.prepare import prepare
from aboard.quantization.samples import Data
from aboard.quantization.sensitivity import sensitivities
from aboard.quantization.types import integer_types
from aboard.target import Target

#: The core whose instructions are predicted without another target.
DEFAULT_TARGET = "c -mcpu=cortex-m4"

#: Samples with which the sensitivity of one layer after another is measured.
_MOST_TRIED = 16


#: The formats of quantised models, by the suffix of their files.
FORMATS = {".tflite": "tflite", ".onnx": "onnx"}


@dataclass(frozen=True)
class Quantized:
    """A quantised model.

    Attributes:
        model: The bytes of its file.
        file_format: `tflite` or `onnx`.
        name: Name of the model that it was made from.
        layers: What each layer costs in accuracy, in execution order.
        accuracy: Figures over the test samples.
        costs: RAM, constants, and predicted instructions and time on the target; None if it cannot compile the model.
        target: The target of the costs.
        notes: What the user should know, as sentences.
    """

    model: bytes
    file_format: str
    name: str
    layers: tuple[LayerFigures, ...]
    accuracy: Accuracy
    costs: Costs | None
    target: Target
    notes: tuple[str, ...]

    def save(self, path: str | Path, *, force: bool = False) -> Path:
        """Writes the file of the quantised model.

        Args:
            path: The file; its suffix is that of the format.
            force: Overwrite a file that aboard did not write, or that was changed since.

        Raises:
            InputError: Another suffix, or the file cannot be written.
        """
        if format_of(Path(path)) != self.file_format:
            raise InputError(
                f"{path}: suffix of a quantised model, got {Path(path).suffix}, expected .{self.file_format}. Name the "
                f"file {Path(path).stem}.{self.file_format}, or quantise with file_format"
            )
        outputs.write_file(Path(path), outputs.sealed(self.model), force=force)
        return Path(path)


def format_of(path: Path) -> str:
    """Returns the format of a quantised model by the suffix of its file.

    Raises:
        InputError: The suffix is that of no format.
    """
    found = FORMATS.get(path.suffix)
    if found is None:
        raise InputError(
            f"{path}: suffix of a quantised model, got {path.suffix or 'none'}, expected .tflite or .onnx. Name the "
            f"file {path.stem}.tflite"
        )
    return found


def quantize(
    model: str | Path | bytes | object,
    data: Data,
    *,
    io: str = "int8",
    file_format: str | None = None,
    target: str | Target | None = None,
    limits: Limits | None = None,
    dimensions: Mapping[str, int] | None = None,
    example_inputs: object = None,
    on_step: Callable[[str], None] = lambda _: None,
) -> Quantized:
    """Quantises a model to int8, and layers that need it to int16 or not at all.

    Weights have 8 bits, in convolutions with a scale for each channel. Layers that have no form in integers compute
    real numbers. The choices are those with the least error at the outputs, which samples measure.

    Args:
        model: A model of real numbers: a file or an object, as for `aboard.compile`.
        data: Samples: the path of a `.npz` file, arrays by the names of inputs, or one array. At least some ten, better
            100, like those that the model will see. With labels `y`, accuracy is measured.
        io: Element type of inputs and outputs: `int8`, or `float`. In ONNX files they are float; `-io=int8` of a target
            makes them integers.
        file_format: `tflite` or `onnx`; by default TFLite, and ONNX for a model with nodes that have no form in TFLite.
        target: Whose RAM, instructions and time are predicted, and bounded by `limits`.
        limits: Accuracy that may be lost, and what may be spent for it; None for int8 throughout.
        dimensions: Sizes of free dimensions of an ONNX file by their name; a batch is 1 by default.
        example_inputs: As for `aboard.compile`.
        on_step: Called with the name of each step.

    Raises:
        ModelError: The model cannot be read, is quantised already, keeps state or has decision trees, or it has no form
            in the format.
        InputError: The samples cannot be read or do not fit; or no choice within the limits is accurate enough.
        TargetError: The target is wrong.
        ExtraError: The framework that converts the model is not installed.
    """
    chosen = Target(target if target is not None else DEFAULT_TARGET)
    file, name_of_class = frameworks.as_file(model, example_inputs)
    graph = load(file, identifier(name_of_class) if name_of_class else None, dimensions)
    prepare(graph)
    given = samples.read(data, graph)
    scaled = scaling.scale_inputs(graph, given.calibration)
    if scaled:
        io = "float"
    found = calibration.calibrate(graph, given.calibration, on_step, scaled)
    wide = integer_types(graph, found.plan, DType.INT16)
    wider = {name: dtype if dtype is DType.INT16 else DType.FLOAT32 for name, dtype in wide.items()}
    on_step("measuring layers")
    few = slice(None, None, max(1, len(found.inputs) // _MOST_TRIED))
    known = sensitivities(graph, found.plan, wider, found.inputs[few], found.exact[few])
    on_step("running the test")
    exact = accuracy.outputs(graph, given.test)

    kind = file_format or _suitable(found, io)
    border = "float" if kind == "onnx" else io
    said = f"quantised by aboard {outputs.SEAL}"

    def written(plan: Plan) -> bytes:
        if kind == "onnx":
            return onnx.write(real_graph(found.graph, plan), said)
        return tflite.write(finished(found, plan, border), said)

    def measured(plan: Plan) -> Accuracy:
        # A TFLite file is measured itself; of an ONNX file, the integer layers that it becomes.
        made = finished(found, plan, border) if kind == "onnx" else load(written(plan), name=graph.name)
        return accuracy.compare(exact, accuracy.outputs(made, given.test), given.labels)

    def cost(plan: Plan) -> Costs:
        return costs.of_model(written(plan), chosen)

    plan = budget.choose(found.plan, known, limits or Limits(), measured, cost)
    data_of = written(plan)
    notes = [*graph.notes, *_notes(graph, plan, scaled, len(found.inputs))]
    return Quantized(
        data_of,
        kind,
        graph.name,
        figures(found, plan, known, lambda p: costs.if_compiled(written(p), chosen)),
        measured(plan),
        costs.if_compiled(data_of, chosen),
        chosen,
        tuple(notes),
    )


def _suitable(found: Calibrated, io: str) -> str:
    """Returns the format that can say all nodes: TFLite if it can, else ONNX."""
    try:
        tflite.write(finished(found, found.plan, io))
    except ModelError:
        return "onnx"
    return "tflite"


def finished(found: Calibrated, plan: Plan, io: str) -> Graph:
    """Returns the integer graph of a plan, its tensors under the names of the model file.

    Raises:
        ModelError: Inputs cannot be integers.
    """
    made = integer_graph(found.graph, plan, inputs=io != "float")
    if io != "float":
        run_passes(made, [QuantiseBorder(io)])
    _restore_names(made)
    return made


def _restore_names(graph: Graph) -> None:
    """Gives tensors of integers the names of the real numbers that they stand for."""
    for tensor in graph.tensors():
        name, _, kind = tensor.name.rpartition("/")
        if kind in ("int8", "int16") and free_name(graph, name) == name:
            tensor.name = name
    for node in graph.nodes:
        node.name = node.output.name


def _notes(graph: Graph, plan: Plan, scaled: Collection[str], count: int) -> list[str]:
    notes = []
    if scaled:
        notes.append(
            "Inputs and outputs stay float32, and inputs are scaled in real numbers: 8 bits cannot hold channels of "
            "such different sizes. For int8 inputs, scale them to one range before the model."
        )
    reals = [node for node in nodes_of_reals(graph) if plan.dtype(node) is DType.FLOAT32 and node.name not in scaled]
    if reals:
        kinds = ", ".join(sorted({node.op for node in reals}))
        notes.append(f"{len(reals)} nodes compute real numbers, as they have no form in integers: {kinds}.")
    if count < 20:
        notes.append(f"Ranges come from {count} samples; give some 100, like those that the model will see.")
    return notes
