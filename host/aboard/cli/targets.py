"""`aboard targets`: what targets there are."""

from __future__ import annotations

import click

from aboard.cli.console import Console
from aboard.cli.options import example, json_option, pass_console
from aboard.cli.schema import AttributeInfo, KindInfo, TargetResult, TargetsResult
from aboard.reports.table import facts
from aboard.target import Attribute, Target, cpu, kind, kinds


@click.group(
    "targets",
    invoke_without_command=True,
    epilog=example("aboard targets", 'aboard targets show "c -mcpu=cortex-m4"', "aboard targets show arm/mps2_an386"),
)
@json_option
@pass_console
@click.pass_context
def command(ctx: click.Context, console: Console) -> None:
    """List kinds of target and cores, or show a target."""
    if ctx.invoked_subcommand is not None:
        return
    result = TargetsResult(kinds=[_kind(name) for name in kinds()], cores=cpu.names())
    console.emit(result, lambda: _list(result))


@command.command(
    "show", epilog=example('aboard targets show "c -mcpu=cortex-m55 -input=kept"', "aboard targets show c")
)
@click.argument("target", metavar="T")
@json_option
@pass_console
def show(console: Console, target: str) -> None:
    """Show the target T in its canonical form; for the name of a kind alone, its attributes."""
    if target in kinds():
        described = TargetsResult(kinds=[_kind(target)], cores=cpu.names())
        console.emit(described, lambda: _list(described))
        return
    shown = Target(target)
    result = TargetResult(
        target=str(shown),
        kind=shown.kind.name,
        attributes=dict(shown.attrs),
        hardware=shown.hardware,
        core=shown.cpu.name,
        features=sorted(shown.cpu.features),
        keys=sorted(shown.keys),
    )
    console.emit(result, lambda: _show(result))


def _kind(name: str) -> KindInfo:
    found = kind(name)
    return KindInfo(name=name, help=found.help, attributes=[_attribute(a) for a in found.schema.values()])


def _attribute(attribute: Attribute) -> AttributeInfo:
    return AttributeInfo(
        name=attribute.name,
        type=attribute.type.__name__,
        default=attribute.default,
        allowed=None if attribute.allowed is None else list(attribute.allowed),
        implied=attribute.implied or None,
        help=attribute.help,
    )


def _list(result: TargetsResult) -> str:
    parts = []
    for found in result.kinds:
        lines = [f"{found.name}: {found.help}", ""]
        for attribute in found.attributes:
            lines.append(f"  -{attribute.name}={_allowed(attribute)}  (default: {_default(attribute)})")
            lines.append(f"      {attribute.help}")
        parts.append("\n".join(lines))
    return "\n\n".join([*parts, f"Cores for -mcpu: {', '.join(result.cores)}"])


def _default(attribute: AttributeInfo) -> str:
    if attribute.default is not None:
        return str(attribute.default)
    return f"from {attribute.implied}" if attribute.implied else "none"


def _allowed(attribute: AttributeInfo) -> str:
    return f"<{attribute.type}>" if attribute.allowed is None else "|".join(map(str, attribute.allowed))


def _show(result: TargetResult) -> str:
    return facts(
        [
            ("target", result.target),
            ("kind", result.kind),
            ("hardware", result.hardware),
            ("core", result.core),
            ("features", ", ".join(result.features) or "none"),
            ("kernels", ", ".join(result.keys)),
        ]
    )
