"""Values of an accelerator's knobs for a region: the tuned point if the region fits with it."""

from __future__ import annotations

from collections.abc import Sequence

from aboard.ir import Graph
from aboard.ops.subgraph import Matched
from aboard.partition.workload import workload
from aboard.target import Target
from aboard.tiling import accelerator as tiling
from aboard.tuning import choice
from aboard.tuning.choice import RECORD, ChosenPoint, Tuning


def point(
    tuning: Tuning, target: Target, device: Target, label: str, graph: Graph, patterns: Sequence[Matched]
) -> ChosenPoint:
    """Returns the values of the knobs of a device for a region.

    The key of a record does not contain every attribute of the target. If a recorded point needs more memory than the
    device has now, the defaults apply, for which the region was claimed.

    Args:
        tuning: Chooses the point.
        target: The whole target.
        device: The device.
        label: Name of the device in tables.
        graph: The region's inner graph.
        patterns: The matches of the region.

    Raises:
        AboardError: A given point is not valid, or the records cannot be read.
    """
    part = choice.region(target, device, label, workload(graph, patterns))
    found = choice.choose(tuning, part)
    if found.origin != RECORD:
        return found
    problem = next((text for matched in patterns if (text := tiling.problem(device, matched, found.values))), None)
    if problem is None:
        return found
    return ChosenPoint(part.space.defaults, f"default, as the recorded point does not fit: {problem}")
