"""Images with MLPerf Tiny's device protocol (`-O protocol=mlperf`): the inputs and results of each benchmark.

`firmware/mlperf/` serves the protocol; docs/how-to/mlperf.md describes its messages.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

from aboard.base.manifest import Manifest
from aboard.base.manifest_records import TensorRecord
from aboard.errors import ProjectError
from aboard.project.templates import OptionValue

#: Value of the option `protocol`, and name of the server's folder in `firmware/`.
PROTOCOL = "mlperf"
#: Options of the RPC server. Images with this protocol do not have them.
RPC_OPTIONS = ("profile", "trace", "run_op", "input_copy", "power_pin", "power_pin_layers", "application")
_FLOAT_BYTES = 4
_TYPES = ("int8", "uint8", "float32")

Input = Literal["raw", "pixels", "float32"]
Results = Literal["values", "error"]


@dataclass(frozen=True)
class Benchmark:
    """A benchmark of MLPerf Tiny.

    Attributes:
        name: Name of the model on the device, and of the script of the runner.
        model: Prefix of the names of models for the benchmark.
        input: Form of the input that the runner loads: the tensor itself, unsigned pixels for int8, or float32 for
            int8.
        results: Results that the runner expects: the outputs, or the mean squared error between input and output.
    """

    name: str
    model: str
    input: Input = "raw"
    results: Results = "values"


#: From the reference submissions of github.com/mlcommons/tiny (benchmark/reference_submissions).
BENCHMARKS = (
    Benchmark("kws01", "kws"),
    Benchmark("sww01", "sww"),
    Benchmark("vww01", "vww", "pixels"),
    Benchmark("ic01", "ic", "pixels"),
    Benchmark("ad01", "ad", "float32", "error"),
)


@dataclass(frozen=True)
class Service:
    """The benchmark that an image serves, with its buffers.

    Attributes:
        model: The model.
        benchmark: The benchmark.
        db_bytes: Bytes of an input in the form that the runner loads.
        quantized_bytes: Bytes of the input in the model's type if the input must be converted; else 0.
    """

    model: Manifest
    benchmark: Benchmark
    db_bytes: int
    quantized_bytes: int

    @property
    def buffers(self) -> int:
        """Bytes of RAM for inputs."""
        return self.db_bytes + self.quantized_bytes


def asked_for(options: Mapping[str, OptionValue]) -> bool:
    """True if the options of a template choose this protocol."""
    return options.get("protocol") == PROTOCOL


def adjust(given: Mapping[str, OptionValue], values: Mapping[str, OptionValue]) -> dict[str, OptionValue]:
    """Returns the options of a template for this protocol, with the options of the RPC server off.

    Args:
        given: Options that the user chose.
        values: The values of all options.

    Raises:
        ProjectError: The user chose an option that only the RPC server has.
    """
    if not asked_for(values):
        return dict(values)
    wanted = [name for name in RPC_OPTIONS if name in given and values[name]]
    if wanted:
        raise ProjectError(
            f"option protocol: {PROTOCOL} has no {' and no '.join(wanted)}, got {wanted[0]}=on, expected the RPC for "
            f"that. Leave out -O {wanted[0]}, or -O protocol={PROTOCOL}"
        )
    return {**values, **{name: False for name in RPC_OPTIONS if name in values}}


def refuse_session(options: Mapping[str, OptionValue]) -> None:
    """Checks that an image serves the RPC.

    Raises:
        ProjectError: The image serves this protocol.
    """
    if asked_for(options):
        raise ProjectError(
            f"project: speaks another protocol, got {PROTOCOL}, expected rpc. Drive it with MLPerf Tiny's runner "
            "(docs/how-to/mlperf.md), or create it again without -O protocol"
        )


def plan(models: Sequence[Manifest], options: Mapping[str, OptionValue]) -> Service:
    """Returns the benchmark of an image, with its buffers.

    Args:
        models: The models of the image.
        options: The options of the template.

    Raises:
        ProjectError: The benchmark does not fit the models.
    """
    if len(models) != 1 or len(models[0].inputs) != 1 or len(models[0].outputs) != 1:
        names = ", ".join(model.name for model in models)
        raise ProjectError(
            f"option protocol: {PROTOCOL} serves one model with one input and one output, got {names} "
            f"({_tensors(models)}), expected one. Make a project for each model, or use -O protocol=rpc"
        )
    model = models[0]
    if model.input_mode == "rows":
        raise ProjectError(
            f"option protocol: {PROTOCOL} loads inputs whole, got {model.name} compiled with -input=rows, expected "
            "another -input. Compile it with -input=consumed, or use -O protocol=rpc"
        )
    benchmark = _benchmark(model, str(options.get("mlperf_model", "auto")))
    taken, given = model.inputs[0], model.outputs[0]
    if given.dtype not in _TYPES or (benchmark.input != "raw" and taken.dtype != "int8"):
        expected = "int8" if benchmark.input != "raw" else f"an output of {', '.join(_TYPES)}"
        raise ProjectError(
            f"{model.name}: {benchmark.name} is not told in its types, got {taken.dtype} and {given.dtype}, expected "
            f"{expected}. Use a quantized model, or name another benchmark with -O mlperf_model="
        )
    if benchmark.results == "error" and (given.dtype, given.bytes) != (taken.dtype, taken.bytes):
        raise ProjectError(
            f"{model.name}: {benchmark.name} compares output and input, got {_form(given)} and {_form(taken)}, "
            "expected the same. Name another benchmark with -O mlperf_model="
        )
    converted = benchmark.input == "float32"
    return Service(model, benchmark, taken.bytes * (_FLOAT_BYTES if converted else 1), taken.bytes if converted else 0)


def _benchmark(model: Manifest, wanted: str) -> Benchmark:
    """Returns a benchmark by its name, else by the name of the model; else a benchmark named after the model."""
    named = next((known for known in BENCHMARKS if known.name == wanted), None)
    fitting = (known for known in BENCHMARKS if model.name.lower().startswith(known.model))
    return named or next(fitting, None) or Benchmark(model.name, model.name)


def _tensors(models: Sequence[Manifest]) -> str:
    return "; ".join(f"{len(model.inputs)} inputs and {len(model.outputs)} outputs" for model in models)


def _form(tensor: TensorRecord) -> str:
    return f"{tensor.dtype} {'x'.join(map(str, tensor.shape))}"
