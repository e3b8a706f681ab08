"""What a model, or a part of it, costs: instructions, which an emulator counts, or ticks, which a board measures."""

from __future__ import annotations

import statistics
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Literal

#: Instructions are the same in every run and at every clock; ticks are not.
Unit = Literal["instructions", "ticks"]


@dataclass(frozen=True)
class MeasuredCost:
    """The cost of a part of a model.

    Attributes:
        count: Instructions, or the median of the ticks of several runs.
        unit: What was counted.
        spread: Ticks between the first and the third quartile of the runs; 0 for instructions and for a single run.
    """

    count: int
    unit: Unit
    spread: int = 0

    @classmethod
    def of(cls, counts: Sequence[int], unit: Unit) -> MeasuredCost:
        """Returns the cost that several runs show."""
        if len(counts) == 1:
            return cls(counts[0], unit)
        lower, middle, upper = statistics.quantiles(counts, n=4, method="inclusive")
        return cls(round(middle), unit, round(upper - lower))

    def beats(self, other: MeasuredCost) -> bool:
        """True if it is less, by more than the spread of both."""
        return self.count + max(self.spread, other.spread) < other.count


def total(costs: Iterable[MeasuredCost]) -> MeasuredCost:
    """Returns the sum of costs of one unit, at least one; their spreads add up, as if all went the same way."""
    found = list(costs)
    return MeasuredCost(sum(c.count for c in found), found[0].unit, sum(c.spread for c in found))


def cost_text(count: int, spread: int) -> int | str:
    """Returns a cost for a table: the number alone, or with its spread as `1,200 ± 4`."""
    return f"{count:,} ± {spread:,}" if spread else count
