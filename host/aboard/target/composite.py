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
        "A device, as a target of its own, in quotes; once for each device, in the order in which they may claim",
    ),
    Attribute(HOST, "The CPU that calls the devices and computes the rest, as a target of its own, in quotes"),
    Attribute(
        "partition",
        "Who gets a part that several can compute: the first device in `order`, or the cheapest by `cost`",
        default="order",
        allowed=("order", "cost"),
    ),
    Attribute(
        "ram-cycles",
        "With -partition=cost: how many cycles of the host a byte of RAM is worth",
        type=int,
        implied="1 where it is not given",
    ),
)


def _complete(attrs: Mapping[str, Value], where: str) -> Mapping[str, Value]:
    worth = attrs.get("ram-cycles", 0)
    if int(worth) < 0:
        raise TargetError(f"{where}: -ram-cycles, got {worth}, expected at least 0. Say 0 to leave RAM out of account")
    return attrs


_HELP = "A CPU with devices that claim parts of the model"
COMPOSITE = register(Kind("composite", _HELP, "composite", _ATTRIBUTES, complete=_complete))
