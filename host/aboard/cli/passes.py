"""`aboard passes`: lists the passes that run for a target, in their order."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from aboard.base.table import facts, table
from aboard.cli import model as models
from aboard.cli.console import Console
from aboard.cli.options import Place, example, pass_console, passes_option, place_options
from aboard.cli.output_options import output_options
from aboard.cli.schema_passes import PassesResult, PassInfo, PassOption

if TYPE_CHECKING:
    from aboard.passes import Pass


@click.command(
    "passes",
    epilog=example(
        "aboard passes --board arm/mps2_an386",
        'aboard passes --target "c -mcpu=cortex-m4" --passes "fold-constants,remove-dead-code"',
    ),
)
@place_options
@passes_option
@output_options
@pass_console
def command(console: Console, place: Place, passes: str | None) -> None:
    """List the passes that rewrite a model for a target, in their order.

    Neutral passes run before the devices of a composite target claim nodes, host passes run afterwards. The list is the
    default of the target, or the checked list of --passes.
    """
    pipeline = models.pipeline(place, passes)
    from aboard.passes import registered

    run = {step.name for step in (*pipeline.before, *pipeline.after)}
    claims = "devices claim nodes, and each claimed part becomes one node"
    result = PassesResult(
        target=str(place.as_target()),
        passes=str(pipeline),
        steps=[
            *(_described(step, "neutral") for step in pipeline.before),
            PassInfo(name="partition", stage="partition", summary=claims, requires=[], options=[]),
            *(_described(step, "host") for step in pipeline.after),
        ],
        others=[_described(step, None) for name, step in registered().items() if name not in run],
    )
    console.emit(result, lambda: _report(result))


def _described(step: Pass | type[Pass], stage: str | None) -> PassInfo:
    from aboard.passes.pipeline import options

    return PassInfo(
        name=step.name,
        stage=stage,
        summary=step.summary,
        requires=[required.name for required in step.requires],
        options=[PassOption(name=name, value=value) for name, value, _ in options(step)],
    )


def _report(result: PassesResult) -> str:
    head = facts([("target", result.target), ("passes", f'"{result.passes}"')])
    rows = [_row(number, step) for number, step in enumerate(result.steps, 1)]
    parts = [head, table(["#", "pass", "stage", "what it does"], rows)]
    if result.others:
        parts.append("Passes that do not run\n\n" + facts((f"  {step.name}", step.summary) for step in result.others))
    return "\n\n".join(parts)


def _row(number: int, step: PassInfo) -> list[str]:
    options = " ".join(f"{option.name}={option.value}" for option in step.options)
    return [str(number), f"{step.name}{{{options}}}" if options else step.name, step.stage or "", step.summary]
