"""What a search finds: the points that it tried, and the best point of each workload."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from aboard.base.measured_cost import MeasuredCost
from aboard.target import Target
from aboard.target.kind import Value
from aboard.tuning.records import TuningRecord

Point = Mapping[str, Value]


@dataclass(frozen=True)
class TriedPoint:
    """A point that was tried.

    Attributes:
        device: Label of the device.
        point: Value of every knob.
        regions: Cost of the device's regions by workload, summed over equal workloads; empty if not measured.
        total: Cost of the whole run, with the other devices at their defaults; None if not measured.
        refused: Why the device generates no code for this point; empty if it does.
    """

    device: str
    point: Point
    regions: Mapping[str, MeasuredCost]
    total: MeasuredCost | None
    refused: str = ""


@dataclass(frozen=True)
class Best:
    """The best point of a workload.

    Attributes:
        device: Label of the device.
        record: The tuning record.
        names: Names of the regions in the manifest.
        cost: Cost of these regions together.
        default: Cost of these regions with the default of every knob.
    """

    device: str
    record: TuningRecord
    names: tuple[str, ...]
    cost: MeasuredCost
    default: MeasuredCost


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
        default: MeasuredCost with the default of every knob.
        tuned: MeasuredCost with the best points together.
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
