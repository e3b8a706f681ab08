"""The trade between flash and instructions: the kernel variants that were not chosen, and their costs."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from aboard.compiler.fitting import Scheduled
from aboard.compiler.pipeline import Module
from aboard.kernels.select import strategy
from aboard.kernels.select.price import flash_price
from aboard.kernels.select.strategy import Explanation, KernelCandidate
from aboard.target import Target


@dataclass(frozen=True)
class Other:
    """A variant that a layer could have: faster and larger, or slower and smaller.

    Attributes:
        layer: Number of the layer.
        op: Its op.
        taken: Name of the chosen implementation.
        name: Name of the other implementation.
        instructions: Predicted change of instructions with the other; negative for fewer.
        flash_bytes: Predicted change of flash bytes with the other; negative for fewer.
    """

    layer: int
    op: str
    taken: str
    name: str
    instructions: int
    flash_bytes: int

    @property
    def each(self) -> float:
        """Change of instructions per byte of flash."""
        return self.instructions / -self.flash_bytes


def of(module: Module) -> tuple[Other, ...]:
    """Returns the other variants of each layer, in the order of layers, without variants that are worse in both costs.

    Args:
        module: A module compiled in this process.

    Raises:
        ProjectError: The module was read from a folder.
    """
    scheduled = module.schedule()
    target, graph = module.target, scheduled.program.graph
    index = {step.node: step.index for step in scheduled.program.steps}
    found = strategy.explain_all(graph, target, target.flash_max)
    return tuple(other for each in found if each.node in index for other in _others(each, index[each.node], scheduled))


def _others(explained: Explanation, layer: int, scheduled: Scheduled) -> Iterator[Other]:
    compared = {c.implementation.name: c for c in explained.candidates if c.more_bytes is not None}
    taken = scheduled.calls.implementations[explained.node].name
    mine = compared.get(taken)
    for name, other in compared.items():
        if mine is None or name == taken:
            continue
        slower = _instructions(other) - _instructions(mine)
        larger = (other.more_bytes or 0) - (mine.more_bytes or 0)
        if slower * larger < 0:
            yield Other(layer, explained.node.op, taken, name, slower, larger)


def _instructions(candidate: KernelCandidate) -> int:
    return 0 if candidate.cost is None else round(candidate.cost.instructions)


def rule(target: Target) -> str:
    """Returns the rule by which variants are chosen, in words."""
    limit = target.flash_max
    if limit is not None:
        return f"the fewest instructions within -flash-max={limit}"
    price = flash_price(target)
    if not price:
        return f"the fewest instructions, whatever flash they take (-opt={target.opt})"
    return f"a byte of flash must save {price:,.0f} instructions (-opt={target.opt})"
