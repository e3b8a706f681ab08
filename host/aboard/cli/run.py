"""`aboard run`: boots a project's image and runs one inference."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import click
import numpy as np

from aboard import runners
from aboard.api import Session
from aboard.base.table import amount, facts
from aboard.cli import choice, run_estimate
from aboard.cli.console import Console
from aboard.cli.options import (
    device_option,
    example,
    farm_option,
    force_option,
    input_option,
    output_option,
    pass_console,
    port_option,
    profile_option,
    project_argument,
    runner_option,
    save_state_option,
    state_option,
)
from aboard.cli.output_options import output_options
from aboard.cli.schema_project import ProfileRow, RunResult
from aboard.cli.verdict import time_info, time_text
from aboard.cycles import estimate
from aboard.cycles.estimate import CountedCycles
from aboard.device import input_files, tensor_io
from aboard.errors import InputError, ProjectError, did_you_mean
from aboard.project import build
from aboard.project.project import Project
from aboard.runners import Runner

if TYPE_CHECKING:
    from aboard.base.manifest import Manifest
    from aboard.device.timing import Profile
    from aboard.device.timing import RunResult as Run


@dataclass(frozen=True)
class Step:
    """The place of a run in a sequence, for a model with state.

    Attributes:
        begin: The state before the run, by name; None for the initial one.
        keep: Read the state after the run.
    """

    begin: input_files.Named | None = None
    keep: bool = False


@dataclass(frozen=True)
class Outcome:
    """The result of one inference.

    Attributes:
        project: The project.
        manifest: The model that ran.
        runner: Name of the runner.
        run: Outputs, time and stack.
        profile: The time of every operator; None without --profile.
        state: What the run leaves for the next one, by name; None if it was not read.
        counted: Cycles over the executed instructions; None if the runner did not count them.
    """

    project: Project
    manifest: Manifest
    runner: Runner
    run: Run
    profile: Profile | None
    state: input_files.Named | None = None
    counted: CountedCycles | None = None


@click.command(
    "run",
    epilog=example(
        "aboard run build/kws --input random:1",
        "aboard run build/kws --input x.npy --output y.npz --runner unicorn --profile --json",
        "aboard run build/wake --input x.npy --state wake.npz --save-state wake.npz",
    ),
)
@project_argument
@input_option
@output_option
@state_option
@save_state_option
@force_option
@runner_option
@device_option
@port_option
@farm_option
@click.option("--model", metavar="NAME", help="Name of the model, if the project has several.")
@profile_option
@output_options
@pass_console
def command(
    console: Console,
    project: Path,
    source: str,
    output: Path | None,
    state: Path | None,
    save_state: Path | None,
    force: bool,
    runner: str | None,
    device: str | None,
    port: str | None,
    farm: str | None,
    model: str | None,
    profile: bool,
) -> None:
    """Boot the image of the project in DIR and run one inference over RPC.

    Inputs and outputs have their tensor names. The time is that of the inference alone, without the RPC. A model with
    state runs its first step, or the step after that of --save-state.
    """
    opened = Project.open(project)
    if output is not None:
        input_files.check_output(output, force=force)
    manifest = choose(opened, model)
    check_save_state(save_state, output, manifest, force=force)
    begin = None if state is None else read_state(state, manifest)
    step = Step(begin, keep=save_state is not None)
    feed = read_input(source, manifest)
    devices = runners.devices_of(opened)
    chosen = choice.runner(opened.board, devices, runner, device, port, farm)
    outcome = infer(console, opened, chosen, manifest, feed, profile, step)
    if save_state is not None and outcome.state is not None:
        input_files.save(save_state, outcome.state, force=force)
    if output is not None:
        input_files.save(output, outcome.run.outputs, force=force)
    result = describe(outcome)
    console.emit(result, lambda: report(result, outcome))


def choose(project: Project, model: str | None) -> Manifest:
    """Returns the manifest of the named model, or of the only one.

    Raises:
        InputError: There are several and none is named, or no model has the name.
    """
    names = [manifest.name for manifest in project.models]
    if model is None and len(names) == 1:
        return project.models[0]
    if model is None:
        raise InputError(f"{project.path.name}: has several models. Choose one with --model: {', '.join(names)}")
    if model not in names:
        raise InputError(f"--model {model}: not a model of the project. {did_you_mean(model, names)}")
    return project.models[names.index(model)]


def read_input(source: str, manifest: Manifest) -> input_files.Named:
    """Returns the inputs that `--input` names. Checks them before anything is built or booted.

    Raises:
        InputError: They cannot be read, or do not match the model's inputs.
    """
    feed = input_files.load(source, manifest.inputs)
    tensor_io.encode(feed, manifest.inputs, manifest.name)
    return feed


def read_state(path: Path, manifest: Manifest) -> input_files.Named:
    """Returns the state that `--state` names. Checks it before anything is built or booted.

    Raises:
        InputError: It cannot be read, or does not match the model's state, or the model has none.
    """
    _require_state("--state", manifest)
    state = input_files.load_state(path, manifest.states)
    tensor_io.encode_states(state, manifest.states, manifest.name)
    return state


def check_save_state(path: Path | None, output: Path | None, manifest: Manifest, *, force: bool) -> None:
    """Checks before a run that `--save-state` can be written.

    Raises:
        InputError: It cannot, it is the file of `--output`, or the model has no state.
    """
    if path is None:
        return
    _require_state("--save-state", manifest)
    if output is not None and path.resolve() == output.resolve():
        raise InputError(f"--save-state {path}: is the file of --output too. Name two files")
    input_files.check_output(path, force=force, option="--save-state")


def _require_state(option: str, manifest: Manifest) -> None:
    if not manifest.states:
        raise InputError(f"{option}: {manifest.name} has no state. Leave {option} out")


def check_profile(project: Project) -> None:
    """Checks that the image of a project can be profiled.

    Raises:
        ProjectError: It was created without the option.
    """
    if project.info.options.get("profile") is False:
        raise ProjectError(
            f"{project.path}: its image cannot be profiled, got -O profile=off, expected on. Create it again with "
            "-O profile=on, from the model file or a bundle compiled with --hooks"
        )


def infer(
    console: Console,
    project: Project,
    runner: Runner,
    manifest: Manifest,
    feed: input_files.Named,
    profile: bool,
    step: Step = Step(),
) -> Outcome:
    """Boots an image and runs one inference.

    Raises:
        AboardError: The image does not exist, the emulator fails, or the device does not answer correctly.
    """
    if profile:
        check_profile(project)
    runner.count_instructions()
    text = f"running {manifest.name} on {project.board.id} ({runner.name})"
    with console.step(text), Session.open(project, runner, on_log=console.note) as device:
        # A board may still have the state of a run before.
        if step.begin is None:
            device.reset_state(manifest.name)
        else:
            device.set_state(step.begin, manifest.name)
        profiled = device.profile(feed, manifest.name) if profile else None
        run = device.infer(feed, manifest.name) if profiled is None else profiled.run
        state = device.state(manifest.name) if step.keep else None
        counted = estimate.of(project, runner.counted(), run.duration, len(manifest.nodes))
    return Outcome(project, manifest, runner, run, profiled, state, counted)


def describe(outcome: Outcome) -> RunResult:
    """Returns the JSON record of an inference."""
    project, run = outcome.project, outcome.run
    manifest, counted = outcome.manifest, outcome.counted
    estimated = run_estimate.time(project.board, manifest, run.instructions, counted)
    total, basis = run_estimate.of_run(manifest, run.instructions, counted)
    sizes = build.sizes(project)
    others = sum(size for name, size in sizes.models.items() if name != manifest.name)
    return RunResult(
        path=str(project.path),
        board=project.board.id,
        runner=outcome.runner.name,
        model=manifest.name,
        image=str(project.image),
        outputs={name: values.tolist() for name, values in run.outputs.items()},
        instructions=run.instructions,
        cycles=cycles(project, outcome),
        estimated_cycles=total,
        estimated_cycles_basis=basis,
        seconds=None if run.microseconds is None else run.microseconds / 1e6,
        estimated_time=None if estimated is None else time_info(estimated),
        ram_bytes=manifest.ram_bytes,
        flash_bytes=sizes.model_flash_bytes - others,
        image_ram_bytes=sizes.image_ram_bytes,
        ram_needed_bytes=sizes.ram_needed_bytes,
        image_flash_bytes=sizes.image_flash_bytes,
        stack_bytes=run.stack_bytes or None,
        profile=None if outcome.profile is None else rows(outcome.profile, counted),
    )


def cycles(project: Project, outcome: Outcome) -> int | None:
    """Returns the core's cycles of a run; None unless the ticks are cycles: on a board, at the core's clock rate."""
    duration = outcome.run.duration
    is_board = duration.is_real and duration.instructions is None
    counts = is_board and duration.tick_hz == project.board.core().clock_hz
    return duration.ticks if counts else None


def rows(profile: Profile, counted: CountedCycles | None) -> list[ProfileRow]:
    """Returns the JSON records of a profile.

    Args:
        profile: The profile.
        counted: Cycles over the executed instructions; None if they were not counted.
    """
    return [
        ProfileRow(
            node=entry.index,
            name=entry.node.name,
            op=entry.node.op,
            device=entry.node.device,
            ticks=entry.duration.ticks,
            instructions=entry.duration.instructions,
            estimated_cycles=known,
            estimated_cycles_basis=basis,
            device_cycles=entry.node.device_cycles,
        )
        for entry, (known, basis) in zip(profile.nodes, run_estimate.of_nodes(profile, counted), strict=True)
    ]


def report(result: RunResult, outcome: Outcome) -> str:
    """Returns the text for an inference."""
    timed = ("instructions", result.instructions) if result.cycles is None else ("cycles", result.cycles)
    lines = facts(
        [
            ("model", f"{result.model} on {result.board} ({result.runner})"),
            *((name, _preview(values)) for name, values in outcome.run.outputs.items()),
            timed,
            ("time", time_text(result.seconds, result.estimated_time)),
            ("RAM", f"{amount(result.ram_bytes)} of the model, {result.ram_needed_bytes:,} of the image and its stack"),
            ("flash", f"{amount(result.flash_bytes)} of the model, {result.image_flash_bytes:,} of the image"),
            ("stack", None if result.stack_bytes is None else f"{amount(result.stack_bytes)} at most"),
            ("image", result.image),
        ]
    )
    if outcome.profile is None:
        return lines
    counted, table = outcome.counted, outcome.profile.table()
    if counted is not None and counted.nodes is not None:
        of_nodes = [cycles for cycles, _ in run_estimate.of_nodes(outcome.profile, counted)]
        table = outcome.profile.table(of_nodes, counted.run)
    return f"{lines}\n\n{table}"


def _preview(values: tensor_io.Values) -> str:
    return np.array2string(values.ravel(), threshold=16, max_line_width=100, separator=" ")
