"""Choice by cost: accelerators get the matches that reduce the cost of the whole model.

A trial (`aboard.partition.trial`) prices every set of matches: instructions of the host from measured figures, the
costs that accelerators state for their regions, transfers, and a lower bound of RAM. All figures are estimates in
cycles of the host; one instruction counts as one cycle.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from aboard.kernels.accelerator import Cost
from aboard.partition.estimate import Offer, estimate
from aboard.partition.matcher import Match
from aboard.partition.search import search
from aboard.partition.trial import CostTrial, ModelCost

#: Cycles that a byte of RAM counts as, unless the target gives `-ram-cycles`.
CYCLES_PER_BYTE = 1


@dataclass(frozen=True)
class Priced:
    """The change in cost from one match, given all other taken matches that do not overlap with it.

    Attributes:
        device: Label of the device.
        match: The match.
        host: Instructions that the host saves; negative if other layers lose more than the match saves.
        cost: Cost on the device; its RAM is the change of the bound for the whole model, and may be negative.
        taken: True if the device got it.
        reason: Why the device did not get it; "" if it did.
    """

    device: str
    match: Match
    host: float
    cost: Cost
    taken: bool
    reason: str = ""


@dataclass(frozen=True)
class Totals:
    """The cost of the whole model.

    Attributes:
        alone: With all nodes on the host.
        chosen: With the chosen matches.
        cycles_per_byte: Cycles that a byte of RAM counts as.
    """

    alone: ModelCost
    chosen: ModelCost
    cycles_per_byte: int


@dataclass(frozen=True)
class Decision:
    """The outcome of the choice by cost.

    Attributes:
        taken: The matches that devices get.
        prices: The price of every match.
        totals: The cost of the whole model.
    """

    taken: tuple[Offer, ...]
    prices: tuple[Priced, ...]
    totals: Totals


def choose_by_cost(trial: CostTrial, offers: Sequence[Offer], labels: Sequence[str], cycles_per_byte: int) -> Decision:
    """Takes the matches with which the whole model costs least (`aboard.partition.search`).

    The result costs at most what `-partition=order` would, in any order of up to four devices, and what the host alone
    or any device alone would.

    Args:
        trial: Prices sets of matches.
        offers: All matches, device by device.
        labels: Names of the devices in tables.
        cycles_per_byte: Cycles that a byte of RAM counts as.

    Raises:
        TargetError: A device gives no costs.
    """
    devices = sorted(range(len(labels)), key=lambda device: labels[device])
    ordered = [offer for device in devices for offer in offers if offer[0] == device]
    guess = estimate(trial.graph.nodes, ordered, trial.host() if ordered else {}, trial.region)

    def price(indices: Sequence[int]) -> tuple[int, float]:
        return trial.whole([ordered[index] for index in indices]).price(cycles_per_byte)

    taken = [ordered[index] for index in search(guess, devices, price)] if ordered else []
    totals = Totals(trial.whole([]), trial.whole(taken), cycles_per_byte)
    prices = tuple(_priced(trial, offer, taken, labels, cycles_per_byte) for offer in offers)
    return Decision(tuple(taken), prices, totals)


def overlapping(offer: Offer, others: Sequence[Offer]) -> list[Offer]:
    """Returns the other matches that share a node with this one."""
    nodes = set(offer[1].nodes)
    return [other for other in others if other is not offer and not nodes.isdisjoint(other[1].nodes)]


def _without(offer: Offer, taken: Sequence[Offer]) -> list[Offer]:
    gone = overlapping(offer, taken)
    return [other for other in taken if other is not offer and other not in gone]


def _priced(
    trial: CostTrial, offer: Offer, taken: Sequence[Offer], labels: Sequence[str], cycles_per_byte: int
) -> Priced:
    """Returns the change in cost from one match, given the taken ones."""
    others = _without(offer, taken)
    absent, present = trial.whole(others), trial.whole([*others, offer])
    saved = absent.host - present.host
    cost = Cost(
        present.compute - absent.compute, present.transfer - absent.transfer, present.ram_bytes - absent.ram_bytes
    )
    device, match = labels[offer[0]], offer[1]
    if offer in taken:
        return Priced(device, match, saved, cost, taken=True)
    figures = (
        f"costs {cost.compute:,.0f} cycles, {cost.transfer:,.0f} for transfers and {cost.ram_bytes:+,} bytes of RAM, "
        f"and saves the host {saved:,}"
    )
    rival = next((labels[index] for index, _ in overlapping(offer, taken)), None)
    pays = present.price(cycles_per_byte) < absent.price(cycles_per_byte)
    why = f"; more is saved with {rival}" if pays and rival else ""
    return Priced(device, match, saved, cost, taken=False, reason=f"{match.pattern.name}: {figures}{why}")
