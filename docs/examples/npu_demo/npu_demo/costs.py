"""What a region costs on the device, for `-partition=cost`."""

from __future__ import annotations

from aboard.kernels.accelerator import ClaimedRegion, Cost
from aboard.target import Target
from npu_demo import v1

#: Cycles of the CPU to write the registers of a job and to see its end.
_CALL_CYCLES = 150.0


def cost(target: Target, region: ClaimedRegion) -> Cost:
    """Returns cycles by the data sheet; the device has the clock of the CPU, and its transfers are part of them."""
    if target.get("model") == "v1":
        return Cost(_CALL_CYCLES + sum(v1.cycles(matched) for matched in region.patterns))
    return Cost(_CALL_CYCLES + sum(plan.cycles for plan in region.tiles if plan is not None))
