"""The scratchpad of v2, how v2 wants layers cut to fit it, and what can be tuned: by this the compiler makes tiles."""

from __future__ import annotations

from collections.abc import Mapping

from aboard.target import Knob, MemoryRegion, Target, TileConstraint
from aboard.target.kind import Value
from npu_demo.arithmetic import PARAMETER_BYTES
from npu_demo.commands import ALIGN, BYTES_PER_CYCLE, CONV_CYCLES, MACS_PER_CYCLE, RUN_CYCLES

#: Axes of a result, as tiles number them.
ROWS, CHANNELS = 1, 3
_ORDERS = {"any": (), "weights": (CHANNELS, ROWS), "rows": (ROWS, CHANNELS)}

KNOBS = (
    Knob("buffers", (2, 1), "Whether a tile is brought in while another is computed"),
    Knob("tile_rows", (0, 4), "Most rows of a tile; 0 for any"),
    Knob("order", tuple(_ORDERS), "What the outer loop over tiles goes along: weights, rows, or any of them"),
)


def scratchpad(target: Target) -> MemoryRegion:
    """Returns the memory that tiles lie in."""
    size = int(target.attrs["scratchpad"])
    return MemoryRegion("scratchpad", size, ALIGN, BYTES_PER_CYCLE, frozenset({"dma", "device"}))


def constraint(tuning: Mapping[str, Value]) -> TileConstraint:
    """Returns how any match may be cut: along rows and output channels, at the speeds of the data sheet."""
    cap = int(tuning["tile_rows"])
    return TileConstraint(
        region="scratchpad",
        max_sizes={ROWS: cap} if cap else {},
        double_buffer=tuning["buffers"] == 2,
        parameter_bytes=PARAMETER_BYTES,
        order=_ORDERS[str(tuning["order"])],
        macs_per_cycle=MACS_PER_CYCLE,
        tile_cycles=CONV_CYCLES,
        transfer_cycles=RUN_CYCLES,
    )
