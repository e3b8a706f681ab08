"""The partitioner: decides which accelerator computes which nodes, and makes each region one node.

Accelerators, libraries and external cores are all devices of a composite target (`target.devices`). Each claims
matches of its patterns, in order or by cost. Regions are convex: no path leaves a region and returns to it, even
through other regions. So regions are computed one after another, each in one call. For each node and device without
a claim, the partition states the reason.
"""

from __future__ import annotations

import math
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from aboard.errors import TargetError
from aboard.ir import Graph, Node, Tensor
from aboard.ops.subgraph import SubgraphAttributes
from aboard.ops.verify import verify
from aboard.partition.costs import CYCLES_PER_BYTE, Decision, Priced, Totals, choose_by_cost
from aboard.partition.estimate import Offer
from aboard.partition.groups import Groups
from aboard.partition.inner import inner_graph
from aboard.partition.limits import limits
from aboard.partition.matcher import Match, Matcher, Uses, check_patterns
from aboard.partition.pattern import DevicePattern
from aboard.partition.point import point
from aboard.partition.search import in_order
from aboard.partition.trial import CostTrial
from aboard.passes import Pass
from aboard.target import Target, columns
from aboard.tiling import accelerator as tiling
from aboard.tuning import space
from aboard.tuning.choice import DEFAULTS, Tuning


@dataclass(frozen=True)
class Claim:
    """A region: matches that one device computes together.

    Attributes:
        device: Index of the device.
        matches: The matches in execution order.
    """

    device: int
    matches: tuple[Match, ...]

    @property
    def nodes(self) -> tuple[Node, ...]:
        """All nodes, match by match."""
        return tuple(node for match in self.matches for node in match.nodes)


@dataclass(frozen=True)
class Refusal:
    """The reason why a device does not compute a node.

    Attributes:
        device: Label of the device.
        reason: The reason.
    """

    device: str
    reason: str


@dataclass(frozen=True)
class NodePlacement:
    """The owner of a node of the model.

    Attributes:
        node: The node.
        device: Label of the device, or of the host.
        claim: Index in `Partition.claims`; None for the host.
        pattern: Pattern of the device it matched; "" for the host.
        refused: The earlier devices that do not compute it, in order, with reasons.
    """

    node: Node
    device: str
    claim: int | None
    pattern: str
    refused: tuple[Refusal, ...]


@dataclass(frozen=True)
class Partition:
    """The assignment of nodes to the host and devices.

    Attributes:
        target: The target.
        labels: Names of the devices in tables.
        host: Name of the host in tables.
        claims: The regions in the order of their first node.
        placements: One for every node, in execution order.
        prices: With `-partition=cost`, the price of each match.
        totals: With `-partition=cost`, the cost of the whole model.
    """

    target: Target
    labels: tuple[str, ...]
    host: str
    claims: tuple[Claim, ...]
    placements: tuple[NodePlacement, ...]
    prices: tuple[Priced, ...] = ()
    totals: Totals | None = None


@dataclass
class _Accelerator:
    index: int
    label: str
    target: Target
    matcher: Matcher
    candidates: list[Match] = field(default_factory=list)


def labels(target: Target) -> tuple[str, ...]:
    """Returns the names of devices in tables: the kind, else the hardware, else the full text."""
    kinds = [part.kind.name for part in (target.host, *target.devices)]
    named = [d.kind.name if kinds.count(d.kind.name) == 1 else d.hardware or d.key for d in target.devices]
    return tuple(n if named.count(n) == 1 else str(d) for n, d in zip(named, target.devices, strict=True))


def partition(graph: Graph, target: Target, passes: Sequence[Pass] = (), tuning: Tuning = DEFAULTS) -> Partition:
    """Assigns each node to the host or a device. The graph is not changed.

    Args:
        graph: A verified graph, before passes that only the host's kernels need.
        target: A target without devices gives all nodes to the host.
        passes: The passes that run after partitioning; `-partition=cost` counts the gains that a claim prevents.
        tuning: Its records price what was measured; for `-partition=cost`.

    Raises:
        TargetError: A device's column is wrong.
    """
    uses = Uses(graph)
    devices = [_device(index, label, uses, target) for index, label in enumerate(labels(target))]
    offers = [(device.index, match) for device in devices for match in device.candidates]
    decision = _by_cost(graph, target, passes, offers, tuning) if target.get("partition") == "cost" else None
    in_given_order = [offers[index] for index in in_order(offers, range(len(devices)))]
    claims = _merge(uses, in_given_order if decision is None else decision.taken)
    prices = () if decision is None else decision.prices
    return Partition(
        target,
        tuple(device.label for device in devices),
        target.host.kind.name,
        claims,
        tuple(_placement(node, claims, devices, target, prices) for node in graph.nodes),
        prices,
        None if decision is None else decision.totals,
    )


def _by_cost(graph: Graph, target: Target, passes: Sequence[Pass], offers: Sequence[Offer], tuning: Tuning) -> Decision:
    def claimed(trial: Graph, taken: Sequence[Offer]) -> None:
        claims = _merge(Uses(trial), taken)
        # No checks of the graph here: the compilation of the chosen partition makes them.
        _replace(trial, Partition(target, names, target.host.kind.name, claims, ()), DEFAULTS)

    def region(device: int, matches: Sequence[Match]) -> Node:
        claim = Claim(device, tuple(matches))
        return _subgraph(graph, 0, Partition(target, names, target.host.kind.name, (claim,), ()), DEFAULTS)

    names = labels(target)
    given = target.get("ram-cycles")
    cycles_per_byte = CYCLES_PER_BYTE if given is None else int(given)
    return choose_by_cost(CostTrial(graph, target, passes, claimed, region, tuning), offers, names, cycles_per_byte)


def _device(index: int, label: str, uses: Uses, target: Target) -> _Accelerator:
    device = target.devices[index]
    where = f"kind {device.kind.name}"
    patterns: list[DevicePattern] = []
    for value in columns.call_all(device, "patterns"):
        for pattern in value:
            if not isinstance(pattern, DevicePattern):
                raise TargetError(
                    f"{where}, column patterns: got {type(pattern).__name__}, expected DevicePattern. "
                    "Return a tuple of them"
                )
            patterns.append(pattern)
    check_patterns(patterns, where)

    claimable = limits(device, f"target {target}: {label}")

    def refuses(node: Node) -> str | None:
        outside = claimable(node, uses.index[node])
        if outside is not None:
            return outside
        reasons: list[str] = [text for text in columns.call_all(device, "supports", node) if text]
        return "; ".join(reasons) or None

    matcher = Matcher(uses, patterns, refuses)
    return _Accelerator(index, label, device, matcher, _with_tiles(device, matcher))


def _with_tiles(device: Target, matcher: Matcher) -> list[Match]:
    """Returns the candidates that fit the device's memory, at least with the smallest tiles."""
    tuning = space.of_device(device).defaults
    fitting: list[Match] = []
    for match in matcher.candidates():
        reason = tiling.problem(device, match.matched(), tuning)
        if reason is None:
            fitting.append(match)
        else:
            matcher.refuse(match, reason)
    return fitting


def _merge(uses: Uses, taken: Sequence[tuple[int, Match]]) -> tuple[Claim, ...]:
    """Joins neighbouring matches of one device if the result is convex."""
    groups = Groups(uses)
    ordered = sorted(taken, key=lambda t: uses.index[t[1].nodes[-1]])
    of_group: dict[int, list[tuple[int, Match]]] = {}
    for device, match in ordered:
        of_group[groups.add(match.nodes)] = [(device, match)]
    for group in list(of_group):
        if not _mergeable(of_group[group]):
            continue
        for before in groups.before(group):
            if before not in of_group or of_group[before][0][0] != of_group[group][0][0]:
                continue
            members = [*of_group[before], *of_group[group]]
            few = uses.borders(groups.nodes(before, group)) <= _most_borders(members)
            if few and _mergeable(of_group[before]) and groups.merge(before, into=group):
                of_group[group] = members
                del of_group[before]
    claims = []
    for members in of_group.values():
        matches = sorted((match for _, match in members), key=lambda m: uses.index[m.nodes[-1]])
        claims.append(Claim(members[0][0], tuple(matches)))
    return tuple(sorted(claims, key=lambda claim: min(uses.index[node] for node in claim.nodes)))


def _mergeable(members: Sequence[tuple[int, Match]]) -> bool:
    return all(match.pattern.merge for _, match in members)


def _most_borders(members: Sequence[tuple[int, Match]]) -> float:
    return min(math.inf if match.pattern.borders is None else match.pattern.borders for _, match in members)


def _placement(
    node: Node, claims: Sequence[Claim], devices: Sequence[_Accelerator], target: Target, prices: Sequence[Priced]
) -> NodePlacement:
    found = next((number for number, claim in enumerate(claims) if node in claim.nodes), None)
    owner = None if found is None else claims[found].device
    asked = [d for d in devices if owner is None or prices or d.index < owner or _could(d, node)]
    refused = tuple(
        Refusal(device.label, _why_not(device, node, devices, owner, prices))
        for device in asked
        if device.index != owner
    )
    if found is None or owner is None:
        return NodePlacement(node, target.host.kind.name, None, "", refused)
    match = next(match for match in claims[found].matches if node in match.nodes)
    return NodePlacement(node, devices[owner].label, found, match.pattern.name, refused)


def _could(device: _Accelerator, node: Node) -> bool:
    return any(node in match.nodes for match in device.candidates)


def _why_not(
    device: _Accelerator, node: Node, devices: Sequence[_Accelerator], owner: int | None, prices: Sequence[Priced]
) -> str:
    matched = next((match for match in device.candidates if node in match.nodes), None)
    if matched is None:
        return device.matcher.reason(node)
    price = next((p for p in prices if p.device == device.label and p.match is matched), None)
    if price is not None and price.reason:
        return price.reason
    if owner is not None and owner != device.index:
        return f"{matched.pattern.name}: {devices[owner].label} has it"
    return f"{matched.pattern.name}: part of what it would take went to another match"


def apply(graph: Graph, decided: Partition, tuning: Tuning = DEFAULTS) -> None:
    """Makes each region one node `subgraph`.

    Args:
        graph: The partitioned graph; changed in place.
        decided: Its partition.
        tuning: Chooses the values of the devices' knobs, region by region.

    Raises:
        VerifyError: The new graph breaks a rule; this is a bug of aboard.
    """
    _replace(graph, decided, tuning)
    verify(graph)


def _replace(graph: Graph, decided: Partition, tuning: Tuning) -> None:
    owner = {node: number for number, claim in enumerate(decided.claims) for node in claim.nodes}
    made = [_subgraph(graph, number, decided, tuning) for number in range(len(decided.claims))]
    units: dict[int | Node, list[Node]] = {}
    for node in graph.nodes:
        units.setdefault(owner.get(node, node), []).append(node)
    replaced = [made[unit] if isinstance(unit, int) else unit for unit in units]
    graph.nodes = _topological(replaced)


def _subgraph(graph: Graph, number: int, decided: Partition, tuning: Tuning) -> Node:
    claim = decided.claims[number]
    label = decided.labels[claim.device]
    order = {node: index for index, node in enumerate(graph.nodes)}
    nodes = sorted(claim.nodes, key=lambda node: order[node])
    kind = re.sub(r"\W", "_", decided.target.devices[claim.device].kind.name)
    inner = inner_graph(graph, nodes, f"{graph.name}_{kind}_{number}")
    matched = tuple(match.matched() for match in claim.matches)
    device = decided.target.devices[claim.device]
    tuned = point(tuning, decided.target, device, label, inner, matched)
    attrs = SubgraphAttributes(claim.device, label, matched, inner, tuned.values, tuned.origin)
    sources = tuple(sorted({source for node in nodes for source in node.sources}))
    return Node("subgraph", nodes[-1].name, list(inner.inputs), list(inner.outputs), attrs, sources)


def _topological(nodes: Sequence[Node]) -> list[Node]:
    """Returns nodes in execution order, as close to the given order as possible."""
    producers: Mapping[Tensor, Node] = {tensor: node for node in nodes for tensor in node.outputs}
    done: set[Node] = set()
    ordered: list[Node] = []
    for first in nodes:
        stack = [first]
        while stack:
            node = stack[-1]
            missing = [p for t in node.operands if (p := producers.get(t)) is not None and p not in done]
            if node in done:
                stack.pop()
            elif missing:
                stack.append(missing[0])
            else:
                done.add(node)
                ordered.append(stack.pop())
    return ordered
