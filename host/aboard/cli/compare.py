"""`aboard compare`: two models, or two ways of running one, layer by layer."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import TYPE_CHECKING

import click

from aboard.base.manifest import label
from aboard.base.table import Label, facts, table
from aboard.base.wrapping import paragraph
from aboard.cli import model as models
from aboard.cli.console import Console
from aboard.cli.options import example, pass_console
from aboard.cli.output_options import output_options
from aboard.cli.schema_compare import ComparedLayer, ComparedOutput, CompareResult, DefectInfo
from aboard.errors import ModelError

if TYPE_CHECKING:
    from aboard.check.compare import Comparison, LayerDifference

_DEFECT = 1
_SAMPLES = 16

#: Channels that are listed.
_LISTED = 12

_WORDS = {
    "equal": "equal: all results are the same",
    "rounding": "rounding: no layer differs by more than what integers cannot hold",
    "limits": "limits: results beyond the range of the integers are cut off, as for samples unlike the calibration's",
}


@click.command(
    "compare",
    epilog=example(
        "aboard compare digits_f32 digits --data samples.npz",
        "aboard compare model.onnx model_int8.tflite@arm/mps2_an386 --data samples.npz --json",
        "aboard compare kws.tflite@litert kws.tflite@host --data samples.npz",
    ),
)
@click.argument("a", metavar="A")
@click.argument("b", metavar="B")
@click.option(
    "--data",
    metavar="SAMPLES.npz",
    required=True,
    type=click.Path(path_type=Path),
    help="Inputs `x`, or arrays by the names of A's inputs: integers as A takes them, or real numbers.",
)
@click.option(
    "--samples",
    type=click.IntRange(min=1),
    metavar="N",
    default=_SAMPLES,
    show_default=True,
    help="How many samples count at most; they are spread over all.",
)
@output_options
@pass_console
def command(console: Console, a: str, b: str, data: Path, samples: int) -> int:
    """Compare model B with model A, layer by layer, and name the first layer of B that is wrong.

    A and B are a model file each, float or quantised, TFLite or ONNX, or FILE@RUN. RUN is what runs the model: tflm,
    litert (reference kernels), onnxruntime, numpy, host (the compiled C on this machine), or a board (`aboard boards`).

    Each layer of B is judged by A's layer on the operands that B had, so that what layers in front add does not count.
    Exits with 1 if a layer differs by more than what integers cannot hold, and prints its channels and the likely
    cause: scale, zero point, padding, transposition, activation, overflow.
    """
    with models.whole_installation(a):
        from aboard.check.compare import compare

    with console.step(f"comparing {b} with {a}"):
        found = compare(a, b, data, most=samples, find=_model_file)
    result = describe(found)
    console.emit(result, lambda: _text(result))
    return 0 if result.defect is None else _DEFECT


def _model_file(text: str) -> Path:
    path = models.find(text)
    if models.is_bundle(path):
        raise ModelError(f"{path}: a bundle, expected the model file. Name the .tflite or .onnx file")
    return path


def describe(found: Comparison) -> CompareResult:
    """Returns a comparison as JSON has it."""
    defect = found.defect
    return CompareResult(
        a=found.a,
        b=found.b,
        samples=found.samples,
        state=found.state.value,
        outputs=[
            ComparedOutput(
                a=output.a,
                b=output.b,
                max_abs_diff=output.largest,
                steps=_rounded(output.steps),
                snr_db=_rounded(output.snr_db),
                agreement=output.agreement,
            )
            for output in found.outputs
        ],
        defect=None
        if defect is None
        else DefectInfo(
            layer=_layer(defect.layer),
            cause=defect.explanation.cause.value,
            detail=defect.explanation.detail,
            channels=list(defect.channels),
            channels_of=defect.of,
        ),
        layers=[_layer(layer) for layer in found.layers],
        unpaired_a=list(found.unpaired_a),
        unpaired_b=list(found.unpaired_b),
    )


def _layer(layer: LayerDifference) -> ComparedLayer:
    return ComparedLayer(
        a=layer.a,
        b=layer.b,
        op=layer.op,
        operator_a=layer.operator,
        operator_b=layer.operator_b,
        state=layer.state.value,
        own_db=_rounded(layer.own_db),
        total_db=_rounded(layer.total_db),
        steps=_rounded(layer.steps),
    )


def _rounded(value: float | None) -> float | None:
    return None if value is None else round(value, 2)


def _text(result: CompareResult) -> str:
    defect = result.defect
    rows: list[tuple[str, object]] = [("A", result.a), ("B", result.b), ("samples", result.samples)]
    rows += [("output", _output(output)) for output in result.outputs]
    if defect is None:
        rows.append(("result", _WORDS[result.state]))
    else:
        place = "" if defect.layer.operator_a is None else f", operator {defect.layer.operator_a}"
        rows += [
            ("result", f"defect in {defect.layer.op} {label(defect.layer.a)}{place}"),
            ("cause", f"{defect.cause}: {defect.detail}"),
            ("channels", _channels(defect)),
        ]
    about = paragraph(
        "Signal-to-noise in dB: of B's layer on the operands that B had; of its result with what all layers in front "
        "add. The largest difference on the same operands, in steps of B's integers."
    )
    head = ["layer", "op", "state", "own", "total", "steps"]
    body = [
        (
            Label(each.a),
            each.op,
            each.state,
            _decibels(each.own_db),
            _decibels(each.total_db),
            _steps(each.steps),
        )
        for each in result.layers
    ]
    parts = [facts(rows), f"{about}\n\n{table(head, body)}"]
    return "\n\n".join(parts)


def _output(output: ComparedOutput) -> str:
    steps = "" if output.steps is None else f" ({output.steps:.1f} steps)"
    same = "" if output.agreement is None else f", largest at the same place in {100 * output.agreement:.1f} %"
    ratio = "no difference" if output.snr_db is None else f"{output.snr_db:.1f} dB, at most {output.max_abs_diff:.3g}"
    return f"{label(output.a)}: {ratio}{steps}{same}"


def _channels(defect: DefectInfo) -> str | None:
    if not defect.channels:
        return None
    listed = _names(defect.channels[:_LISTED])
    more = " ..." if len(defect.channels) > _LISTED else ""
    return f"{len(defect.channels)} of {defect.channels_of}: {listed}{more}"


def _names(numbers: Iterable[int]) -> str:
    return ", ".join(map(str, numbers))


def _decibels(value: float | None) -> str:
    return "-" if value is None else f"{value:.1f}"


def _steps(value: float | None) -> str:
    return "-" if value is None else f"{value:.1f}"
