"""Random graphs and prices of devices, to hold the search for partitions to the best ones there are."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass

import numpy as np

from aboard.ir import DType, Graph, Node, Quantization, Tensor, TensorType
from aboard.kernels.accelerator import ClaimedRegion, Cost
from aboard.ops.arithmetic import ArithmeticAttributes
from aboard.partition import costs, pipeline
from aboard.partition.estimate import Estimate, Offer
from aboard.partition.matcher import Match
from aboard.partition.partitioner import Partition
from aboard.partition.pattern import DevicePattern, chain, op
from aboard.partition.trial import ModelCost
from aboard.target import Target
from support.device import device

HOST = "c -mcpu=cortex-m4"
BINARY = ("add", "mul")
OPS = ("relu", "relu6", *BINARY)


def graph(rng: np.random.Generator, nodes: int, *, is_chain: bool = False) -> Graph:
    """Returns a graph of elementwise nodes with shapes, branches and several outputs by chance."""
    kind = TensorType((1, int(rng.integers(1, 9)), int(rng.integers(1, 33))), DType.INT8, Quantization((0.5,), (1,)))
    tensors = [Tensor("x0", kind)]
    made: list[Node] = []
    for number in range(nodes):
        name = str(rng.choice(OPS[:2] if is_chain else OPS))
        recent = tensors[-1:] if is_chain else tensors[-3:]
        operands: list[Tensor | None] = [recent[rng.integers(len(recent))] for _ in range(1 + (name in BINARY))]
        result = Tensor(f"t{number}", kind)
        attrs = ArithmeticAttributes() if name in BINARY else type(Node("relu", "", [], []).attrs)()
        made.append(Node(name, result.name, operands, [result], attrs, (number,)))
        tensors.append(result)
    read = {tensor for node in made for tensor in node.operands}
    return Graph("m", tensors[:1], [node.output for node in made if node.output not in read], made)


@dataclass(frozen=True)
class DrawnDevice:
    """A device with patterns and prices by chance."""

    patterns: tuple[DevicePattern, ...]
    setup: float
    element: Mapping[str, float]
    transfer: float

    def cost(self, target: Target, region: ClaimedRegion) -> Cost:
        """Returns the cost of a region: each node by its elements, and each byte at the border."""
        del target
        border = sum(tensor.type.bytes for tensor in (*region.graph.inputs, *region.graph.outputs))
        work = sum(self.element[node.op] * node.output.type.elements for node in region.graph.nodes)
        return Cost(self.setup + work, border * self.transfer)


def drawn_device(rng: np.random.Generator) -> DrawnDevice:
    """Returns a device that joins regions or not, and that has a longer pattern or not."""
    merge = bool(rng.integers(2))
    names = [name for name in OPS if rng.random() < 0.8] or ["relu"]
    patterns = [DevicePattern(name, op(name), merge=merge) for name in names]
    if rng.random() < 0.5:
        first, second = rng.choice(OPS, 2)
        patterns.append(DevicePattern("pair", chain(op(str(first)), op(str(second))), merge=merge))
    element = {name: float(rng.uniform(0.2, 12)) for name in OPS}
    return DrawnDevice(tuple(patterns), float(rng.uniform(0, 400)), element, float(rng.uniform(0, 3)))


def decided(made: Graph, devices: Mapping[str, DrawnDevice], ram_cycles: int) -> Partition:
    """Returns the partition by cost, with the devices in the order of the mapping."""
    with ExitStack() as stack:
        for name, drawn in devices.items():
            stack.enter_context(device(drawn.patterns, name=name, cost=drawn.cost))
        named = " ".join(f"-device='{name}'" for name in devices)
        target = Target(f"composite -host='{HOST}' {named} -partition=cost -ram-cycles={ram_cycles}")
        return pipeline.decide(made, target)


@contextmanager
def brute_force() -> Iterator[None]:
    """Makes `-partition=cost` try every set of matches."""

    def best(estimate: Estimate, devices: Sequence[int], price: Callable[[tuple[int, ...]], tuple[int, float]]):
        del devices
        return min(_every(estimate.offers), key=price)

    before, costs.search = costs.search, best
    try:
        yield
    finally:
        costs.search = before


def _every(
    offers: Sequence[Offer], first: int = 0, claimed: frozenset[Node] = frozenset()
) -> Iterator[tuple[int, ...]]:
    yield ()
    for index in range(first, len(offers)):
        nodes = offers[index][1].nodes
        if claimed.isdisjoint(nodes):
            for rest in _every(offers, index + 1, claimed.union(nodes)):
                yield (index, *rest)


@dataclass
class AdditiveChain:
    """Takes the place of trials: a chain of nodes whose price is a sum, so that its least price is known.

    Attributes:
        graph: The chain.
        prices: Cycles of each node on the host, then on each device.
        setup: Cycles of each region of a device.
        transfer: Cycles of each border of a region of a device.
    """

    graph: Graph
    prices: np.ndarray
    setup: np.ndarray
    transfer: np.ndarray

    def offers(self) -> list[Offer]:
        """Returns the matches of single nodes, for all devices."""
        pattern = DevicePattern("any", op(*OPS), merge=True)
        return [(d, Match(pattern, (node,), {})) for d in range(len(self.setup)) for node in self.graph.nodes]

    def host(self) -> dict[Node, float]:
        return dict(zip(self.graph.nodes, self.prices[0], strict=True))

    def region(self, device: int, matches: Sequence[Match]) -> Cost:
        number = {node: index for index, node in enumerate(self.graph.nodes)}
        work = sum(self.prices[device + 1][number[node]] for match in matches for node in match.nodes)
        return Cost(float(work + self.setup[device]), float(2 * self.transfer[device]))

    def whole(self, taken: Sequence[Offer]) -> ModelCost:
        owners: list[int] = [-1] * len(self.graph.nodes)
        for owner, match in taken:
            owners[self.graph.nodes.index(match.nodes[0])] = owner
        return ModelCost(0, 0, self.price(owners), 0.0, 0)

    def price(self, owners: Sequence[int]) -> float:
        """Returns the cycles with these owners of the nodes, -1 for the host."""
        total = float(sum(self.prices[owner + 1][index] for index, owner in enumerate(owners)))
        before = -1
        for owner in owners:
            if owner != before and owner >= 0:
                total += float(self.setup[owner] + 2 * self.transfer[owner])
            before = owner
        return total

    def least(self) -> float:
        """Returns the least price, node by node."""
        known = {-1: 0.0}
        for index in range(len(self.graph.nodes)):
            longer: dict[int, float] = {}
            for owner in range(-1, len(self.setup)):
                border = 0.0 if owner < 0 else float(self.setup[owner] + 2 * self.transfer[owner])
                start = min(price + (0.0 if before == owner else border) for before, price in known.items())
                longer[owner] = start + float(self.prices[owner + 1][index])
            known = longer
        return min(known.values())


def additive_chain(rng: np.random.Generator, nodes: int, devices: int) -> AdditiveChain:
    """Returns a chain with prices by chance: some nodes suit one device, some the host."""
    return AdditiveChain(
        graph(rng, nodes, is_chain=True),
        rng.uniform(1, 100, (devices + 1, nodes)),
        rng.uniform(0, 150, devices),
        rng.uniform(0, 40, devices),
    )
