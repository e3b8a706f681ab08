"""`aboard verify`: the device against the reference, byte for byte."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import click

from aboard.api import Session
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
    json_option,
    means_options,
    model_argument,
    opt_option,
    output_dir_option,
    pass_console,
    place_options,
)
from aboard.cli.schema import DifferenceInfo, RegionFault, VerifyResult
from aboard.device.input_files import Named
from aboard.errors import ModelError
from aboard.reports.table import facts

if TYPE_CHECKING:
    from aboard.check.reference import Reference
    from aboard.check.verify import Difference

_DIFFERENT = 1


@click.command(
    "verify",
    epilog=example(
        "aboard verify digits --board arm/mps2_an386",
        "aboard verify kws.tflite --board riscv/qemu_virt32 --samples 50 --json",
    ),
)
@model_argument
@place_options
@click.option(
    "--samples",
    type=click.IntRange(min=0),
    metavar="N",
    default=20,
    show_default=True,
    help="How many random inputs, beside all smallest and all largest.",
)
@output_dir_option("none: nothing is kept")
@force_option
@means_options
@opt_option
@json_option
@pass_console
def command(
    console: Console,
    model: str,
    place: Place,
    samples: int,
    output_dir: Path | None,
    force: bool,
    means: Means,
    opt: str | None,
) -> int:
    """Compare the results of MODEL on a board with the reference interpreter, byte for byte.

    Exits with 1 where a byte differs. Then the image is built again with taps, and the first operator, row and channel
    that differ are named. Floats may differ by 0.0001 of the reference. Where accelerators compute a part of MODEL,
    each of their regions is compared too, so that no operator behind it can hide a wrong result.
    """
    from aboard.check import verify
    from aboard.check.reference import Reference

    plan = deploy.prepare(place, means)
    path = models.find(model)
    if path.is_dir():
        raise ModelError(f"{path}: a bundle, expected the model file it was made of: the reference needs it")
    modules = compile_all(console, [model], place, name=None, opt=opt, toolchain=means.toolchain)
    reference = Reference.open(path)
    inputs = verify.samples(modules[0].manifest, samples)
    with deploy.folder_of(output_dir) as folder:
        project, _ = deploy.make(console, modules, plan, folder, force=force)
        with (
            Session.open(project, plan.runner, on_log=console.note) as session,
            console.progress(f"comparing with {reference.name}", len(inputs)) as advance,
        ):
            found = verify.compare(session, reference, inputs, advance)
    faults = _region_faults(console, modules[0], plan, inputs)
    first = None
    if found.first is not None:
        first = _locate(console, modules, plan, reference, found.first)
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
    )
    console.emit(result, lambda: _report(result, reference.note))
    return 0 if result.equal else _DIFFERENT


def _region_faults(console: Console, module: Compiled, plan: deploy.Plan, inputs: Sequence[Named]) -> list[RegionFault]:
    """Builds the image again with taps where accelerators compute regions, and compares every region."""
    from aboard.check import region_check
    from aboard.compiler.pipeline import Module

    if not isinstance(module, Module) or not region_check.has_regions(module):
        return []
    with deploy.folder_of(None) as folder, console.step("comparing the regions of accelerators"):
        project, _ = deploy.make(console, [module], plan, folder, further={"taps": "on"})
        with Session.open(project, plan.runner.fresh()) as tapped:
            return [RegionFault(**vars(fault)) for fault in region_check.faults(module, tapped.taps, inputs)]


def _locate(
    console: Console, modules: Sequence[Compiled], plan: deploy.Plan, reference: Reference, first: tuple[int, Named]
) -> DifferenceInfo | None:
    """Builds the image again with taps and looks for the first element that differs."""
    from aboard.check import verify

    number, feed = first
    with deploy.folder_of(None) as folder, console.step("looking for the operator at fault"):
        project, _ = deploy.make(console, modules, plan, folder, further={"taps": "on"})
        with Session.open(project, plan.runner.fresh()) as tapped:
            found = verify.locate(tapped, reference, feed)
    return None if found is None else _describe(number, found)


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


def _report(result: VerifyResult, note: str) -> str:
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
    found = result.first_difference
    if result.region_faults:
        lines += "\n\nRegions that are not exact:\n" + "\n".join(map(_fault, result.region_faults))
    if found is None and result.region_faults:
        return lines
    if found is None:
        return f"{lines}\n\nWith taps every operator gives what it should: the fault lies outside of them."
    return (
        f"{lines}\n\nFirst difference, in sample {found.sample}: node {found.node}, {found.op} {found.name}\n"
        f"  row {found.row}, column {found.column}, channel {found.channel}: "
        f"device {found.device:g}, reference {found.reference:g}"
    )


def _fault(fault: RegionFault) -> str:
    return (
        f"  sample {fault.sample}: node {fault.node}, {fault.name} on {fault.device}: {fault.differing} of "
        f"{fault.elements} elements of {fault.tensor}"
    )
