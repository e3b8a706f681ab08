"""How a claimed region becomes code: its device's code generator is asked."""

from __future__ import annotations

import re
from collections.abc import Sequence

from aboard.ir import Node
from aboard.kernels.contract import ExternalCall, Implementation, View
from aboard.kernels.device import ALIGN, DeviceCode, Region
from aboard.kernels.registry import implements
from aboard.ops import rows_of
from aboard.ops.subgraph import attributes
from aboard.target import Target, columns


@implements
class DeviceRegion(Implementation):
    """A region that a device of a composite target computes."""

    op = "subgraph"
    name = "device"
    align = ALIGN

    def refuses(self, node: Node, target: Target) -> str | None:
        """Refuses what no device of the target has claimed, or one that cannot generate code."""
        attrs = attributes(node)
        if attrs.device >= len(target.devices):
            return f"the target has no device {attrs.device}"
        return None if columns.has(target.devices[attrs.device], "codegen") else f"{attrs.label} generates no code"

    def label(self, node: Node) -> str:
        """Returns the device and what matched."""
        return attributes(node).summary()

    def lower(self, node: Node, inputs: Sequence[View | None], outputs: Sequence[View], target: Target) -> ExternalCall:
        """Returns the call of the function that the device's code generator wrote."""
        attrs = attributes(node)
        device = target.devices[attrs.device]
        name = attrs.graph.name
        region = Region(name, attrs.graph, attrs.patterns, tuple(v for v in inputs if v is not None), tuple(outputs))
        code: DeviceCode = columns.call(device, "codegen", region)
        code.check(region, f"kind {device.kind.name}, column codegen")
        folder = re.sub(r"\W", "_", device.kind.name)
        return ExternalCall(name, code.source, code.arguments, rows_of(node.output.shape), device, folder)
