"""A rule of choice for tests of kernels: some kernels compute what they can, whatever others cost."""

from __future__ import annotations

from aboard.kernels.contract import Implementation
from aboard.kernels.select import strategy


def preferred(*names: str) -> strategy.Rule:
    """Returns a rule for `strategy.forced`.

    Args:
        names: Implementations. Of those that accept a node the strategy's choice is kept, else the most specific one
            is taken; if none accepts it, the strategy chooses.
    """

    def rule(explained: strategy.Explanation) -> Implementation | None:
        able = [c.implementation for c in explained.candidates if not c.refused and c.implementation.name in names]
        if explained.chosen is not None and explained.chosen.implementation in able:
            return None
        return able[0] if able else None

    return rule
