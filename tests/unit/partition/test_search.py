"""The search for partitions: at most 2 % above the best there is, whatever the order of the devices."""

from __future__ import annotations

import os

import numpy as np
import pytest

from aboard.partition.costs import choose_by_cost
from support import drawn_partitions as drawn

#: Numbers of graphs: a few in CI, more in `make test-full`, 200 in `make bench-partition`.
SMALL, ORDERS = (40, 40) if os.environ.get("ABOARD_FULL") else (2, 2)


def price_of(decided) -> tuple[int, float]:
    return decided.totals.chosen.price(decided.totals.cycles_per_byte)


@pytest.mark.parametrize("seed", range(SMALL))
def test_small_graphs_are_near_the_best_of_all_sets(seed: int) -> None:
    rng = np.random.default_rng(seed)
    made = drawn.graph(rng, int(rng.integers(3, 6)))
    devices = {"first": drawn.drawn_device(rng), "second": drawn.drawn_device(rng)}
    ram_cycles = int(rng.choice([0, 1, 20]))
    found = price_of(drawn.decided(made, devices, ram_cycles))
    with drawn.brute_force():
        least = price_of(drawn.decided(made, devices, ram_cycles))
    assert found[0] == least[0]
    assert found[1] <= 1.02 * least[1]


@pytest.mark.parametrize("seed", range(20))
def test_chains_of_three_devices_are_exact(seed: int) -> None:
    chain = drawn.additive_chain(np.random.default_rng(seed), 12, 3)
    decision = choose_by_cost(chain, chain.offers(), ("a", "b", "c"), 0)
    assert decision.totals.chosen.price(0)[1] == pytest.approx(chain.least())


def test_longer_chains_are_exact_too() -> None:
    """A chain of 60 nodes leaves few trials, so the estimate decides."""
    chain = drawn.additive_chain(np.random.default_rng(1), 60, 3)
    decision = choose_by_cost(chain, chain.offers(), ("a", "b", "c"), 0)
    assert decision.totals.chosen.price(0)[1] == pytest.approx(chain.least())


@pytest.mark.parametrize("seed", range(ORDERS))
def test_the_order_of_devices_is_no_matter(seed: int) -> None:
    rng = np.random.default_rng(100 + seed)
    made = drawn.graph(rng, int(rng.integers(4, 9)))
    devices = {name: drawn.drawn_device(rng) for name in ("first", "second", "third")}
    owners = []
    for names in (("first", "second", "third"), ("third", "first", "second")):
        decided = drawn.decided(made, {name: devices[name] for name in names}, 1)
        owners.append([placement.device for placement in decided.placements])
    assert owners[0] == owners[1]
