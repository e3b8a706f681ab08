"""The tuning space of a device: its knobs (column `tuning`), their defaults, and all points."""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator, Mapping, Sequence

from aboard.errors import TargetError
from aboard.target import Knob, Target, columns
from aboard.target.kind import Value


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


def defaults(device: Target) -> dict[str, Value]:
    """Returns the default (the first value) of every knob of a device, by name."""
    return {knob.name: knob.values[0] for knob in knobs(device)}


def size(device: Target) -> int:
    """Returns the number of points in the space of a device; 1 if the device has no knobs."""
    return math.prod(len(knob.values) for knob in knobs(device))


def points(device: Target) -> Iterator[dict[str, Value]]:
    """Yields every point of a device's space, starting with the defaults; the last knob changes fastest."""
    yield from _product(knobs(device))


def _product(found: Sequence[Knob]) -> Iterator[dict[str, Value]]:
    for values in itertools.product(*(knob.values for knob in found)):
        yield {knob.name: value for knob, value in zip(found, values, strict=True)}


def shown(point: Mapping[str, Value]) -> str:
    """Returns a point as text: `tile_rows=4, unroll=2`; `defaults` for an empty point."""
    return ", ".join(f"{name}={value}" for name, value in point.items()) or "defaults"
