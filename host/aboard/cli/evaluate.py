"""`aboard evaluate`: measures accuracy and time on the device."""

from __future__ import annotations

from pathlib import Path

import click

from aboard.api import Session
from aboard.base.table import amount, facts, table
from aboard.check import evaluate
from aboard.cli import deploy
from aboard.cli.console import Console
from aboard.cli.create import compile_all
from aboard.cli.options import (
    Means,
    Place,
    example,
    force_option,
    means_options,
    model_argument,
    opt_option,
    output_dir_option,
    pass_console,
    place_options,
)
from aboard.cli.output_options import output_options
from aboard.cli.schema_check import EvaluateResult
from aboard.cli.verdict import time_info, time_text
from aboard.device.timing import EstimatedTime


@click.command(
    "evaluate",
    epilog=example("aboard evaluate kws.tflite --board arm/mps2_an386 --data samples.npz --samples 100 --json"),
)
@model_argument
@place_options
@click.option(
    "--data",
    metavar="SAMPLES.npz",
    required=True,
    type=click.Path(path_type=Path),
    help="Inputs `x` and labels `y`; floats are quantised for an integer model.",
)
@click.option("--samples", type=click.IntRange(min=1), metavar="N", help="Only the first N samples.")
@output_dir_option("a temporary folder")
@force_option
@means_options
@opt_option
@output_options
@pass_console
def command(
    console: Console,
    model: str,
    place: Place,
    data: Path,
    samples: int | None,
    output_dir: Path | None,
    force: bool,
    means: Means,
    opt: str | None,
) -> None:
    """Measure accuracy, confusion matrix and time of the classifier MODEL on a board."""
    plan = deploy.prepare(place, means)
    modules = compile_all(console, [model], place, name=None, opt=opt, toolchain=means.toolchain)
    loaded = evaluate.load(data, modules[0].manifest, samples)
    with deploy.folder_of(output_dir) as folder:
        project, _ = deploy.make(console, modules, plan, folder, force=force)
        with (
            Session.open(project, plan.runner, on_log=console.note) as session,
            console.progress("running samples", len(loaded)) as advance,
        ):
            found = evaluate.evaluate(session, loaded, advance)
    clock_hz, first = plan.board.core().clock_hz, found.runs[0].duration
    counts = first.is_real and found.instructions is None and first.tick_hz == clock_hz
    estimated = EstimatedTime.of(modules[0].manifest, found.instructions, clock_hz)
    result = EvaluateResult(
        board=plan.board.id,
        runner=plan.runner.name,
        model=modules[0].name,
        samples=len(loaded),
        accuracy=found.accuracy,
        confusion=found.confusion.tolist(),
        instructions_per_sample=found.instructions,
        cycles_per_sample=found.ticks if counts else None,
        seconds_per_sample=found.seconds,
        estimated_time_per_sample=None if estimated is None else time_info(estimated),
        stack_bytes=found.stack_bytes or None,
    )
    console.emit(result, lambda: _report(result))


def _report(result: EvaluateResult) -> str:
    timed = (
        ("instructions", result.instructions_per_sample)
        if result.cycles_per_sample is None
        else ("cycles", result.cycles_per_sample)
    )
    time = time_text(result.seconds_per_sample, result.estimated_time_per_sample)
    lines = facts(
        [
            ("model", f"{result.model} on {result.board} ({result.runner})"),
            ("samples", result.samples),
            ("accuracy", f"{100 * result.accuracy:.1f} %"),
            timed,
            ("time", None if time is None else f"{time} a sample"),
            ("stack", None if result.stack_bytes is None else f"{amount(result.stack_bytes)} at most"),
        ]
    )
    head = ["label", *(str(i) for i in range(len(result.confusion)))]
    rows = [(str(label), *(count or "." for count in row)) for label, row in enumerate(result.confusion)]
    return f"{lines}\n\nConfusion (row: label, column: prediction)\n\n{table(head, rows)}"
