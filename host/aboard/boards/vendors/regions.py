"""Memory regions given on the command line, in the place of described ones."""

from __future__ import annotations

import re
from collections.abc import Sequence

from pydantic import ValidationError

from aboard.boards.board import Memory
from aboard.errors import BoardError

_SIZE = re.compile(r"(0x[0-9a-f]+|\d+)([km]?)$")
_UNITS = {"": 1, "k": 1 << 10, "m": 1 << 20}


def merged(described: Sequence[Memory], given: Sequence[str]) -> tuple[Memory, ...]:
    """Returns the described regions, with those of the command line in place of their namesakes.

    A region keeps the role of its namesake. If no region has a role, the first flash stores code and the first RAM
    data.

    Args:
        described: Regions of a vendor's description.
        given: Regions as `NAME:KIND:ADDRESS:BYTES`; the size may end in K or M.

    Raises:
        BoardError: A text is no region.
    """
    regions = {region.name: region for region in described}
    for text in given:
        region = parse(text)
        old = regions.get(region.name)
        roles = {"load": old.load, "data": old.data} if old is not None else {}
        regions[region.name] = region.model_copy(update=roles)
    kept = list(regions.values())
    for role, kinds in (("load", ("flash",)), ("data", ("ram", "dtcm"))):
        if not any(getattr(region, role) for region in kept):
            at = next((i for i, region in enumerate(kept) if region.kind in kinds), None)
            if at is not None:
                kept[at] = kept[at].model_copy(update={role: True})
    return tuple(kept)


def parse(text: str) -> Memory:
    """Returns the region of a text `NAME:KIND:ADDRESS:BYTES`.

    Raises:
        BoardError: The text is no region.
    """
    parts = text.split(":")
    size = _SIZE.match(parts[3].lower()) if len(parts) == 4 else None
    try:
        if size is None:
            raise ValueError("no name, kind, address and size")
        name, kind, address, _ = parts
        bytes_ = int(size[1], 0) * _UNITS[size[2]]
        return Memory.model_validate({"name": name, "kind": kind, "address": int(address, 0), "size_bytes": bytes_})
    except (ValueError, ValidationError) as error:
        raise BoardError(
            f"--memory: no region, got {text}, expected NAME:KIND:ADDRESS:BYTES. Say "
            "--memory flash:flash:0x08000000:512K, with a kind of flash, ram, itcm, dtcm, external"
        ) from error
