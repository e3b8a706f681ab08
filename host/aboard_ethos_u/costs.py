"""What a region costs on the NPU, for `-partition=cost`: Vela's estimate of its cycles."""

from __future__ import annotations

from aboard.kernels.accelerator import ClaimedRegion, Cost
from aboard.target import Target
from aboard_ethos_u import lowered, vela

#: Cycles of the CPU to write the registers of a job and to see its end.
_CALL_CYCLES = 500.0


def cost(target: Target, region: ClaimedRegion) -> Cost:
    """Returns the cost of a region; the NPU is assumed to have the clock of the CPU.

    Args:
        target: The device.
        region: The region.

    Raises:
        AboardError: As for the code generator.
    """
    compiled = vela.compiled(lowered.file_of(region.graph), target, f"kind {target.kind.name}: region {region.name}")
    return Cost(_CALL_CYCLES + compiled.cycles, ram_bytes=compiled.scratch)
