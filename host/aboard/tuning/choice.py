"""Chooses the point for a region: the defaults, a given point, or the best recorded point."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Protocol

from aboard.errors import TargetError
from aboard.target import Target
from aboard.target.kind import Value
from aboard.tuning import space

#: Origins of a choice.
DEFAULT, GIVEN, RECORD = "default", "given", "record"


@dataclass(frozen=True)
class TunedRegion:
    """A region of the graph and the device that computes it.

    Attributes:
        target: The whole target.
        device: The device that computes the region.
        label: Name of the device in tables.
        workload: The computation in canonical form (`aboard.partition.workload`).
    """

    target: Target
    device: Target
    label: str
    workload: str


@dataclass(frozen=True)
class ChosenPoint:
    """The point for a region.

    Attributes:
        values: Value of every knob of the device; empty if the device has no knobs.
        origin: Origin of the values: `default`, `given`, `record`, or the reason why a record was not used; empty
            without knobs.
    """

    values: Mapping[str, Value] = field(default_factory=dict)
    origin: str = ""


class Tuning(Protocol):
    """Interface of the classes that choose points."""

    def choose(self, place: TunedRegion) -> ChosenPoint:
        """Returns the point for a region whose device has knobs.

        Raises:
            TargetError: The point is not valid for the device.
        """


@dataclass(frozen=True)
class Given:
    """Chooses the same point for all regions of a device.

    Attributes:
        points: Values of knobs, by label of the device; knobs that are not named keep their default.
    """

    points: Mapping[str, Mapping[str, Value]] = field(default_factory=dict)

    def choose(self, place: TunedRegion) -> ChosenPoint:
        """Returns the given point of the device; without one, its defaults."""
        point = self.points.get(place.label)
        if point is None:
            return ChosenPoint(space.defaults(place.device), DEFAULT)
        problem = mismatch(place.device, point)
        if problem:
            raise TargetError(f"tuning of {place.label}: {problem}. Correct the given point")
        return ChosenPoint({**space.defaults(place.device), **point}, GIVEN)


#: No tuning at all: every knob has its default.
DEFAULTS = Given()


def choose(tuning: Tuning, place: TunedRegion) -> ChosenPoint:
    """Returns the point for a region; empty for a device without knobs.

    Raises:
        AboardError: The point is not valid, or the records cannot be read.
    """
    return tuning.choose(place) if space.knobs(place.device) else ChosenPoint()


def mismatch(device: Target, point: Mapping[str, Value]) -> str:
    """Returns why a point is not in the space of a device; empty if it is."""
    knobs = {knob.name: knob for knob in space.knobs(device)}
    for name, value in point.items():
        if name not in knobs:
            return f"no such knob, got {name}, expected one of: {', '.join(sorted(knobs))}"
        if value not in knobs[name].values:
            return f"value of {name}, got {value}, expected one of: {', '.join(map(str, knobs[name].values))}"
    return ""
