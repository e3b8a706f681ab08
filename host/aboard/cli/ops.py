"""`aboard ops`: lists the operators of model files, with their element types, kernels and rules."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import click

from aboard.base.table import facts, table
from aboard.base.wrapping import paragraph
from aboard.cli.console import Console
from aboard.cli.options import example, pass_console
from aboard.cli.output_options import output_options
from aboard.cli.schema_ops import KernelsInfo, MissingOperator, OperatorInfo, OpsResult

if TYPE_CHECKING:
    from aboard.reports.operators import Operator


@click.command("ops", epilog=example("aboard ops", "aboard ops --core m4", "aboard ops CONV_2D strided_slice"))
@click.argument("names", metavar="[NAME]...", nargs=-1)
@click.option("--core", metavar="CORE", help="Show only the kernels of this core: cortex-m4, or short m4.")
@click.option(
    "--missing", is_flag=True, help="List only the operators of TensorFlow Lite Micro that are not supported."
)
@output_options
@pass_console
def command(console: Console, names: Sequence[str], core: str | None, missing: bool) -> None:
    """List the operators that models may have.

    With a NAME, show its element types, its kernels, and what is refused. docs/reference/operators.md has this for all
    operators.
    """
    if names and missing:
        raise click.UsageError("--missing takes no NAME.")
    from aboard.importers import tflite_operators
    from aboard.reports import operators as known

    target = None if core is None else known.of_core(core)
    found = [] if missing else known.operators(names, target)
    result = OpsResult(
        core=None if target is None else str(target.attrs["mcpu"]),
        operators=[describe(operator) for operator in found],
        missing=[]
        if names
        else [MissingOperator(name=name, reason=why) for name, why in tflite_operators.missing().items()],
        tflite_micro=len(tflite_operators.TFLITE_MICRO),
    )
    console.emit(result, lambda: _details(found) if names else _report(result, found))


def describe(operator: Operator) -> OperatorInfo:
    """Returns the JSON record of an operator."""
    return OperatorInfo(
        name=operator.name,
        element_types=list(operator.types),
        ops=list(operator.ops),
        becomes=operator.becomes or None,
        kernels=[KernelsInfo(key=key, names=list(names)) for key, names in operator.kernels.items()],
        rules=list(operator.rules),
        in_tflite_micro=operator.in_tflite_micro,
    )


def _report(result: OpsResult, found: Sequence[Operator]) -> str:
    parts = []
    if found:
        rows = [(each.title, each.short_types or None, _faster(each)) for each in found]
        parts += [table(("operator", "element types", "faster kernels"), rows), _legend(result)]
    parts.append(_missing(result))
    return "\n\n".join(parts)


def _faster(operator: Operator) -> str:
    return " ".join(key.removeprefix("arm_") for key in operator.faster)


def _legend(result: OpsResult) -> str:
    from aboard.reports import operators as known

    lines = ["Element types of operands: s8 is int8, u8 uint8, f32 float32, and so on; - where none counts."]
    if result.core is None:
        sets = ", ".join(f"{key.removeprefix('arm_')} on {' '.join(known.cores(key))}" for key in known.FASTER)
        lines.append(f"All operators run on every core. Faster kernels: {sets}.")
    else:
        lines.append(f"Faster kernels: those that {result.core} runs.")
    return "\n".join(map(paragraph, lines))


def _missing(result: OpsResult) -> str:
    count = result.tflite_micro - len(result.missing)
    head = f"{count} of the {result.tflite_micro} operators of TensorFlow Lite Micro are supported."
    if not result.missing:
        return head
    lines = (paragraph(f"  {each.name.removeprefix('CUSTOM ')}: {each.reason}", " " * 4) for each in result.missing)
    return "\n".join([f"{head} These are not:", *lines])


def _details(found: Sequence[Operator]) -> str:
    return "\n\n".join(_detail(operator) for operator in found)


def _detail(operator: Operator) -> str:
    becomes = [("ops", ", ".join(operator.ops))] if operator.ops else [("becomes", operator.becomes)]
    kernels = [(key, ", ".join(names)) for key, names in operator.kernels.items()]
    text = facts(
        [("operator", operator.name), ("element types", "; ".join(operator.types) or "none"), *becomes, *kernels]
    )
    rules = [paragraph(f"  {rule}", " " * 4) for rule in operator.rules]
    return "\n".join([text, "refused unless", *rules] if rules else [text])
