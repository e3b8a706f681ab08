"""The attributes that limit the claims of a device in a composite target. Every kind has them."""

from __future__ import annotations

import re
from collections.abc import Mapping

from aboard.errors import TargetError
from aboard.target.kind import CLAIM_NODES, CLAIM_OPS, Value

_RANGE = re.compile(r"(\d+)(?:\.\.(\d+))?")


def refuse(attrs: Mapping[str, Value], where: str) -> None:
    """Refuses these attributes on a target that is not a device.

    Args:
        attrs: Attributes of the target.
        where: The target, for messages.

    Raises:
        TargetError: The target has one of these attributes.
    """
    for name in (CLAIM_NODES, CLAIM_OPS):
        if name in attrs:
            raise TargetError(
                f"{where}: -{name} is for the devices of a composite target, got {attrs[name]} on a target that makes "
                "no claims. Write it behind a device, as in `c -mcpu=cortex-m4 + cmsis-nn -claim-ops=conv2d`"
            )


def canonical(attrs: Mapping[str, Value], where: str) -> dict[str, Value]:
    """Returns the attributes with the claim limits in their canonical form.

    Args:
        attrs: Attributes of a target.
        where: The target, for messages.

    Raises:
        TargetError: An entry of `-claim-nodes` is neither a number nor a range.
    """
    made = dict(attrs)
    if CLAIM_OPS in made:
        made[CLAIM_OPS] = ",".join(sorted(ops(attrs) or ()))
    if CLAIM_NODES in made:
        made[CLAIM_NODES] = _written(_ranges(str(made[CLAIM_NODES]), where))
    return made


def ops(attrs: Mapping[str, Value]) -> frozenset[str] | None:
    """Returns the names of the ops that the device may claim; None for all ops."""
    text = attrs.get(CLAIM_OPS)
    return None if text is None else frozenset(name.strip() for name in str(text).split(",") if name.strip())


def nodes(attrs: Mapping[str, Value]) -> tuple[range, ...] | None:
    """Returns the numbers of the nodes that the device may claim, from canonical attributes; None for all nodes."""
    text = attrs.get(CLAIM_NODES)
    return None if text is None else tuple(_ranges(str(text), "target"))


def _ranges(text: str, where: str) -> list[range]:
    """Returns the ranges in a text, ascending and merged: no two ranges touch."""
    found: list[range] = []
    for word in text.split(","):
        match = _RANGE.fullmatch(word.strip())
        first, last = (int(match[1]), int(match[2] or match[1])) if match else (1, 0)
        if first > last:
            raise TargetError(
                f"{where}: -{CLAIM_NODES} is not a list of nodes, got {word.strip()!r}, expected numbers and ranges. "
                f"Write it as in -{CLAIM_NODES}=0..4,7; `aboard partition` shows the numbers"
            )
        found.append(range(first, last + 1))
    joined: list[range] = []
    for piece in sorted(found, key=lambda r: r.start):
        if joined and piece.start <= joined[-1].stop:
            joined[-1] = range(joined[-1].start, max(joined[-1].stop, piece.stop))
        else:
            joined.append(piece)
    return joined


def _written(ranges: list[range]) -> str:
    return ",".join(str(r.start) if len(r) == 1 else f"{r.start}..{r.stop - 1}" for r in ranges)
