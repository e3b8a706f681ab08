"""`aboard report`: writes what a model costs on a target, and why, to one HTML file."""

from __future__ import annotations

import shlex
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import click

from aboard import outputs
from aboard.base.table import amount, facts
from aboard.base.version import VERSION
from aboard.cli import deploy, verdict
from aboard.cli import model as models
from aboard.cli import run as runs
from aboard.cli.console import Console
from aboard.cli.options import (
    Means,
    Place,
    example,
    force_option,
    input_option,
    means_options,
    model_argument,
    name_option,
    opt_option,
    pass_console,
    place_options,
    tuning_option,
)
from aboard.cli.output_options import output_options
from aboard.cli.schema_report import ReportResult
from aboard.cli.schema_verdict import Verdict

if TYPE_CHECKING:
    from aboard.compiler.pipeline import Module
    from aboard.project.build_result import BuildResult
    from aboard.project.project import Project
    from aboard.reports.flash import FlashBreakdown
    from aboard.reports.page import Report
    from aboard.reports.summary import BoardVerdict, Measured


@dataclass(frozen=True)
class _Image:
    """Figures of an image, which is deleted once the page is written."""

    flash: FlashBreakdown
    measured: Measured | None
    time: tuple[str, str] | None
    board: str
    runner: str | None
    tools: tuple[tuple[str, str], ...]


@click.command(
    "report",
    epilog=example(
        "aboard report kws.tflite --board arm/mps2_an386 --profile -o kws.html",
        'aboard report digits --target "c -mcpu=cortex-m0" -o digits.html --json',
    ),
)
@model_argument
@place_options
@click.option(
    "-o",
    "--output",
    metavar="FILE",
    type=click.Path(path_type=Path),
    help="The HTML file to write. Default: NAME.html.",
)
@force_option
@click.option("--build", is_flag=True, help="Build an image to measure its flash.")
@click.option(
    "--profile",
    is_flag=True,
    help="Build an image, run it and measure every layer. Without it, instructions are predicted.",
)
@click.option(
    "--anchors",
    metavar="FILE",
    type=click.Path(path_type=Path),
    help="Figures of other systems. Default: the file that ABOARD_ANCHORS names, or the figures in aboard.",
)
@input_option
@means_options
@name_option
@opt_option
@tuning_option
@output_options
@pass_console
def command(
    console: Console,
    model: str,
    place: Place,
    output: Path | None,
    force: bool,
    build: bool,
    profile: bool,
    anchors: Path | None,
    source: str,
    means: Means,
    name: str | None,
    opt: str | None,
    tuning: Path | None,
) -> None:
    """Write a report of MODEL on a target: one HTML file with pictures and tables.

    The report shows memory over time and the layers that set its peak, the instructions of each layer next to the lower
    bound of the core, and the parts of the flash. For known models it also shows the figures of other systems. Only
    --profile measures; without it, figures are predicted.
    """
    if output is not None:
        outputs.check_file(output, force=force)
    plan = None
    if build or profile:
        plan = deploy.prepare(place, means)
    with console.step(f"compiling {model}"):
        module = models.compile_file(model, place, name=name, opt=opt, tuning=tuning, toolchain=means.toolchain)
    path = output or Path(f"{module.name}.html")
    outputs.check_file(path, force=force)
    with models.whole_installation(model):
        from aboard.reports import anchors as others

        comparison = others.compare(module.manifest, anchors)
    image = None if plan is None else _image(console, module, plan, source, profile=profile)
    given: dict[str, object] = {
        "--target": place.target,
        "--board": place.board,
        "--build": build and not profile,
        "--profile": profile,
        "--anchors": anchors,
        "--input": source if profile and source != "random:0" else None,
        "--template": means.template,
        "--runner": means.runner,
        "--toolchain": means.toolchain,
        "--name": name,
        "--opt": opt,
        "--tuning": tuning,
        "-o": path,
    }
    from aboard.reports import page

    found = verdict.verdict(module.manifest, module.target.hardware)
    with console.step("weighing schedules"):
        told = page.Report(
            module=module,
            trade=module.trade(),
            comparison=comparison,
            measured=None if image is None else image.measured,
            flash=None if image is None else image.flash,
            tools=(("aboard", VERSION), *(() if image is None else image.tools)),
            command=_again(model, given, means.options),
            verdict=_verdict(found, module.target.hardware, image),
        )
    outputs.write_file(path, outputs.sealed(page.html(told).encode()), force=force)
    result = _describe(path, told, image, found)
    console.emit(result, lambda: _text(result))


def _image(console: Console, module: Module, plan: deploy.Plan, source: str, *, profile: bool) -> _Image:
    """Builds an image in a temporary folder, and runs it with --profile."""
    feed = runs.read_input(source, module.manifest)
    with deploy.folder_of(None) as folder:
        project, built = deploy.make(console, [module], plan, folder)
        measured, time = None, None
        if profile:
            outcome = runs.infer(console, project, plan.runner, project.models[0], feed, profile=True)
            measured, ran = _measured(outcome, plan), runs.describe(outcome)
            time = verdict.run_time(ran.seconds, ran.estimated_time)
        return _Image(
            flash=_flash(project, built, module),
            measured=measured,
            time=time,
            board=plan.board.id,
            runner=plan.runner.name if profile else None,
            tools=_tools(built, plan, profile=profile),
        )


def _verdict(found: Verdict, board: str | None, image: _Image | None) -> BoardVerdict | None:
    """Returns the verdict for the head of the page: measured where an image was built or run, else predicted."""
    from aboard.reports.summary import BoardVerdict

    if found.memory is None or board is None:
        return None
    memory, time = found.memory, verdict.run_time(None, found.estimated_time)
    ram, flash = (
        (value, f"{how}: {items}")
        for how, (value, items) in (("planned", verdict.need(memory.ram)), ("predicted", verdict.need(memory.flash)))
    )
    if image is not None:
        sizes, time = image.flash.sizes, image.time or time
        ram = verdict.of(sizes.ram_needed_bytes, memory.ram.available_bytes), "measured: data, bss and stack"
        flash = verdict.of(sizes.image_flash_bytes, memory.flash.available_bytes), "measured: the whole image"
    facts = [("Time", *time), ("RAM", *ram), ("Flash", *flash)]
    return BoardVerdict(board, bool(found.fits), found.memory.problems, facts)


def _flash(project: Project, built: BuildResult, module: Module) -> FlashBreakdown:
    from aboard.reports import flash

    return flash.of(project.image, built.sizes, module.name)


def _tools(built: BuildResult, plan: deploy.Plan, *, profile: bool) -> tuple[tuple[str, str], ...]:
    ran = [(plan.runner.name, plan.runner.version() or "")] if profile else []
    return (built.toolchain.name, built.toolchain.version), *ran


def _measured(outcome: runs.Outcome, plan: deploy.Plan) -> Measured:
    from aboard.reports.summary import Measured

    run = outcome.run
    durations = [entry.duration for entry in outcome.profile.nodes] if outcome.profile is not None else []
    where, stack = f"{plan.board.id} ({plan.runner.name})", run.stack_bytes or None
    if run.instructions is not None:
        return Measured("instructions", tuple(d.instructions or 0 for d in durations), run.instructions, stack, where)
    cycles = runs.cycles(outcome.project, outcome)
    return Measured("ticks" if cycles is None else "cycles", tuple(d.ticks for d in durations), run.ticks, stack, where)


def _again(model: str, given: Mapping[str, object], options: Mapping[str, str]) -> str:
    """Returns the command line that writes the page again."""
    words = ["aboard", "report", model]
    for option, value in given.items():
        if value is True:
            words.append(option)
        elif value is not None and value is not False:
            words += [option, str(value)]
    for key, text in options.items():
        words += ["-O", f"{key}={text}"]
    return shlex.join(words)


def _describe(path: Path, told: Report, image: _Image | None, found: Verdict) -> ReportResult:
    from aboard.reports import anchors as others

    manifest, measured = told.module.manifest, told.measured
    predicted = sum(node.estimated_instructions or 0 for node in manifest.nodes)
    return ReportResult(
        **vars(found),
        path=str(path),
        name=manifest.name,
        model_hash=manifest.model_hash,
        target=manifest.target,
        board=told.module.target.hardware if image is None else image.board,
        runner=None if image is None else image.runner,
        unit="instructions" if measured is None else measured.unit,
        measured=measured is not None,
        total=predicted if measured is None else measured.total,
        ram_bytes=manifest.ram_bytes,
        ram_lower_bound_bytes=manifest.ram_lower_bound_bytes,
        flash_bytes=None if told.flash is None else told.flash.sizes.model_flash_bytes,
        stack_bytes=None if measured is None else measured.stack,
        known_as=others.known_as(manifest.model_hash),
        compared_with=[] if told.comparison is None else [system.name for system in told.comparison.systems],
    )


def _text(result: ReportResult) -> str:
    how = "measured" if result.measured else "predicted"
    lines = [(name, f"{value}: {remark}") for name, value, remark in verdict.rows(result, result.board)]
    flash = "not built (--build)" if result.flash_bytes is None else f"{amount(result.flash_bytes)} of the model"
    return facts(
        [
            ("model", result.name),
            ("target", result.target),
            (result.unit, f"{result.total:,} {how}"),
            ("RAM", f"{amount(result.ram_bytes)}, proven bound {result.ram_lower_bound_bytes:,}"),
            ("flash", flash),
            ("stack", None if result.stack_bytes is None else f"{amount(result.stack_bytes)} at most"),
            *lines,
            ("beside", ", ".join(result.compared_with) or None),
            ("report", result.path),
        ]
    )
