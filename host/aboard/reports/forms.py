"""The trade between flash and instructions: what layers would take in other forms than those that were chosen."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from aboard.compiler.fitting import Scheduled
from aboard.compiler.pipeline import Module
from aboard.kernels.select import strategy
from aboard.kernels.select import variants as forms
from aboard.kernels.select.strategy import Explanation
from aboard.target import Target


@dataclass(frozen=True)
class Other:
    """A form that a layer could have: faster and larger, or slower and smaller.

    Attributes:
        layer: Number of the layer.
        op: Its op.
        taken: Name of the implementation that computes it.
        name: Name of the other one.
        instructions: How many more the other takes, predicted; below 0 fewer.
        flash_bytes: How many more bytes of flash the model takes with it, predicted; below 0 fewer.
    """

    layer: int
    op: str
    taken: str
    name: str
    instructions: int
    flash_bytes: int

    @property
    def each(self) -> float:
        """Instructions for each byte."""
        return self.instructions / -self.flash_bytes


def of(module: Module) -> tuple[Other, ...]:
    """Returns the forms that layers could have, in the order of the layers; those that only lose are left out.

    Args:
        module: Compiled in this process.

    Raises:
        ProjectError: It was read from a folder.
    """
    scheduled = module.schedule()
    target, graph = module.target, scheduled.program.graph
    index = {step.node: step.index for step in scheduled.program.steps}
    found = strategy.explain_all(graph, target, target.flash_max)
    return tuple(other for each in found if each.node in index for other in _others(each, index[each.node], scheduled))


def _others(explained: Explanation, layer: int, scheduled: Scheduled) -> Iterator[Other]:
    weighed = {c.implementation.name: c.weight for c in explained.candidates if c.weight is not None}
    taken = scheduled.calls.implementations[explained.node].name
    mine = weighed.get(taken)
    for name, weight in weighed.items():
        if mine is None or name == taken:
            continue
        slower = weight.instructions - mine.instructions
        larger = weight.more_bytes - mine.more_bytes
        if slower * larger < 0:
            yield Other(layer, explained.node.op, taken, name, slower, larger)


def rule(target: Target) -> str:
    """Returns by which rule forms are chosen, in words."""
    limit = target.flash_max
    if limit is not None:
        return f"the fewest instructions within -flash-max={limit}"
    worth = forms.WORTH[target.opt]
    if not worth:
        return f"the fewest instructions, whatever flash they take (-opt={target.opt})"
    return f"a byte of flash must save {worth:,.0f} instructions (-opt={target.opt})"
