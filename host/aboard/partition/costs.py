"""Choosing by cost: what a match costs on its device, transfers included, against what it costs on the host.

All figures are estimates in cycles of the host: a device's by its column `cost`, the host's from its
multiply-accumulates and the elements it writes. The change of RAM is printed beside them.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from aboard import ops
from aboard.errors import TargetError
from aboard.ir import Graph, Node
from aboard.kernels.contract import View
from aboard.kernels.device import Cost, Region
from aboard.partition.inner import inner_graph
from aboard.partition.matcher import Match
from aboard.target import Target, columns

#: Cycles of the host for a multiply-accumulate, by implementation key; the first that the target has counts.
_CYCLES_PER_MAC = (("arm_mve", 0.5), ("arm_dsp", 1.5), ("host", 0.5), ("portable", 4.0))
_CYCLES_PER_ELEMENT = 4.0


@dataclass(frozen=True)
class Priced:
    """What one match costs.

    Attributes:
        device: Label of the device.
        match: What it would compute.
        host: Cycles on the host.
        cost: On the device.
        taken: True when the device got it.
        reason: Why it did not; "" where it did.
    """

    device: str
    match: Match
    host: float
    cost: Cost
    taken: bool
    reason: str = ""


def host_cycles(node: Node, host: Target) -> float:
    """Returns the estimated cycles of a node on the host."""
    per_mac = next(cycles for key, cycles in _CYCLES_PER_MAC if key in host.keys)
    elements = sum(tensor.type.elements for tensor in node.outputs)
    return ops.get(node.op).macs(node) * per_mac + elements * _CYCLES_PER_ELEMENT


def choose_by_cost(
    graph: Graph, offers: Sequence[tuple[Target, str, Sequence[Match]]], host: Target
) -> tuple[list[tuple[int, Match]], tuple[Priced, ...]]:
    """Takes the matches that save most, as long as they save anything.

    Args:
        graph: The graph.
        offers: For each device its target, its label and its matches.
        host: The host.

    Returns:
        The matches that were taken with their device's index, and the price of every match.

    Raises:
        TargetError: A device cannot be asked for costs.
    """
    index = {node: number for number, node in enumerate(graph.nodes)}
    priced: list[tuple[int, Priced]] = []
    for number, (device, label, matches) in enumerate(offers):
        if matches and not columns.has(device, "cost"):
            raise TargetError(
                f"kind {device.kind.name}: has no column cost, so -partition=cost cannot ask it. Use -partition=order"
            )
        for match in matches:
            on_host = sum(host_cycles(node, host) for node in match.nodes)
            priced.append((number, Priced(label, match, on_host, _ask(graph, device, match), taken=False)))
    priced.sort(key=lambda p: (p[1].cost.total - p[1].host, -len(p[1].match.nodes), index[p[1].match.nodes[-1]], p[0]))
    taken: list[tuple[int, Match]] = []
    decided: list[Priced] = []
    claimed: dict[Node, str] = {}
    for number, price in priced:
        other = next((claimed[node] for node in price.match.nodes if node in claimed), None)
        reason = _reason(price, other)
        decided.append(Priced(price.device, price.match, price.host, price.cost, not reason, reason))
        if not reason:
            taken.append((number, price.match))
            claimed.update(dict.fromkeys(price.match.nodes, price.device))
    return taken, tuple(decided)


def _reason(price: Priced, other: str | None) -> str:
    name, cost = price.match.pattern.name, price.cost
    figures = f"{cost.compute:,.0f} cycles and {cost.transfer:,.0f} for transfers, {cost.ram_bytes:,} bytes of RAM"
    if cost.total >= price.host:
        return f"{name}: costs {figures}; the host needs {price.host:,.0f} cycles"
    return "" if other is None else f"{name}: costs {figures}; more is saved with {other}"


def _ask(graph: Graph, device: Target, match: Match) -> Cost:
    inner = inner_graph(graph, match.nodes, f"{graph.name}_cost")
    views = [tuple(View.whole(t.shape, t.dtype.bytes) for t in side) for side in (inner.inputs, inner.outputs)]
    cost: Cost = columns.call(device, "cost", Region(inner.name, inner, (match.matched(),), views[0], views[1]))
    return cost
