"""The cost of a region on another core, for `-partition=cost`."""

from __future__ import annotations

from aboard.backends.core.lowered import executor, memory, schedule
from aboard.kernels.accelerator import ClaimedRegion, Cost
from aboard.kernels.select.cost_model import predict
from aboard.memory.problem import lower_bound
from aboard.target import Target

#: Instructions between the call on the host and the region's first instruction, and back (measured in QEMU).
_CALL = 120


def cost(target: Target, region: ClaimedRegion) -> Cost:
    """Returns the estimated instructions of the core, and its scratch; the core shares the host's memory."""
    core = executor(target)
    program, homes = schedule(target, region)
    _, live_ranges, overlaps = memory(program, homes)
    compute = sum(
        predict(step.node, step.implementation.name, core, call=step.call).instructions for step in program.steps
    )
    return Cost(_CALL + compute, ram_bytes=lower_bound(live_ranges, overlaps))
