"""`aboard deploy`: compiles, creates, builds and runs in one command."""

from __future__ import annotations

import re
import shutil
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import click

from aboard import boards, outputs, runners
from aboard.api import create
from aboard.base.scratch import Scratch
from aboard.boards.board import Board
from aboard.cli import build as builds
from aboard.cli import choice
from aboard.cli import run as runs
from aboard.cli.console import Console
from aboard.cli.create import compile_all
from aboard.cli.model import Compiled
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
    output_dir_option,
    output_option,
    pass_console,
    place_options,
    profile_option,
    tuning_option,
)
from aboard.cli.output_options import output_options
from aboard.cli.schema_project import DeployResult
from aboard.device import input_files
from aboard.errors import CapacityError
from aboard.project import build, device_options, mlperf, suitability, templates
from aboard.project.create import subject
from aboard.project.project import Project
from aboard.runners import Runner
from aboard.target import Target, runtimes

if TYPE_CHECKING:
    from aboard.project.build_result import BuildResult


@contextmanager
def folder_of(output_dir: Path | None) -> Iterator[Path]:
    """Yields the folder of `-o`, or a temporary folder."""
    if output_dir is not None:
        yield output_dir
        return
    with Scratch() as temporary:
        yield temporary / "project"


@dataclass(frozen=True)
class Plan:
    """Where and how a model is deployed. Everything that can be checked before compiling has been checked.

    Attributes:
        board: The board.
        runner: What runs the image, not started.
        template: Name of the template; None for the board's own.
        options: The template's options.
        toolchain: Name of the toolchain; None to choose by rule.
    """

    board: Board
    runner: Runner
    template: str | None
    options: Mapping[str, str]
    toolchain: str | None


@click.command(
    "deploy",
    epilog=example(
        "aboard deploy digits --board arm/mps2_an386",
        "aboard deploy kws.tflite --board riscv/qemu_virt32 --input x.npy --output y.npz -o build/kws --json",
    ),
)
@model_argument
@place_options
@output_dir_option("build/NAME-BOARD, unless a project of another model is there")
@force_option
@input_option
@output_option
@means_options
@name_option
@opt_option
@tuning_option
@profile_option
@output_options
@pass_console
def command(
    console: Console,
    model: str,
    place: Place,
    output_dir: Path | None,
    force: bool,
    source: str,
    output: Path | None,
    means: Means,
    name: str | None,
    opt: str | None,
    tuning: Path | None,
    profile: bool,
) -> None:
    """Compile MODEL, create a project, build it, boot it and run one inference.

    The project stays in the folder of -o. To run it again, use `aboard run`.
    """
    if output is not None:
        input_files.check_output(output, force=force)
    plan = prepare(place, means)
    (module,) = compile_all(console, [model], place, name=name, opt=opt, tuning=tuning, toolchain=means.toolchain)
    feed = runs.read_input(source, module.manifest)
    folder = output_dir or Path("build") / f"{module.name}-{re.sub('[/:]', '_', plan.board.id)}"
    if output_dir is None and not force:
        outputs.refuse_other(folder, subject([module], plan.board))
    project, built = make(console, [module], plan, folder, force=force)
    outcome = runs.infer(console, project, plan.runner, project.models[0], feed, profile)
    if output is not None:
        input_files.save(output, outcome.run.outputs, force=force)
    manifest = module.manifest
    result = DeployResult(
        **runs.describe(outcome).model_dump(),
        target=manifest.target,
        macs=manifest.macs,
        macs_run=manifest.macs_run,
        ram_lower_bound_bytes=manifest.ram_lower_bound_bytes,
        weights_bytes=manifest.weights_bytes,
        toolchain=builds.describe_toolchain(built.toolchain),
    )
    console.emit(result, lambda: runs.report(result, outcome))


def prepare(place: Place, means: Means) -> Plan:
    """Checks everything that can be checked before a model is compiled.

    If no emulator supports the board, or a device or port is named, the first suitable tool flashes the board.

    Raises:
        AboardError: Board, runner, template, an option or the toolchain is unknown, unsuitable or not installed.
    """
    board = boards.load(place.board_name())
    mlperf.refuse_session(means.options)
    target = None if place.target is None else Target(place.target)
    of_runtime = None if target is None else runtimes.template_name(target)
    name = means.template or of_runtime or templates.default(board.id, is_host=board.is_host)
    template = templates.load(name)
    if means.template is not None:
        template.parse_options(means.options, device_options.offered(template, [] if target is None else [target]))
        template.require_server()
    suitability.check(template, board)
    build.check(board, means.template, means.toolchain)
    devices = [] if target is None else runners.needed(target.devices, means.options)
    runner = choice.runner(board, devices, means.runner, means.device, means.port, means.farm, flash=True)
    return Plan(board, runner, means.template, means.options, means.toolchain)


def make(
    console: Console,
    modules: Sequence[Compiled],
    plan: Plan,
    folder: Path,
    *,
    force: bool = False,
    further: Mapping[str, str] | None = None,
) -> tuple[Project, BuildResult]:
    """Creates a project and builds it. Removes the project if it does not fit the board's memory.

    Args:
        console: For progress.
        modules: The models.
        plan: Where and how.
        folder: Folder of the project.
        force: Overwrite files of the project's names that aboard did not write.
        further: Options of the template in addition to those of the plan.

    Raises:
        AboardError: The models do not fit, or the build failed.
    """
    was_there = folder.exists()
    options = {**plan.options, **(further or {})}
    with console.step("creating the project"):
        project = create(modules, plan.board, plan.template, folder, options, force)
    try:
        return project, builds.build(console, project, plan.toolchain)
    except CapacityError:
        if not was_there:
            shutil.rmtree(folder, ignore_errors=True)
        raise
