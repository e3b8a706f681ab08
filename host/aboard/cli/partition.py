"""`aboard partition`: shows which device would compute which node, without compiling."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import click

from aboard import outputs
from aboard.cli import model as models
from aboard.cli.console import Console
from aboard.cli.options import Place, example, force_option, model_argument, pass_console, place_options
from aboard.cli.output_options import output_options
from aboard.cli.schema_targets import PartitionResult, PlacedNode, PriceInfo, RefusalInfo, TotalInfo, TotalsInfo

if TYPE_CHECKING:
    from aboard.partition.partitioner import Partition
    from aboard.partition.trial import ModelCost


@click.command(
    "partition",
    epilog=example(
        'aboard partition kws.tflite --target "c -mcpu=cortex-m4 + cmsis-nn"',
        "aboard partition kws.tflite --target cortex-m4-cmsis-nn --svg kws.svg",
    ),
)
@model_argument
@place_options
@click.option(
    "--svg", metavar="FILE", type=click.Path(path_type=Path), help="Write a picture of the graph to this file."
)
@force_option
@output_options
@pass_console
def command(console: Console, model: str, place: Place, svg: Path | None, force: bool) -> None:
    """Show which device of a composite target computes which node of MODEL.

    Prints for every node the device that computes it, and why earlier devices refuse it. Compiles nothing.
    """
    if svg is not None:
        outputs.check_file(svg, force=force)
    with console.step(f"partitioning {model}"):
        decided = models.partition_file(model, place)
    if svg is not None:
        from aboard.reports import partition_svg

        outputs.write_file(svg, outputs.sealed(partition_svg.picture(decided).encode()), force=force)
    result = PartitionResult(
        model=models.find(model).name,
        target=str(decided.target),
        devices=list(decided.labels),
        host=decided.host,
        nodes=placed(decided),
        prices=_prices(decided),
        totals=_totals(decided),
        picture=None if svg is None else str(svg),
    )
    console.emit(result, lambda: _report(decided, svg))


def placed(decided: Partition) -> list[PlacedNode]:
    """Returns the JSON record of every node."""
    return [
        PlacedNode(
            name=p.node.name,
            op=p.node.op,
            device=p.device,
            region=p.claim,
            pattern=p.pattern or None,
            refused=[RefusalInfo(device=refusal.device, reason=refusal.reason) for refusal in p.refused],
        )
        for p in decided.placements
    ]


def _prices(decided: Partition) -> list[PriceInfo] | None:
    if decided.target.get("partition") != "cost":
        return None
    return [
        PriceInfo(
            device=price.device,
            pattern=price.match.pattern.name,
            nodes=[node.name for node in price.match.nodes],
            host_cycles=price.host,
            compute_cycles=price.cost.compute,
            transfer_cycles=price.cost.transfer,
            ram_bytes=price.cost.ram_bytes,
            taken=price.taken,
        )
        for price in decided.prices
    ]


def _totals(decided: Partition) -> TotalsInfo | None:
    totals = decided.totals
    if totals is None:
        return None
    return TotalsInfo(alone=_total(totals.alone), chosen=_total(totals.chosen), cycles_per_byte=totals.cycles_per_byte)


def _total(whole: ModelCost) -> TotalInfo:
    return TotalInfo(
        host_instructions=whole.host,
        compute_cycles=whole.compute,
        transfer_cycles=whole.transfer,
        ram_bytes=whole.ram_bytes,
        missing_nodes=whole.missing,
    )


def _report(decided: Partition, svg: Path | None) -> str:
    from aboard.reports import partition as report

    return report.summary(decided) + (f"\n\nPicture in {svg}" if svg is not None else "")
