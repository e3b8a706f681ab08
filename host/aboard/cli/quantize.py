"""`aboard quantize`: makes an int8 model of a model of real numbers."""

from __future__ import annotations

import math
from pathlib import Path
from typing import TYPE_CHECKING

import click

from aboard import boards, outputs
from aboard.base.table import Label, amount, facts, table
from aboard.base.wrapping import paragraph
from aboard.cli import model as models
from aboard.cli.console import Console
from aboard.cli.options import (
    Place,
    dimension_option,
    example,
    force_option,
    model_argument,
    pass_console,
)
from aboard.cli.output_options import output_options
from aboard.cli.schema_quantize import QuantizedLayer, QuantizeResult
from aboard.cli.verdict import duration
from aboard.errors import ModelError
from aboard.reports.prediction import core_name
from aboard.target import Target

if TYPE_CHECKING:
    from aboard.quantization import Quantized


@click.command(
    "quantize",
    epilog=example(
        "aboard quantize digits_f32 --data samples.npz -o digits_int8.tflite",
        "aboard quantize model.onnx --data samples.npz -o model_int8.tflite --board arm/mps2_an386 --drop 0.5",
    ),
)
@model_argument
@click.option(
    "--data",
    metavar="SAMPLES.npz",
    required=True,
    type=click.Path(path_type=Path),
    help="Inputs `x`, or arrays by the names of inputs; labels `y`; `calibration`: inputs that only ranges come from.",
)
@click.option(
    "-o",
    "--output",
    metavar="FILE",
    type=click.Path(path_type=Path),
    help="The file to write, .tflite or .onnx. Default: NAME_int8.tflite, or .onnx for a model with operators that "
    "TFLite has not.",
)
@click.option(
    "--io",
    type=click.Choice(["int8", "float"]),
    default="int8",
    show_default=True,
    help="Element type of inputs and outputs; of an ONNX file they are float.",
)
@click.option(
    "--drop",
    type=click.FloatRange(min=0, max=100),
    metavar="POINTS",
    help="Points of accuracy that may be lost: layers keep 16 bits, or real numbers, until no more are. Without "
    "labels, samples count whose class changes.",
)
@click.option("--ram", type=click.IntRange(min=1), metavar="BYTES", help="RAM of the model at most.")
@click.option(
    "--ms",
    type=click.FloatRange(min=0, min_open=True),
    metavar="MS",
    help="Estimated time of a run at most, in milliseconds; needs --board.",
)
@click.option(
    "--target", "-t", metavar="T", help="Core or board whose RAM and time count. [default: c -mcpu=cortex-m4]"
)
@click.option("--board", "-b", metavar="B", help="Board whose RAM and time count (`aboard boards`).")
@click.option(
    "--report",
    metavar="FILE.html",
    type=click.Path(path_type=Path),
    help="Write a page with the figures of each layer and a picture of them.",
)
@dimension_option
@force_option
@output_options
@pass_console
def command(
    console: Console,
    model: str,
    data: Path,
    output: Path | None,
    io: str,
    drop: float | None,
    ram: int | None,
    ms: float | None,
    target: str | None,
    board: str | None,
    report: Path | None,
    dimensions: tuple[tuple[str, int], ...],
    force: bool,
) -> None:
    """Quantise MODEL, a .tflite or .onnx file of real numbers, to int8.

    Chooses the integers by the error that they cause at the outputs, which the samples measure: some ten at least,
    better 100, like those that the model will see. Prints what each layer costs in accuracy, and what more bits would
    cost. The result is a file that tflite-micro and LiteRT, or onnxruntime, run too.
    """
    with models.whole_installation(model):
        from aboard import quantization as quantizer
        from aboard.quantization.quantizer import format_of

    path = models.find(model)
    if models.is_bundle(path):
        raise ModelError(f"{path}: a bundle, expected a model file of real numbers. Name the .tflite or .onnx file")
    kind = None if output is None else format_of(output)
    for each in (output, report):
        if each is not None:
            outputs.check_file(each, force=force)
    place = Place.chosen(target, board) if target or board else None
    chosen = None if place is None else place.target or boards.load(str(place.board)).target
    limits = quantizer.Limits(drop, ram, None if ms is None else ms / 1000)
    with console.step(f"quantising {model}"):
        found = quantizer.quantize(
            path, data, io=io, file_format=kind, target=chosen, limits=limits, dimensions=dict(dimensions)
        )
    written = output or Path(f"{path.stem}_int8.{found.file_format}")
    found.save(written, force=force)
    if report is not None:
        from aboard.reports import quantized as page

        outputs.write_file(report, outputs.sealed(page.html(found, path.name).encode()), force=force)
    result = _describe(found, path, written, report)
    console.emit(result, lambda: _text(result))


def _describe(found: Quantized, model: Path, written: Path, report: Path | None) -> QuantizeResult:
    costs, accuracy = found.costs, found.accuracy
    return QuantizeResult(
        model=model.name,
        file=str(written),
        file_bytes=len(found.model),
        report=None if report is None else str(report),
        target=str(found.target),
        samples=accuracy.samples,
        output_snr_db=_finite(10 * math.log10(accuracy.snr)) if accuracy.snr > 0 else None,
        accuracy_before=accuracy.before,
        accuracy_after=accuracy.after,
        agreement=accuracy.agreement,
        ram_bytes=None if costs is None else costs.ram_bytes,
        weights_bytes=None if costs is None else costs.flash_bytes,
        predicted_instructions=None if costs is None else costs.instructions,
        estimated_seconds=None if costs is None else costs.seconds,
        layers=[
            QuantizedLayer(
                name=layer.name,
                op=layer.op,
                dtype=layer.dtype,
                snr_db=_finite(layer.snr_db),
                alone_db=_finite(layer.alone_db),
                wide_db=_finite(layer.wide_db),
                wide_dtype=layer.wide_dtype,
                wide_instructions=layer.wide_instructions,
            )
            for layer in found.layers
        ],
        notes=list(found.notes),
    )


def _finite(value: float | None) -> float | None:
    return None if value is None or math.isinf(value) else round(value, 2)


def _text(result: QuantizeResult) -> str:
    time = result.estimated_seconds
    lines = facts(
        [
            ("file", f"{result.file}, {result.file_bytes:,} bytes"),
            ("samples", result.samples),
            ("accuracy", _accuracy(result)),
            ("same class", None if result.agreement is None else f"{100 * result.agreement:.1f} % as in real numbers"),
            ("outputs", _outputs(result.output_snr_db)),
            ("RAM", None if result.ram_bytes is None else amount(result.ram_bytes)),
            ("constants", None if result.weights_bytes is None else amount(result.weights_bytes)),
            ("instructions", _predicted(result)),
            ("time", None if time is None else f"about {duration(time)}, estimated"),
            ("report", result.report),
        ]
    )
    rows = [
        (
            Label(layer.name),
            layer.op,
            layer.dtype,
            _decibels(layer.snr_db),
            _decibels(layer.alone_db),
            _decibels(layer.wide_db),
            layer.wide_instructions,
        )
        for layer in result.layers
    ]
    head = ["layer", "op", "type", "result", "alone", "wider", "costs"]
    about = (
        "Signal-to-noise in dB: of the layer's result; of the scores with this layer alone quantised; of the scores "
        "with more bits for it, and the further instructions that these cost, predicted."
    )
    return "\n\n".join([lines, paragraph(about), table(head, rows), *map(paragraph, result.notes)])


def _outputs(decibels: float | None) -> str:
    return "no error" if decibels is None else f"{decibels:.1f} dB above their error"


def _predicted(result: QuantizeResult) -> str | None:
    if result.predicted_instructions is None:
        return None
    target = Target(result.target)
    where = target.hardware or core_name(str(target.host.attrs["mcpu"]))
    return f"{result.predicted_instructions:,}, predicted for {where}"


def _accuracy(result: QuantizeResult) -> str | None:
    if result.accuracy_before is None or result.accuracy_after is None:
        return None
    return f"{100 * result.accuracy_after:.1f} %, {100 * result.accuracy_before:.1f} % in real numbers"


def _decibels(value: float | None) -> str:
    return "-" if value is None else f"{value:.1f}"
