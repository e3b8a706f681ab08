"""What a search finds: the points that it tried, and the best point of each workload."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from aboard.base.measured_cost import MeasuredCost
from aboard.kernels.select.price import flash_price
from aboard.target import Target
from aboard.tuner.parts import Part
from aboard.tuning.key import device_key
from aboard.tuning.records import TuningRecord
from aboard.tuning.space import Point


@dataclass(frozen=True)
class TriedPoint:
    """A point that was tried.

    Attributes:
        device: Label of the device; `host` for a kernel of the host.
        point: Value of every knob.
        regions: Cost of the regions or nodes by workload, summed over equal workloads; empty if not measured.
        total: Cost of the whole run, with other devices at their defaults; None if not measured.
        refused: Why there is no code for this point; empty if there is.
        flash_bytes: Predicted bytes of constants and code of nodes of the host, whose trials have one workload each.
        calls: Kernel calls of each of these nodes.
    """

    device: str
    point: Point
    regions: Mapping[str, MeasuredCost]
    total: MeasuredCost | None
    refused: str = ""
    flash_bytes: int = 0
    calls: int = 1

    def weighed(self, workload: str, price: float) -> MeasuredCost:
        """Returns the cost of a workload with the price of its flash, in units of the cost for each byte."""
        cost = self.regions[workload]
        return MeasuredCost(round(cost.count + price * self.flash_bytes), cost.unit, cost.spread)


@dataclass(frozen=True)
class Best:
    """The best point of a workload.

    Attributes:
        device: Label of the device; `host` for a kernel of the host.
        record: The tuning record.
        names: Names of the regions or nodes in the manifest.
        cost: Cost of these together.
        default: Cost of these with the default of every knob.
        more_bytes: Bytes of flash that the point takes more than the defaults, as predicted; 0 for devices.
        tried: Number of points that were measured.
    """

    device: str
    record: TuningRecord
    names: tuple[str, ...]
    cost: MeasuredCost
    default: MeasuredCost
    more_bytes: int = 0
    tried: int = 1


@dataclass(frozen=True)
class MemoryNeed:
    """The memory that a model needs.

    Attributes:
        ram_bytes: RAM of the model.
        flash_bytes: Predicted flash of the model; None if devices compute a part of it.
    """

    ram_bytes: int
    flash_bytes: int | None


@dataclass(frozen=True)
class Found:
    """The results of a search.

    Attributes:
        model: Name of the model.
        target: The target.
        bench: Name of the bench that tried the points.
        samples: Number of inputs for which each point was compared with the host alone.
        trials: The trials, device by device, starting with the defaults of each device.
        best: The best points by workload; empty if the bench does not measure.
        host: Cost of the host alone; None if the bench does not measure.
        default: Cost of the model with the default of every knob.
        tuned: Cost of the model with the best points together.
        default_memory: Memory of the model with the default of every knob.
        tuned_memory: Memory of the model with the best points; None if the bench does not measure.
        unfinished: True if the time was over before all planned points were tried.
    """

    model: str
    target: Target
    bench: str
    samples: int
    trials: tuple[TriedPoint, ...]
    best: tuple[Best, ...]
    host: MeasuredCost | None
    default: MeasuredCost | None
    tuned: MeasuredCost | None
    default_memory: MemoryNeed
    tuned_memory: MemoryNeed | None = None
    unfinished: bool = False


def best_points(
    parts: Sequence[Part], target: Target, trials: Sequence[TriedPoint], conditions: Mapping[str, Any]
) -> Iterator[Best]:
    """Yields the best point of every workload: the defaults, unless another point beats them.

    A point of a kernel of the host also pays for the flash that it takes more, as `-opt` prices it: a byte must save
    as many instructions, or ticks, as for the cost model.

    Args:
        parts: What was tuned.
        target: The target.
        trials: The points that were tried, the defaults of each part first.
        conditions: Fields of a record that are the same for all.
    """
    price = flash_price(target)
    for part in parts:
        text = part.workload
        mine = [trial for trial in trials if trial.device == part.label and text in trial.regions]
        default = mine[0]
        bar = default.weighed(text, price)
        quicker = [trial for trial in mine if trial.weighed(text, price).beats(bar)]
        best = min(quicker, key=lambda trial: trial.weighed(text, price).count, default=default)
        cost, count = best.regions[text], len(part.names)
        record = TuningRecord(
            **device_key(target, part.device)._asdict(),
            **conditions,
            workload=text,
            values=best.point,
            unit=cost.unit,
            count=cost.count // count,
            spread=cost.spread // count,
            calls=best.calls,
        )
        more = best.flash_bytes - default.flash_bytes
        yield Best(part.label, record, part.names, cost, default.regions[text], more, len(mine))
