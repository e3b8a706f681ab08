"""Chooses among the kernel variants of a model's layers: kernels for the core or portable, unrolled or short code.

A variant is a kernel that can compute a node, with its cost. A piece of flash counts once for a model, for any number
of nodes that use it (`flash`). The choice minimises time + price * bytes, with the time in cycles of the core
(`KernelCost.time`). The price is the number of cycles of an inference that a byte must save (`price`):

- `-opt=balanced`: 40 for flash;
- `-opt=speed`: 0; among equally fast variants, the smaller;
- `-opt=size`: 1,000 for flash, so that almost no saving pays for a byte, and 1 for scratch;
- with `-flash-max`: the lowest price whose choice fits the flash budget, from 0 on (`-opt=size`: from 1,000 on);
  the rest of the budget then goes to the variants that save the most per byte.

The search starts from the best variant of each node alone, and changes one node, or all nodes that have or could have
an implementation, while this reduces the cost. So a function that many layers share is taken or left for all layers.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

from aboard.kernels.contract import Implementation
from aboard.kernels.select import code_size
from aboard.kernels.select.cost_model import KernelCost
from aboard.kernels.select.price import flash_price, prices
from aboard.target import Target

#: A price above which no saving pays for a byte.
_HIGHEST_PRICE = 1e9

#: A price so low that it only decides between variants with equal times.
_LOWEST_PRICE = 1e-6

#: Error of a sum of costs by rounding, as a part of it, at most.
_ROUNDING = 1e-9

#: Number of bisections of the price for a flash budget.
_STEPS = 24


@dataclass(frozen=True)
class Variant:
    """A kernel that can compute a node, with its cost."""

    implementation: Implementation
    cost: KernelCost

    @property
    def key(self) -> tuple[str, str]:
        """Op and name of the implementation."""
        return self.implementation.op, self.implementation.name


class VariantChoice:
    """The variants of all nodes of a model, one of them chosen for each.

    Attributes:
        options: The variants of each node.
        chosen: Index of the chosen variant of each node.
        target: The target of the code.
    """

    def __init__(self, options: Sequence[Sequence[Variant]], target: Target, budget: int | None = None) -> None:
        """Chooses.

        Args:
            options: For each node at least one variant.
            target: The target of the code.
            budget: Largest number of bytes of flash; None for the price of `-opt`.
        """
        self.options = options
        self.target = target
        self._fixed: dict[str, int] = {}
        for variants in options:
            if len(variants) == 1:
                self._fixed |= variants[0].cost.flash
        self._base = sum(self._fixed.values()) + code_size.frame(target, len(options), 0)
        self._ram_price = prices(target).ram
        fastest = sum(min(variant.cost.time for variant in variants) for variants in options)
        price = flash_price(target, fastest)
        if budget is None:
            self.chosen = self._settled(price)
        else:
            self.chosen = self._within(budget, price if target.opt == "size" else 0.0)

    def bytes(self, chosen: Sequence[int] | None = None) -> int:
        """Returns the flash of the model, predicted for steps that are computed one after another."""
        every: dict[str, int] = {}
        for variants, index in zip(self.options, self.chosen if chosen is None else chosen, strict=True):
            if len(variants) > 1:
                every |= variants[index].cost.flash
        return sum(size for key, size in every.items() if key not in self._fixed) + self._base

    def more(self, node: int, index: int) -> int:
        """Returns the difference in bytes of the model with another variant of a node."""
        return self._more(self.chosen, self._used_at_last, node, index)

    @cached_property
    def _used_at_last(self) -> Counter[str]:
        return self._used(self.chosen)

    def _used(self, chosen: Sequence[int]) -> Counter[str]:
        """Returns how many nodes that have a choice use each piece of flash."""
        options = zip(self.options, chosen, strict=True)
        return Counter(key for variants, i in options if len(variants) > 1 for key in variants[i].cost.flash)

    def _more(self, chosen: Sequence[int], used: Counter[str], node: int, index: int) -> int:
        """Returns the difference in bytes of a choice with another variant of a node."""
        old, new = self.options[node][chosen[node]].cost.flash, self.options[node][index].cost.flash
        added = sum(size for key, size in new.items() if not used[key] and key not in self._fixed)
        gone = (key for key in old if used[key] == 1 and key not in new and key not in self._fixed)
        return added - sum(old[key] for key in gone)

    def _spent(self, variant: Variant) -> float:
        """Returns the time of a variant, and the price of its scratch."""
        return variant.cost.time + self._ram_price * variant.cost.ram_bytes

    def _time(self, chosen: Sequence[int]) -> float:
        return sum(self._spent(variants[index]) for variants, index in zip(self.options, chosen, strict=True))

    @cached_property
    def _names(self) -> list[tuple[str, str]]:
        return sorted({v.key for variants in self.options if len(variants) > 1 for v in variants})

    def _settled(self, price: float) -> list[int]:
        """Returns the choice with the lowest time + price * bytes found."""
        price = max(price, _LOWEST_PRICE)

        def alone(variant: Variant) -> float:
            return self._spent(variant) + price * variant.cost.flash_bytes

        def cost(chosen: Sequence[int]) -> float:
            return self._time(chosen) + price * self.bytes(chosen)

        best = [_least([alone(variant) for variant in variants]) for variants in self.options]
        least = cost(best)
        while True:
            found = min(self._promising(best, price), key=cost, default=best)
            if cost(found) >= least:
                return best
            best, least = found, cost(found)

    def _promising(self, chosen: Sequence[int], price: float) -> list[list[int]]:
        """Returns `_neighbours` without those of one node that certainly cost more than another one of them.

        The difference of costs follows from one node, but for the rounding of sums; the cost from all nodes.
        """
        used = self._used(chosen)
        changes: list[tuple[float, int, int]] = []
        for node, variants in enumerate(self.options):
            for index, variant in enumerate(variants):
                if index != chosen[node]:
                    slower = self._spent(variant) - self._spent(variants[chosen[node]])
                    changes.append((slower + price * self._more(chosen, used, node, index), node, index))
        doubt = _ROUNDING * (self._time(chosen) + price * self.bytes(chosen))
        limit = min((change for change, _, _ in changes), default=0.0) + doubt
        found = [[*chosen[:node], index, *chosen[node + 1 :]] for change, node, index in changes if change <= limit]
        return found + self._by_name(chosen)

    def _neighbours(self, chosen: Sequence[int]) -> list[list[int]]:
        """Returns choices with another variant of one node, or with an implementation in all nodes or in none."""
        found: list[list[int]] = []
        for node, variants in enumerate(self.options):
            found += [[*chosen[:node], i, *chosen[node + 1 :]] for i in range(len(variants)) if i != chosen[node]]
        return found + self._by_name(chosen)

    def _by_name(self, chosen: Sequence[int]) -> list[list[int]]:
        """Returns other choices, each once: with an implementation in all nodes or in none."""
        found = dict.fromkeys(tuple(f(chosen, name)) for name in self._names for f in (self._with, self._without))
        return [list(other) for other in found if other != tuple(chosen)]

    @cached_property
    def _indices(self) -> list[dict[tuple[str, str], int]]:
        """The index of each implementation, node by node; of two with one name, the first."""
        return [{variants[i].key: i for i in reversed(range(len(variants)))} for variants in self.options]

    @cached_property
    def _smallest_others(self) -> list[dict[tuple[str, str], int]]:
        """The index of the smallest variant of another implementation, by implementation, node by node."""
        found: list[dict[tuple[str, str], int]] = []
        for variants, indices in zip(self.options, self._indices, strict=True):
            sizes = [variant.cost.flash_bytes for variant in variants]
            order = sorted(range(len(variants)), key=sizes.__getitem__)
            others = {key: next((i for i in order if variants[i].key != key), None) for key in indices}
            found.append({key: i for key, i in others.items() if i is not None})
        return found

    def _with(self, chosen: Sequence[int], name: tuple[str, str]) -> list[int]:
        return [indices.get(name, old) for indices, old in zip(self._indices, chosen, strict=True)]

    def _without(self, chosen: Sequence[int], name: tuple[str, str]) -> list[int]:
        found = zip(self.options, self._smallest_others, chosen, strict=True)
        return [others.get(name, old) if variants[old].key == name else old for variants, others, old in found]

    def _within(self, budget: int, lowest: float) -> list[int]:
        """Returns the choice of the lowest price that fits a budget; the smallest choice if none fits."""
        best = self._settled(lowest)
        if self.bytes(best) <= budget:
            return best
        best = self._settled(_HIGHEST_PRICE)
        if self.bytes(best) > budget:
            return best
        low, high = max(lowest, _LOWEST_PRICE), _HIGHEST_PRICE
        for _ in range(_STEPS):
            price = (low * high) ** 0.5
            found = self._settled(price)
            if self.bytes(found) <= budget:
                best, high = found, price
            else:
                low = price
        return self._filled(best, budget)

    def _filled(self, chosen: list[int], budget: int) -> list[int]:
        """Returns the choice improved by variants that still fit, those that save the most per byte first."""
        while True:
            size, count = self.bytes(chosen), self._time(chosen)
            better = []
            for other in self._neighbours(chosen):
                saved, more = count - self._time(other), self.bytes(other) - size
                if saved > 0 and size + more <= budget:
                    better.append((saved / max(more, 1), other))
            if not better:
                return chosen
            chosen = max(better)[1]


def _least(values: Sequence[float]) -> int:
    """Returns the index of the least value; of equal ones, the first."""
    return min(range(len(values)), key=values.__getitem__)
