"""Choosing by cost: accelerators get the matches that make the whole model cheaper.

Every set of matches is priced by a trial (`aboard.partition.trial`): instructions of the host by measured figures, the
costs that accelerators give for their regions, transfers, and the bound on RAM. All figures are estimates, in cycles of
the host, one instruction counted as one cycle.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from aboard.kernels.accelerator import Cost
from aboard.partition.matcher import Match
from aboard.partition.trial import CostTrial, ModelCost, Offer

#: Cycles that a byte of RAM counts as, if the target does not give them (`-ram-cycles`).
CYCLES_PER_BYTE = 1
#: How often all matches are looked at again after some were taken or given back.
_ROUNDS = 3


@dataclass(frozen=True)
class Priced:
    """What one match changes, beside all others that were taken and do not overlap with it.

    Attributes:
        device: Label of the device.
        match: What it would compute.
        host: Instructions that the host no longer executes; below 0 where other layers become dearer by more.
        cost: On the device; its RAM is the change of the bound for the whole model, which may be below 0.
        taken: True when the device got it.
        reason: Why it did not; "" where it did.
    """

    device: str
    match: Match
    host: float
    cost: Cost
    taken: bool
    reason: str = ""


@dataclass(frozen=True)
class Totals:
    """What the whole model costs.

    Attributes:
        alone: On the host alone.
        chosen: As it was decided.
        cycles_per_byte: What a byte of RAM counted as.
    """

    alone: ModelCost
    chosen: ModelCost
    cycles_per_byte: int


@dataclass(frozen=True)
class Decision:
    """What was decided by cost.

    Attributes:
        taken: The matches that devices get.
        prices: Of every match.
        totals: Of the whole model.
    """

    taken: tuple[Offer, ...]
    prices: tuple[Priced, ...]
    totals: Totals


def choose_by_cost(trial: CostTrial, offers: Sequence[Offer], labels: Sequence[str], cycles_per_byte: int) -> Decision:
    """Takes the matches that make the whole cheapest.

    Beginning with the host alone, one match is tried after another, the largest first: it is taken, in place of those
    it overlaps with, or given back, where the whole gets cheaper by it. What `-partition=order` would do is taken
    instead where that is cheaper still. So the outcome never costs more than either.

    Args:
        trial: Prices sets of matches.
        offers: All matches, device by device.
        labels: What tables call each device.
        cycles_per_byte: What a byte of RAM counts as.

    Raises:
        TargetError: A device cannot be asked for costs.
    """
    ordered = sorted(offers, key=lambda offer: -len(offer[1].nodes))
    ends = (_improved(trial, ordered, cycles_per_byte), in_order(offers))
    taken = min(ends, key=lambda end: trial.whole(end).price(cycles_per_byte))
    totals = Totals(trial.whole([]), trial.whole(taken), cycles_per_byte)
    prices = tuple(_priced(trial, offer, taken, labels, cycles_per_byte) for offer in offers)
    return Decision(tuple(taken), prices, totals)


def in_order(offers: Sequence[Offer]) -> list[Offer]:
    """Takes the matches that do not overlap with an earlier one."""
    taken: list[Offer] = []
    for offer in offers:
        if not overlapping(offer, taken):
            taken.append(offer)
    return taken


def overlapping(offer: Offer, others: Sequence[Offer]) -> list[Offer]:
    """Returns the other matches that have a node of this one."""
    nodes = set(offer[1].nodes)
    return [other for other in others if other is not offer and not nodes.isdisjoint(other[1].nodes)]


def _improved(trial: CostTrial, offers: Sequence[Offer], cycles_per_byte: int) -> list[Offer]:
    """Takes and gives back single matches as long as the whole gets cheaper."""
    taken: list[Offer] = []
    best = trial.whole(taken).price(cycles_per_byte)
    for _ in range(_ROUNDS):
        before = best
        for offer in offers:
            changed = _toggled(offer, taken)
            price = trial.whole(changed).price(cycles_per_byte)
            if price < best:
                taken, best = changed, price
        if best == before:
            break
    return taken


def _toggled(offer: Offer, taken: Sequence[Offer]) -> list[Offer]:
    if offer in taken:
        return [other for other in taken if other is not offer]
    return [*_without(offer, taken), offer]


def _without(offer: Offer, taken: Sequence[Offer]) -> list[Offer]:
    gone = overlapping(offer, taken)
    return [other for other in taken if other is not offer and other not in gone]


def _priced(
    trial: CostTrial, offer: Offer, taken: Sequence[Offer], labels: Sequence[str], cycles_per_byte: int
) -> Priced:
    """Returns what a match changes beside those taken."""
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
