"""`aboard verify`: the device against the reference, byte for byte."""

from __future__ import annotations

import shlex
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from aboard.api import Session
from aboard.base.table import facts, table
from aboard.base.wrapping import paragraph
from aboard.cli import deploy
from aboard.cli import model as models
from aboard.cli.console import Console
from aboard.cli.create import compile_all
from aboard.cli.model import Compiled
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
    passes_option,
    place_options,
)
from aboard.cli.output_options import output_options
from aboard.cli.schema_check import DifferenceInfo, RegionFault, VerifyResult
from aboard.cli.schema_passes import BisectInfo, BisectStep
from aboard.device.input_files import Named
from aboard.errors import ModelError

if TYPE_CHECKING:
    from aboard.check.reference import Reference
    from aboard.check.verify import Difference

_DIFFERENT = 1
_SAMPLES = 20
_IMPORT = "import"


@click.command(
    "verify",
    epilog=example(
        "aboard verify digits --board arm/mps2_an386",
        "aboard verify digits --board arm/mps2_an386 --bisect",
        "aboard verify kws.tflite --board riscv/qemu_virt32 --samples 50 --json",
    ),
)
@model_argument
@place_options
@click.option(
    "--samples",
    type=click.IntRange(min=0),
    metavar="N",
    default=_SAMPLES,
    show_default=True,
    help="Number of random inputs, in addition to an input of smallest and one of largest values.",
)
@click.option("--bisect", is_flag=True, help="If a byte differs, find the first pass that changes the results.")
@passes_option
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
    samples: int,
    bisect: bool,
    passes: str | None,
    output_dir: Path | None,
    force: bool,
    means: Means,
    opt: str | None,
) -> int:
    """Compare the results of MODEL on a board with the reference interpreter, byte for byte.

    Exits with 1 if a byte differs. aboard then builds the image again with a trace, and prints the first operator, row
    and channel that differ. Floats may differ by 0.0001 of the reference. Results of a quantised ONNX file may be two
    steps of their scale away from onnxruntime's, or one with -arithmetic=exact; more, if only the rounding of
    -arithmetic=tflite explains it. A model with state runs all inputs as
    one sequence. If accelerators compute a part of MODEL, each of their regions is compared too, so that no later
    operator can hide a wrong result.

    With --bisect, aboard also evaluates the graph on this machine after every pass, to tell a wrong pass from a
    fault in kernels, schedule or build.
    """
    from aboard.check import border, verify
    from aboard.check.reference import Reference

    plan = deploy.prepare(place, means)
    path = models.find(model)
    if models.is_bundle(path):
        raise ModelError(
            f"{path}: a bundle, expected the model file that the reference interpreter runs. Name the .tflite file"
        )
    modules = compile_all(console, [model], place, name=None, opt=opt, toolchain=means.toolchain, passes=passes)
    reference = border.fitted(Reference.open(path), modules[0].manifest)
    inputs = verify.samples(modules[0].manifest, samples)
    with deploy.folder_of(output_dir) as folder:
        project, _ = deploy.make(console, modules, plan, folder, force=force)
        with (
            Session.open(project, plan.runner, on_log=console.note) as session,
            console.progress(f"comparing with {reference.name}", len(inputs)) as advance,
        ):
            found = verify.compare(session, reference, inputs, advance)
    faults = _region_faults(console, modules[0], plan, inputs)
    first, bisected = None, None
    if found.first is not None:
        sequence = _sequence(reference, inputs, found.first[0])
        first = _locate(console, modules, plan, reference, sequence)
        bisected = _bisected(console, path, place, reference, sequence, passes) if bisect else None
    result = VerifyResult(
        board=plan.board.id,
        runner=plan.runner.name,
        model=modules[0].name,
        image=None if output_dir is None else str(project.image),
        reference=reference.name,
        samples=found.samples,
        differing_bytes=found.differing_bytes,
        max_abs_diff=found.max_abs_diff,
        equal=found.equal and not faults,
        region_faults=faults,
        first_difference=first,
        bisect=bisected,
    )
    again = [model, *place.words(), *_given(samples=samples, passes=passes, opt=opt, **vars(means))]
    console.emit(result, lambda: _report(result, reference.note, f"aboard verify {shlex.join(again)} --bisect"))
    return 0 if result.equal else _DIFFERENT


def _given(*, samples: int, **options: Any) -> list[str]:
    """Returns the options that the user gave, as words of a command."""
    words = [] if samples == _SAMPLES else ["--samples", str(samples)]
    for name, value in options.items():
        if name == "options":
            words += [word for key, text in value.items() for word in ("-O", f"{key}={text}")]
        elif value is not None:
            words += [f"--{name}", value]
    return words


def _region_faults(console: Console, module: Compiled, plan: deploy.Plan, inputs: Sequence[Named]) -> list[RegionFault]:
    """Builds the image again with a trace where accelerators compute regions, and compares every region."""
    from aboard.check import region_check
    from aboard.compiler.pipeline import Module

    if not isinstance(module, Module) or not region_check.has_regions(module):
        return []
    with deploy.folder_of(None) as folder, console.step("comparing the regions of accelerators"):
        project, _ = deploy.make(console, [module], plan, folder, further={"trace": "on"})
        with Session.open(project, plan.runner.fresh()) as traced:
            return [RegionFault(**vars(fault)) for fault in region_check.faults(module, traced.trace, inputs)]


def _sequence(reference: Reference, inputs: Sequence[Named], differing: int) -> tuple[int, Sequence[Named]]:
    """Returns the inputs that lead to a difference: with state all up to it; and the number of the first of them."""
    first = 0 if reference.graph.states else differing
    return first, inputs[first : differing + 1]


def _locate(
    console: Console,
    modules: Sequence[Compiled],
    plan: deploy.Plan,
    reference: Reference,
    sequence: tuple[int, Sequence[Named]],
) -> DifferenceInfo | None:
    """Builds the image again with a trace and looks for the first element that differs."""
    from aboard.check import verify

    number, inputs = sequence
    with deploy.folder_of(None) as folder, console.step("looking for the operator at fault"):
        project, _ = deploy.make(console, modules, plan, folder, further={"trace": "on"})
        with Session.open(project, plan.runner.fresh()) as traced:
            found = verify.locate(traced, reference, inputs)
    return None if found is None else _describe(number + found.step, found)


def _bisected(
    console: Console,
    model: Path,
    place: Place,
    reference: Reference,
    sequence: tuple[int, Sequence[Named]],
    passes: str | None,
) -> BisectInfo:
    """Evaluates the graph after every pass, up to the first input for which the device differs."""
    from aboard.check.bisect import bisect

    number, inputs = sequence
    with console.step("looking for the pass at fault"):
        found = bisect(model, place.as_target(), reference, inputs, passes)
    return BisectInfo(
        passes=found.passes,
        sample=number + len(inputs) - 1,
        steps=[BisectStep(**vars(check)) for check in found.checks],
        first_wrong=found.first_wrong,
        tensor=found.tensor,
    )


def _describe(sample: int, found: Difference) -> DifferenceInfo:
    return DifferenceInfo(
        sample=sample,
        node=found.node,
        name=found.name,
        op=found.op,
        tensor=found.tensor,
        row=found.row,
        column=found.column,
        channel=found.channel,
        device=found.device,
        reference=found.reference,
    )


def _report(result: VerifyResult, note: str, again: str) -> str:
    lines = facts(
        [
            ("model", f"{result.model} on {result.board} ({result.runner})"),
            ("reference", f"{result.reference}{f' ({note})' if note else ''}"),
            ("samples", result.samples),
            ("result", f"{result.differing_bytes:,} differing bytes, largest difference {result.max_abs_diff:g}"),
        ]
    )
    if result.equal:
        return lines
    parts = [lines]
    if result.region_faults:
        parts.append("Regions that are not exact:\n" + "\n".join(map(_fault, result.region_faults)))
        parts.append(_first_region(result.region_faults[0]))
    if result.first_difference is not None or not result.region_faults:
        parts.append(_difference(result.first_difference))
    if result.bisect is not None:
        parts.append(_bisect(result.bisect))
    elif result.differing_bytes:
        parts.append(f"To see whether a pass of the compiler is at fault: {again}")
    return "\n\n".join(parts)


def _first_region(fault: RegionFault) -> str:
    """Returns the layers of the first region at fault. Its operands were compared with what it made of them."""
    head = f"First region at fault: node {fault.node} on {fault.device}, for the operands that it had. Its layers:"
    return "\n".join([paragraph(head), *(f"  {layer}" for layer in fault.layers)])


def _difference(found: DifferenceInfo | None) -> str:
    if found is None:
        return "The trace shows no operator that differs: the fault is outside of the operators."
    return (
        f"First difference, in sample {found.sample}: node {found.node}, {found.op} {found.name}\n"
        f"  row {found.row}, column {found.column}, channel {found.channel}: "
        f"device {found.device:g}, reference {found.reference:g}"
    )


def _bisect(found: BisectInfo) -> str:
    """Returns the steps and the conclusion."""
    rows = [(check.step, check.changed, check.differing) for check in found.steps]
    checked = table(["after", "changed the graph", "differing elements"], rows)
    head = f"Passes, evaluated on the host with sample {found.sample}\n\n{checked}\n\n"
    if found.first_wrong is None:
        return f"{head}No pass changes the results: the fault lies behind the passes, in kernels, schedule or build."
    if found.first_wrong == _IMPORT:
        return f"{head}The graph differs before any pass: the fault lies in the importer, or in how an op is evaluated."
    where = "" if found.tensor is None else f", first in {found.tensor}"
    return (
        f"{head}The pass at fault is {found.first_wrong}{where}. `aboard compile` prints its work with "
        f"--print-ir-before {found.first_wrong} --print-ir-after {found.first_wrong}."
    )


def _fault(fault: RegionFault) -> str:
    return (
        f"  sample {fault.sample}: node {fault.node}, {fault.name} on {fault.device}: {fault.differing} of "
        f"{fault.elements} elements of {fault.tensor}"
    )
