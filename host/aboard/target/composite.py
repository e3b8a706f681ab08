"""The kind `composite`: a host, and devices that may take parts of the graph from it, in order."""

from __future__ import annotations

from aboard.target.kind import Attribute, Kind, register

#: How the host and the devices are named among the attributes.
HOST, DEVICE, DEVICES = "host", "device", "devices"

_ATTRIBUTES = (
    Attribute(
        DEVICE,
        "A device, as a target of its own, in quotes; once for each device, in the order in which they may claim",
    ),
    Attribute(HOST, "The CPU that calls the devices and computes the rest, as a target of its own, in quotes"),
    Attribute(
        "partition",
        "Who gets a part that several can compute: the first device in `order`, or the cheapest by `cost`",
        default="order",
        allowed=("order", "cost"),
    ),
)

COMPOSITE = register(Kind("composite", "A CPU with devices that claim parts of the model", "composite", _ATTRIBUTES))
