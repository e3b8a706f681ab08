"""The text of `aboard partition`: the owner of each node, and the costs of matches."""

from __future__ import annotations

from aboard.base.table import Label, facts, table
from aboard.partition.costs import Totals
from aboard.partition.partitioner import NodePlacement, Partition
from aboard.partition.trial import ModelCost


def summary(decided: Partition) -> str:
    """Returns the whole report: the owner of each node, the reasons of other devices, and the totals."""
    parts = [nodes(decided), totals(decided)]
    if decided.prices:
        parts.append(prices(decided))
    if decided.totals is not None:
        parts.append(wholes(decided.totals))
    return "\n\n".join(parts)


def nodes(decided: Partition) -> str:
    """Returns a table with one line for each node."""
    rows = [
        (i, p.node.op, Label(p.node.name), p.device, p.claim, p.pattern or None, _refused(p))
        for i, p in enumerate(decided.placements)
    ]
    return table(("#", "op", "name", "device", "region", "pattern", "refused by"), rows)


def _refused(placement: NodePlacement) -> str:
    return "; ".join(f"{refusal.device}: {refusal.reason}" for refusal in placement.refused) or "-"


def totals(decided: Partition) -> str:
    """Returns the share of each device and of the host."""
    lines: list[tuple[str, object]] = [("target", str(decided.target))]
    for device in dict.fromkeys((*decided.labels, decided.host)):
        mine = [p for p in decided.placements if p.device == device]
        regions = len({p.claim for p in mine if p.claim is not None})
        what = f" in {regions} {'region' if regions == 1 else 'regions'}" if regions else ""
        lines.append((device, f"{len(mine)} of {len(decided.placements)} nodes{what}"))
    return facts(lines)


def prices(decided: Partition) -> str:
    """Returns a table of the price of each match with `-partition=cost`; all figures are estimates."""
    rows = [
        (
            price.device,
            price.match.pattern.name,
            Label(price.match.nodes[-1].name),
            round(price.host),
            round(price.cost.compute),
            round(price.cost.transfer),
            price.cost.ram_bytes,
            price.taken,
        )
        for price in decided.prices
    ]
    return table(("device", "pattern", "ends at", "host saves", "compute", "transfer", "RAM", "taken"), rows)


def wholes(totals: Totals) -> str:
    """Returns the cost of the whole model on the host alone and as partitioned."""
    return facts(
        [
            ("host alone", _whole(totals.alone)),
            ("as decided", _whole(totals.chosen)),
            ("a byte of RAM", f"counted as {totals.cycles_per_byte} cycles (-ram-cycles); all figures are estimated"),
        ]
    )


def _whole(whole: ModelCost) -> str:
    devices = f"{whole.compute:,.0f} cycles of devices, {whole.transfer:,.0f} for transfers"
    missing = f", {whole.missing} nodes that nobody computes" if whole.missing else ""
    used = f"{devices}, " if whole.compute or whole.transfer else ""
    return f"{whole.host:,} instructions, {used}at least {whole.ram_bytes:,} bytes of RAM{missing}"
