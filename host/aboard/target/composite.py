"""Composite targets, of the kind `composite`: a host, and devices that may claim parts of the graph in order."""

from __future__ import annotations

from collections.abc import Mapping

from aboard.errors import TargetError
from aboard.target.kind import Attribute, Kind, Value, register

#: Attribute names of the host, of a device, and of the list of devices.
HOST, DEVICE, DEVICES = "host", "device", "devices"

_ATTRIBUTES = (
    Attribute(
        DEVICE,
        "A device: a target in quotes; once for each device, in the order in which they may claim",
    ),
    Attribute(HOST, "The CPU that calls the devices and computes the rest: a target in quotes"),
    Attribute(
        "partition",
        "How to choose between devices that can compute the same part: the first in `order`, or the cheapest by `cost`",
        default="order",
        allowed=("order", "cost"),
    ),
    Attribute(
        "ram-cycles",
        "With -partition=cost: the cost of a byte of RAM, in cycles of the host",
        type=int,
        implied="1 by default",
    ),
)


def _complete(attrs: Mapping[str, Value], where: str) -> Mapping[str, Value]:
    worth = attrs.get("ram-cycles", 0)
    if int(worth) < 0:
        raise TargetError(f"{where}: -ram-cycles, got {worth}, expected at least 0. Say 0 to leave RAM out of account")
    return attrs


_HELP = "A CPU with devices that claim parts of the model"
COMPOSITE = register(Kind("composite", _HELP, "composite", _ATTRIBUTES, complete=_complete))
