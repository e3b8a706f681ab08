"""The trade between flash and time: the kernel variants that were not chosen, and their costs."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from aboard.compiler.pipeline import Module
from aboard.compiler.scheduled import Scheduled
from aboard.kernels.select import strategy
from aboard.kernels.select.measured import has_cycles
from aboard.kernels.select.price import flash_price
from aboard.kernels.select.strategy import Explanation
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
        cycles: Predicted change of cycles; None if the cycles of the core are not known.
        flash_bytes: Predicted change of flash bytes with the other; negative for fewer.
    """

    layer: int
    op: str
    taken: str
    name: str
    instructions: int
    cycles: int | None
    flash_bytes: int

    @property
    def time(self) -> int:
        """Change of what decides: cycles if known, else instructions."""
        return self.instructions if self.cycles is None else self.cycles

    @property
    def each(self) -> float:
        """Change of time per byte of flash."""
        return self.time / -self.flash_bytes


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
        if mine is None or mine.cost is None or other.cost is None or name == taken:
            continue
        instructions = round(other.cost.instructions) - round(mine.cost.instructions)
        cycles = round(other.cost.cycles) - round(mine.cost.cycles) if mine.cost.prediction.in_cycles else None
        larger = (other.more_bytes or 0) - (mine.more_bytes or 0)
        found = Other(layer, explained.node.op, taken, name, instructions, cycles, larger)
        if found.time * larger < 0:
            yield found


def unit(target: Target) -> str:
    """Returns what decides between kernels on a target: `cycles` or `instructions`."""
    return "cycles" if has_cycles(target) else "instructions"


def rule(target: Target) -> str:
    """Returns the rule by which variants are chosen, in words."""
    limit = target.flash_max
    if limit is not None:
        return f"the fewest {unit(target)} within -flash-max={limit}"
    price = flash_price(target)
    if not price:
        return f"the fewest {unit(target)}, whatever flash they take (-opt={target.opt})"
    less = ", or a hundred-thousandth of an inference if that is less" if target.opt == "balanced" else ""
    return f"a byte of flash must save {price:,g} {unit(target)}{less} (-opt={target.opt})"
