"""Measures a model on a device: the cost of a run and of each node, and how much ticks spread between runs."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from aboard.base.measured_cost import MeasuredCost
from aboard.device.input_files import Named
from aboard.device.session import Session
from aboard.device.timing import Duration


@dataclass(frozen=True)
class Measurement:
    """What a model costs.

    Attributes:
        nodes: Cost of each node, in order of execution.
        run: Cost of a run without profiling.
        tick_hz: Ticks of the device's counter in a second; None for instructions.
        is_real: True if the counter measured real time: a board did, no emulator.
    """

    nodes: tuple[MeasuredCost, ...]
    run: MeasuredCost
    tick_hz: int | None
    is_real: bool = False


def measure(device: Session, feed: Named, repeats: int, model: str | int | None = None) -> Measurement:
    """Profiles a model: once if instructions are counted, which are the same in every run; else several times.

    Args:
        device: The device.
        feed: Inputs by tensor name.
        repeats: Runs of which ticks are the median.
        model: Name or number of the model; None if there is only one.

    Raises:
        AboardError: As for `Session.profile`.
    """
    profiles = [device.profile(feed, model)]
    counted = profiles[0].run.instructions is not None
    if not counted:
        profiles += [device.profile(feed, model) for _ in range(repeats - 1)]

    def cost(durations: Iterable[Duration]) -> MeasuredCost:
        if counted:
            return MeasuredCost.of([d.instructions or 0 for d in durations], "instructions")
        return MeasuredCost.of([d.ticks for d in durations], "ticks")

    nodes = zip(*([entry.duration for entry in profile.nodes] for profile in profiles), strict=True)
    duration = profiles[0].run.duration
    tick_hz = None if counted else duration.tick_hz
    run = cost(profile.run.duration for profile in profiles)
    return Measurement(tuple(map(cost, nodes)), run, tick_hz, duration.is_real and not counted)
