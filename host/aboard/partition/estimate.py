"""An estimate of the cost of a partition in microseconds, which proposes partitions to the trials of whole models.

The estimate of a set of matches is a sum: for each node that no match has, the host's cycles for it in a model without
devices; for each match, the device's cost of a region with it alone; for each two matches of one device that become one
region, less by what the device saves if both are one region. So a device is asked for regions of one or two matches,
not for each stretch of a model. RAM and the host's passes across borders are left to the trials.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from aboard.ir import Node, Tensor
from aboard.kernels.accelerator import Cost
from aboard.partition.matcher import Match

#: A match and the index of the device that would compute it.
Offer = tuple[int, Match]


@dataclass(frozen=True)
class Estimate:
    """Estimated costs of sets of matches of one model.

    Attributes:
        nodes: The nodes of the model in execution order.
        host: Cycles of the host for each node; infinite for a node that the host cannot compute.
        offers: All matches.
        alone: Cycles of each match in a region of its own, transfers included, by the index of the offer.
        joined: Cycles that a region of two matches saves against two regions, by the indices of both offers, the
            first in execution order first.
    """

    nodes: Sequence[Node]
    host: Mapping[Node, float]
    offers: Sequence[Offer]
    alone: Sequence[float]
    joined: Mapping[tuple[int, int], float]

    def of(self, taken: Sequence[int]) -> float:
        """Returns the cycles of the model with the offers of these indices."""
        claimed = {node for index in taken for node in self.offers[index][1].nodes}
        total = sum(self.host[node] for node in self.nodes if node not in claimed)
        total += sum(self.alone[index] for index in taken)
        chosen = set(taken)
        return total - sum(saved for (a, b), saved in self.joined.items() if a in chosen and b in chosen)

    def shortest(self) -> list[int]:
        """Returns the best partition whose matches are stretches of the execution order, of which neighbours join.

        For a chain of nodes no partition has a lower estimate: the shortest path over the nodes, where a step is a node
        on the host or a match, and the state is the last match.
        """
        number = {node: index for index, node in enumerate(self.nodes)}
        starts: dict[int, list[tuple[int, int]]] = {}
        for index, (_, match) in enumerate(self.offers):
            places = sorted(number[node] for node in match.nodes)
            if places[-1] - places[0] + 1 == len(places):
                starts.setdefault(places[0], []).append((index, len(places)))
        # For each position and last match, or None for the host: cycles, and the matches so far.
        best: list[dict[int | None, tuple[float, tuple[int, ...]]]] = [{} for _ in range(len(self.nodes) + 1)]
        best[0][None] = (0.0, ())
        for place, node in enumerate(self.nodes):
            for last, (cycles, taken) in best[place].items():
                _keep(best[place + 1], None, cycles + self.host[node], taken)
                for index, length in starts.get(place, ()):
                    saved = 0.0 if last is None else self.joined.get((last, index), 0.0)
                    _keep(best[place + length], index, cycles + self.alone[index] - saved, (*taken, index))
        return list(min(best[-1].values())[1])


def _keep(
    known: dict[int | None, tuple[float, tuple[int, ...]]], last: int | None, cycles: float, taken: tuple[int, ...]
) -> None:
    if last not in known or (cycles, taken) < known[last]:
        known[last] = cycles, taken


def estimate(
    nodes: Sequence[Node],
    offers: Sequence[Offer],
    host: Mapping[Node, float],
    region: Callable[[int, Sequence[Match]], Cost],
) -> Estimate:
    """Returns the estimated costs of sets of matches.

    Args:
        nodes: The nodes of the model in execution order.
        offers: All matches.
        host: Cycles of the host for each node.
        region: Returns the cost of a region that a device states.

    Raises:
        TargetError: A device gives no costs.
    """
    alone = [region(device, [match]).total for device, match in offers]
    joined = {
        (a, b): alone[a] + alone[b] - region(offers[a][0], [offers[a][1], offers[b][1]]).total
        for a, b in _neighbours(nodes, offers)
    }
    return Estimate(nodes, host, offers, alone, joined)


def _neighbours(nodes: Sequence[Node], offers: Sequence[Offer]) -> list[tuple[int, int]]:
    """Returns the pairs of matches that one device may compute in one region, the second reading the first."""
    owners: dict[Tensor, list[int]] = {}
    for index, (_, match) in enumerate(offers):
        for tensor in (tensor for node in match.nodes for tensor in node.outputs):
            owners.setdefault(tensor, []).append(index)
    found: dict[tuple[int, int], None] = {}
    for index, (device, match) in enumerate(offers):
        for other in (o for node in match.nodes for tensor in node.operands for o in owners.get(tensor, ())):
            before = offers[other][1]
            same = offers[other][0] == device and before.pattern.merge and match.pattern.merge
            if same and set(before.nodes).isdisjoint(match.nodes) and not _detour(nodes, before, match):
                found[other, index] = None
    return list(found)


def _detour(nodes: Sequence[Node], first: Match, second: Match) -> bool:
    """True if a node outside of two matches reads the first, at any distance, and the second reads it."""
    inside = {*first.nodes, *second.nodes}
    reached = {tensor for node in first.nodes for tensor in node.outputs}
    outside: set[Tensor] = set()
    for node in nodes:
        if node not in inside and not (reached | outside).isdisjoint(node.operands):
            outside |= set(node.outputs)
    return any(tensor in outside for node in second.nodes for tensor in node.operands)
