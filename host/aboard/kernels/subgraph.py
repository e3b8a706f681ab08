"""Calls the code generator of a claimed region's device."""

from __future__ import annotations

import re
from collections.abc import Sequence

from typing_extensions import override

from aboard.ir import Node
from aboard.kernels.accelerator import ALIGN, ClaimedRegion, DeviceCode
from aboard.kernels.contract import ExternalCall, Implementation
from aboard.kernels.registry import implements
from aboard.kernels.view import View
from aboard.ops import rows_of
from aboard.ops.subgraph import attributes
from aboard.target import Target, columns
from aboard.tiling import accelerator as tiling


@implements
class DeviceRegion(Implementation):
    """A region that a device of a composite target computes."""

    op = "subgraph"
    name = "device"
    align = ALIGN

    @override
    def refuses(self, node: Node, target: Target) -> str | None:
        """Refuses nodes that no device of the target has claimed, and devices without a code generator."""
        attrs = attributes(node)
        if attrs.device >= len(target.devices):
            return f"the target has no device {attrs.device}"
        return None if columns.has(target.devices[attrs.device], "codegen") else f"{attrs.label} generates no code"

    @override
    def label(self, node: Node) -> str:
        """Returns the device and its matches."""
        return attributes(node).summary()

    @override
    def lower(self, node: Node, inputs: Sequence[View | None], outputs: Sequence[View], target: Target) -> ExternalCall:
        attrs = attributes(node)
        device = target.devices[attrs.device]
        operands = tuple(view for view in inputs if view is not None)
        region = region_of(node, operands, tuple(outputs), target)
        code: DeviceCode = columns.call(device, "codegen", region)
        code.check(region, f"kind {device.kind.name}, column codegen")
        folder = re.sub(r"\W", "_", device.kind.name)
        rows = rows_of(node.output.shape)
        return ExternalCall(region.name, code.arguments, rows, code.source, device, folder, code.runtime, code.cycles)


def region_of(node: Node, inputs: tuple[View, ...], outputs: tuple[View, ...], target: Target) -> ClaimedRegion:
    """Returns a claimed region as its device's code generator receives it.

    Args:
        node: The node `subgraph`.
        inputs: Views of the operands.
        outputs: Views of the results.
        target: The composite target.

    Raises:
        TargetError: A column of the device is wrong, or no tiling of the region fits.
    """
    attrs = attributes(node)
    device = target.devices[attrs.device]
    tiles = tiling.plans(device, attrs.patterns, attrs.tuning)
    memory = tiling.memory(device)
    return ClaimedRegion(
        attrs.graph.name, attrs.graph, attrs.patterns, inputs, outputs, attrs.tuning, tiles, memory, target.host
    )
