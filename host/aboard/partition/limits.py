"""The user's limits on a device's claims: the attributes `-claim-ops` and `-claim-nodes`, applied to a node."""

from __future__ import annotations

from collections.abc import Callable

from aboard import ops
from aboard.errors import TargetError, did_you_mean
from aboard.ir import Node
from aboard.target import Target, claims
from aboard.target.kind import CLAIM_NODES, CLAIM_OPS

#: Maps a node and its number to the reason why the device may not claim it, or None.
Limit = Callable[[Node, int], str | None]


def limits(device: Target, where: str) -> Limit:
    """Returns the limit that a device's attributes set.

    Args:
        device: The device.
        where: The target and the device, for error messages.

    Raises:
        TargetError: `-claim-ops` names an unknown op.
    """
    wanted, ranges = claims.ops(device.attrs), claims.nodes(device.attrs)
    for name in sorted(wanted or ()):
        if name not in ops.names():
            raise TargetError(f"{where}: -{CLAIM_OPS}: unknown op {name}. {did_you_mean(name, ops.names())}")

    def outside(node: Node, number: int) -> str | None:
        if wanted is not None and node.op not in wanted:
            return f"-{CLAIM_OPS} leaves out {node.op}"
        if ranges is not None and not any(number in numbers for numbers in ranges):
            return f"-{CLAIM_NODES} leaves out {number}"
        return None

    return outside
