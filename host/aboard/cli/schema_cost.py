"""The JSON of a measured cost, which several commands print."""

from __future__ import annotations

from pydantic import Field
from typing_extensions import Self

from aboard.base.measured_cost import MeasuredCost
from aboard.cli.schema_result import Result


class CostInfo(Result):
    """What a part of the model costs, in the unit of the result."""

    count: int = Field(description="Instructions, or the median of the ticks of several runs.")
    spread: int = Field(description="Ticks between the first and the third quartile of the runs; 0 for instructions.")

    @classmethod
    def of(cls, cost: MeasuredCost) -> Self:
        """Returns the record of a cost."""
        return cls(count=cost.count, spread=cost.spread)
