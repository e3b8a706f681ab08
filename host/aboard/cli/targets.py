"""`aboard targets`: lists the known targets."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

import click

from aboard.base.table import Label, facts, table
from aboard.base.wrapping import paragraph
from aboard.boards import cpu
from aboard.cli import model as models
from aboard.cli.console import Console
from aboard.cli.extensions import cores_and_kernels
from aboard.cli.options import Place, example, model_argument, pass_console, place_options
from aboard.cli.output_options import output_options
from aboard.cli.schema_targets import (
    AttributeInfo,
    ImplementationInfo,
    KindInfo,
    NodeChoice,
    PluginInfo,
    TargetResult,
    TargetsResult,
    WhyResult,
)
from aboard.target import Attribute, Target, columns, kind, kinds, plugins
from aboard.target.lookup import aliases

if TYPE_CHECKING:
    from aboard.kernels.select.strategy import Explanation, KernelCandidate

#: Indentation of the description of an attribute.
_INDENT = " " * 6


@click.group(
    "targets",
    invoke_without_command=True,
    epilog=example("aboard targets", 'aboard targets show "c -mcpu=cortex-m4"', "aboard targets show arm/mps2_an386"),
)
@output_options
@pass_console
@click.pass_context
def command(ctx: click.Context, console: Console) -> None:
    """List kinds of target and cores, or show a target."""
    if ctx.invoked_subcommand is not None:
        return
    result = _targets(kinds())
    console.emit(result, lambda: _list(result))


def _targets(names: Sequence[str]) -> TargetsResult:
    return TargetsResult(
        kinds=[_kind(name) for name in names],
        cores=cpu.names(),
        aliases={name: spec if isinstance(spec, str) else str(Target(spec)) for name, spec in aliases().items()},
        plugins=[*_plugins()],
    )


def _plugins() -> Iterator[PluginInfo]:
    for found in plugins.load():
        yield PluginInfo(
            name=found.name,
            group=plugins.GROUP,
            source=found.source,
            kinds=list(found.kinds),
            problem=found.problem,
        )
    for group, each in cores_and_kernels():
        yield PluginInfo(name=each.name, group=group, source=each.source, kinds=[], problem=each.problem)


@command.command(
    "show", epilog=example('aboard targets show "c -mcpu=cortex-m55 -input=kept"', "aboard targets show c")
)
@click.argument("target", metavar="T")
@output_options
@pass_console
def show(console: Console, target: str) -> None:
    """Show the target T in its canonical form, or the attributes of the kind T."""
    if target in kinds():
        described = _targets([target])
        console.emit(described, lambda: _list(described))
        return
    shown = Target(target)
    result = TargetResult(
        target=str(shown),
        kind=shown.kind.name,
        key=shown.key,
        host=str(shown.host) if shown.devices else None,
        devices=[str(device) for device in shown.devices],
        attributes=dict(shown.attrs),
        hardware=shown.hardware,
        core=shown.cpu.name,
        features=sorted(shown.cpu.features),
        keys=sorted(shown.keys),
    )
    console.emit(result, lambda: _show(result))


def _kind(name: str) -> KindInfo:
    found = kind(name)
    return KindInfo(
        name=name,
        help=found.help,
        device_type=found.device_type,
        subgraph_only=found.subgraph_only,
        attributes=[_attribute(a) for a in found.schema.values()],
        columns=columns.names_of(name),
    )


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
        alone = "; only as a device of a composite target" if found.subgraph_only else ""
        lines = [paragraph(f"{found.name}: {found.help} ({found.device_type}{alone})"), ""]
        for attribute in found.attributes:
            values = f"  -{attribute.name}={_allowed(attribute)}  (default: {_default(attribute)})"
            lines += [paragraph(values, _INDENT), paragraph(f"{_INDENT}{attribute.help}", _INDENT)]
        parts.append("\n".join(lines))
    parts.append(paragraph(f"Cores for -mcpu: {', '.join(result.cores)}"))
    if result.aliases:
        parts.append("Aliases\n\n" + facts((f"  {name}", spec) for name, spec in result.aliases.items()))
    broken = [found for found in result.plugins if found.problem]
    if broken:
        parts.append(
            "Plug-ins that could not be loaded\n\n" + facts((f"  {p.name} ({p.source})", p.problem) for p in broken)
        )
    return "\n\n".join(parts)


@command.command(
    "why",
    epilog=example(
        'aboard targets why digits --target "c -mcpu=cortex-m4"', "aboard targets why kws.tflite --board arm/mps3_an547"
    ),
)
@model_argument
@place_options
@output_options
@pass_console
def why(console: Console, model: str, place: Place) -> None:
    """Explain for each node of MODEL which kernel computes it, which others could, and why."""
    with console.step(f"asking for {model}"):
        explained = models.explain_file(model, place)
    result = WhyResult(
        model=models.find(model).name,
        target=str(place.as_target()),
        nodes=[_choice(explanation) for explanation in explained],
    )
    console.emit(result, lambda: _why(result))


def _choice(explanation: Explanation) -> NodeChoice:
    chosen = explanation.chosen
    return NodeChoice(
        name=explanation.node.name,
        op=explanation.node.op,
        implementation=None if chosen is None else chosen.implementation.label(explanation.node),
        candidates=[_candidate(explanation, candidate) for candidate in explanation.candidates],
    )


def _candidate(explanation: Explanation, candidate: KernelCandidate) -> ImplementationInfo:
    compared = candidate.cost if candidate.more_bytes is not None else None
    return ImplementationInfo(
        name=candidate.implementation.name,
        keys=sorted(candidate.implementation.keys),
        instructions=None if compared is None else round(compared.instructions),
        cycles=round(compared.cycles) if compared is not None and compared.prediction.in_cycles else None,
        weights_bytes=None if compared is None else compared.weights_bytes,
        more_bytes=candidate.more_bytes,
        chosen=candidate is explanation.chosen,
        reason=explanation.why(candidate),
    )


def _why(result: WhyResult) -> str:
    rows = []
    for number, node in enumerate(result.nodes):
        for index, candidate in enumerate(node.candidates):
            first = (number, node.op, Label(node.name)) if index == 0 else ("", "", "")
            mark = "->" if candidate.chosen else ""
            rows.append((*first, mark, candidate.name, candidate.reason))
    return f"{paragraph(f'{result.model} on {result.target}')}\n\n" + table(
        ("#", "op", "name", "", "implementation", "why"), rows
    )


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
            ("host", result.host),
            ("devices", ", ".join(result.devices) or None),
            ("key", result.key),
            ("core", result.core),
            ("features", ", ".join(result.features) or "none"),
            ("kernels", ", ".join(result.keys)),
        ]
    )
