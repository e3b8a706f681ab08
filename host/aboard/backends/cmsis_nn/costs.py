"""Costs of the library's kernels: measured on layers in another system, for cores with the DSP extension and Helium.

`tests/bench/costs.py` makes `instructions.json` from the layers in the benchmark record. Layers without a record are
assumed to cost as much as with the host's own kernels. A core with neither extension uses the figures for DSP, so the
library appears faster there than it is.
"""

from __future__ import annotations

from pathlib import Path

from aboard.backends.cmsis_nn.calls import call_of
from aboard.backends.cmsis_nn.geometry import Unit
from aboard.errors import TargetError
from aboard.kernels.accelerator import ClaimedRegion, Cost
from aboard.kernels.select.cost_model import predict
from aboard.kernels.select.measured import kernels_of
from aboard.target import Target

_FILE = Path(__file__).with_name("instructions.json")


def cost(target: Target, region: ClaimedRegion) -> Cost:
    """Returns the cost of a region; the library runs on the host, so there are no transfers.

    Args:
        target: The device.
        region: The region.

    Raises:
        TargetError: The region has no core.
    """
    if region.host is None:
        raise TargetError(f"kind {target.kind.name}: the host of {region.name} is missing, expected one. Report this")
    rows = kernels_of(_FILE)
    measured = {row.op for row in rows}
    cycles = 0
    for node in region.graph.nodes:
        own = predict(node, "cmsis-nn", region.host, rows) if node.op in measured else predict(node, "", region.host)
        cycles += own.instructions
    unit = Unit.of(region.host)
    scratch = sum(call_of(matched.named["layer"], unit).scratch for matched in region.patterns)
    return Cost(float(cycles), ram_bytes=scratch)
