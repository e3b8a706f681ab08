"""Tuning spaces: the points that can be tried for a device's region (column `tuning`) or for a node of the host."""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from aboard.errors import TargetError
from aboard.target import Knob, Target, columns
from aboard.target.kind import Value

Point = Mapping[str, Value]


@dataclass(frozen=True)
class Space:
    """The points of a part of a graph.

    Attributes:
        alternatives: Sets of knobs, one of which a point has whole: a device has one, a node of the host one for each
            kernel. If there are several, their first knob is the same and has a single value, which tells them apart.
            The first value of each knob of the first set is the default.
    """

    alternatives: tuple[tuple[Knob, ...], ...]

    @property
    def defaults(self) -> dict[str, Value]:
        """The default of every knob, by name."""
        return _first(self.alternatives[0])

    @property
    def size(self) -> int:
        """The number of points; 1 without knobs."""
        return sum(math.prod(len(knob.values) for knob in knobs) for knobs in self.alternatives)

    def points(self) -> Iterator[dict[str, Value]]:
        """Yields every point, the defaults first; the last knob changes fastest."""
        for knobs in self.alternatives:
            for values in itertools.product(*(knob.values for knob in knobs)):
                yield {knob.name: value for knob, value in zip(knobs, values, strict=True)}

    def completed(self, point: Point) -> dict[str, Value]:
        """Returns a point with the defaults of the knobs that it does not name."""
        return {**_first(self._of(point)), **point}

    def problem(self, point: Point) -> str:
        """Returns why a point is not in the space; empty if it is."""
        if len(self.alternatives) > 1:
            told = self.alternatives[0][0].name
            values = [knobs[0].values[0] for knobs in self.alternatives]
            if point.get(told, values[0]) not in values:
                return f"value of {told}, got {point[told]}, expected one of: {', '.join(map(str, values))}"
        knobs = {knob.name: knob for knob in self._of(point)}
        for name, value in point.items():
            if name not in knobs:
                return f"no such knob, got {name}, expected one of: {', '.join(sorted(knobs))}"
            if not knobs[name].allows(value):
                return f"value of {name}, got {value}, expected {knobs[name].expected}"
        return ""

    def _of(self, point: Point) -> tuple[Knob, ...]:
        """Returns the knobs of the alternative that a point names; the first if it names none."""
        for knobs in self.alternatives[1:]:
            if knobs[0].values[0] == point.get(knobs[0].name):
                return knobs
        return self.alternatives[0]


def _first(knobs: Sequence[Knob]) -> dict[str, Value]:
    return {knob.name: knob.values[0] for knob in knobs}


def of_device(device: Target) -> Space:
    """Returns the space of a device's regions.

    Raises:
        TargetError: As for `knobs`.
    """
    return Space((knobs(device),))


def knobs(device: Target) -> tuple[Knob, ...]:
    """Returns the knobs of a device in the order of the column; empty if the device has no knobs.

    Raises:
        TargetError: The column holds other objects than knobs, a knob without values, or a duplicate name or value.
    """
    found: tuple[Knob, ...] = columns.call(device, "tuning") or ()
    where = f"kind {device.kind.name}, column tuning"
    for knob in found:
        if not isinstance(knob, Knob):
            raise TargetError(f"{where}: got {type(knob).__name__}, expected Knob. Return a tuple of them")
        if not knob.values or len(set(knob.values)) != len(knob.values):
            shown = ", ".join(map(str, knob.values)) or "none"
            raise TargetError(
                f"{where}: values of knob {knob.name}, got {shown}, expected one or more, each once. Correct the knob"
            )
    names = [knob.name for knob in found]
    twice = next((name for name in names if names.count(name) > 1), None)
    if twice is not None:
        raise TargetError(f"{where}: got knob {twice} twice, expected names of their own. Rename one of them")
    return found


def shown(point: Point) -> str:
    """Returns a point as text: `tile_rows=4, unroll=2`; `defaults` for an empty point."""
    return ", ".join(f"{name}={value}" for name, value in point.items()) or "defaults"
