"""Which point a region gets: the defaults, a point that was given, or the best that was recorded."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Protocol

from aboard.errors import TargetError, did_you_mean
from aboard.target import Target
from aboard.target.kind import Value
from aboard.tuning import space

#: Origins of a choice.
DEFAULT, GIVEN, RECORD = "default", "given", "record"


@dataclass(frozen=True)
class TunedRegion:
    """A region, as tuning sees it.

    Attributes:
        target: The whole target.
        device: The device that computes the region.
        label: What tables call the device.
        workload: What is computed, in canonical form (`aboard.partition.workload`).
    """

    target: Target
    device: Target
    label: str
    workload: str


@dataclass(frozen=True)
class ChosenPoint:
    """The point that a region gets.

    Attributes:
        values: Value of every knob of the device; empty where it has none.
        origin: Where they are from: `default`, `given`, `record`, or why a record was left aside; empty without knobs.
    """

    values: Mapping[str, Value] = field(default_factory=dict)
    origin: str = ""


class Tuning(Protocol):
    """Chooses points."""

    def choose(self, place: TunedRegion) -> ChosenPoint:
        """Returns the point of a region whose device has knobs.

        Raises:
            TargetError: There is one, and it is not valid.
        """


@dataclass(frozen=True)
class Given:
    """The same point for all regions of a device.

    Attributes:
        points: Values by label of the device; knobs that are not named keep their default.
    """

    points: Mapping[str, Mapping[str, Value]] = field(default_factory=dict)

    def choose(self, place: TunedRegion) -> ChosenPoint:
        """Returns the point of the device, or its defaults where none was given."""
        point = self.points.get(place.label)
        if point is None:
            return ChosenPoint(space.defaults(place.device), DEFAULT)
        problem = mismatch(place.device, point)
        if problem:
            raise TargetError(f"tuning of {place.label}: {problem}")
        return ChosenPoint({**space.defaults(place.device), **point}, GIVEN)


#: No tuning at all: every knob has its default.
DEFAULTS = Given()


def choose(tuning: Tuning, place: TunedRegion) -> ChosenPoint:
    """Returns the point of a region; devices without knobs need none.

    Raises:
        AboardError: The point is not valid, or the records cannot be read.
    """
    return tuning.choose(place) if space.knobs(place.device) else ChosenPoint()


def mismatch(device: Target, point: Mapping[str, Value]) -> str:
    """Returns why a point is not one of a device's space, or an empty text."""
    knobs = {knob.name: knob for knob in space.knobs(device)}
    for name, value in point.items():
        if name not in knobs:
            return f"no such knob, got {name}. {did_you_mean(name, knobs)}"
        if value not in knobs[name].values:
            return f"value of {name}, got {value}, expected one of: {', '.join(map(str, knobs[name].values))}"
    return ""
