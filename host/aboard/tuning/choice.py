"""Chooses the point for a part of a graph: the defaults, a given point, or the best recorded point."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import ClassVar, Protocol

from aboard.errors import TargetError
from aboard.target import Target
from aboard.tuning.space import Point, Space, of_device

#: Origins of a choice.
DEFAULT, GIVEN, RECORD = "default", "given", "record"


@dataclass(frozen=True)
class TunedPart:
    """A part of the graph: a region that a device computes, or a node of the host.

    Attributes:
        target: The whole target.
        device: The device that computes the region; for a node the target's host.
        label: Name of the device in tables; `host` for a node of the host.
        workload: The computation in canonical form.
        make_space: Returns the points that can be taken.
    """

    target: Target
    device: Target
    label: str
    workload: str
    make_space: Callable[[], Space]

    @cached_property
    def space(self) -> Space:
        """The points that can be taken."""
        return self.make_space()


def region(target: Target, device: Target, label: str, workload: str) -> TunedPart:
    """Returns the part that a device computes; attributes as in `TunedPart`."""
    return TunedPart(target, device, label, workload, lambda: of_device(device))


@dataclass(frozen=True)
class RecordedCost:
    """What a part cost when its record was made.

    Attributes:
        instructions: Instructions; None if ticks were measured.
        cycles: Cycles of the host's clock that the measured ticks took; None if instructions were counted.
        calls: Kernel calls in which the part was computed.
    """

    instructions: int | None
    cycles: int | None
    calls: int


@dataclass(frozen=True)
class ChosenPoint:
    """The point for a part.

    Attributes:
        values: Value of every knob; empty for the defaults, and without knobs.
        origin: Origin of the values: `default`, `given`, `record`, or the reason why a record was not used; empty
            without knobs.
        cost: What the part costs at this point by its record; None without one.
    """

    values: Point = field(default_factory=dict)
    origin: str = ""
    cost: RecordedCost | None = None


class Tuning(Protocol):
    """Interface of the classes that choose points.

    Attributes:
        is_binding: True if a part must take its point; False if it takes the defaults where the model would not fit.
    """

    is_binding: ClassVar[bool]

    def has_points(self) -> bool:
        """False if every part takes its defaults.

        Raises:
            InputError: The records cannot be read.
        """

    def choose(self, part: TunedPart) -> ChosenPoint:
        """Returns the point for a part that has knobs; `ChosenPoint.values` may be empty for the defaults.

        Raises:
            TargetError: The point is not valid for the part.
        """


@dataclass(frozen=True)
class Given:
    """Chooses the same point for all parts of a device, or for all nodes of the host.

    Attributes:
        points: Values of knobs, by label of the device; knobs that are not named keep their default.
    """

    points: Mapping[str, Point] = field(default_factory=dict)
    is_binding: ClassVar[bool] = True

    def has_points(self) -> bool:
        """False without points."""
        return bool(self.points)

    def choose(self, part: TunedPart) -> ChosenPoint:
        """Returns the given point of the device; without one, the defaults."""
        return _given(part, self.points.get(part.label))


@dataclass(frozen=True)
class GivenEach:
    """Chooses a point for each workload.

    Attributes:
        points: Values of knobs, by label of the device and workload; knobs that are not named keep their default.
    """

    points: Mapping[tuple[str, str], Point]
    is_binding: ClassVar[bool] = True

    def has_points(self) -> bool:
        """False without points."""
        return bool(self.points)

    def choose(self, part: TunedPart) -> ChosenPoint:
        """Returns the given point of the workload; without one, the defaults."""
        return _given(part, self.points.get((part.label, part.workload)))


def _given(part: TunedPart, point: Point | None) -> ChosenPoint:
    if point is None:
        return ChosenPoint({}, DEFAULT)
    problem = part.space.problem(point)
    if problem:
        raise TargetError(f"tuning of {part.label}: {problem}. Correct the given point")
    return ChosenPoint(part.space.completed(point), GIVEN)


#: No tuning at all: every knob has its default.
DEFAULTS = Given()


def choose(tuning: Tuning, part: TunedPart) -> ChosenPoint:
    """Returns the point for a part, with the value of every knob; empty for a part without knobs.

    Raises:
        AboardError: The point is not valid, or the records cannot be read.
    """
    if not part.space.defaults:
        return ChosenPoint()
    found = tuning.choose(part)
    return ChosenPoint(part.space.completed(found.values), found.origin, found.cost)
