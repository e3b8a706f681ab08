"""Code for v1: one layer at a time, its weights transposed, its sizes in registers."""

from __future__ import annotations

from aboard.kernels.accelerator import ClaimedRegion, DeviceCode
from aboard.ops.subgraph import Matched
from aboard.target import Target
from npu_demo import calls, packing
from npu_demo.arithmetic import Conv, macs, sizes
from npu_demo.core import START_CYCLES, V1_BYTES, V1_MACS


def generate(target: Target, region: ClaimedRegion) -> DeviceCode:
    """Returns the function that has the device compute a region."""
    (matched,) = region.patterns
    conv = _conv(matched)
    zeros = [zero & 0xFFFFFFFF for zero in conv.zeros]
    constants = packing.weights(matched, transposed=True), packing.parameters(matched)
    job = (conv.rows, conv.channels, conv.outputs, *zeros)
    return calls.code(target, region, constants, None, job, cycles(matched))


def cycles(matched: Matched) -> int:
    """Returns how long the device takes for a match."""
    conv = _conv(matched)
    return START_CYCLES - (-macs(conv) // V1_MACS) - (-sum(sizes(conv)) // V1_BYTES)


def _conv(matched: Matched) -> Conv:
    node = packing.layer_of(matched)
    outputs, inner = node.input(1).shape[0], node.input(1).shape[-1]
    rows = node.output.type.elements // outputs
    geometry = ((1, 1), (1, 1), (0, 0, 0, 0))
    zeros = packing.zero_points(matched)
    return Conv(False, True, rows, 1, inner, rows, 1, outputs, *geometry, zeros, (-128, 127))
