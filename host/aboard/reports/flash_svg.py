"""The pictures of flash: a bar with the parts of an image, and a bar with the constants of each layer."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from aboard.reports.svg import FONT, Picture, Rect, text_width

_BAR, _TOP = 34, 6


@dataclass(frozen=True)
class Part:
    """A part of a bar.

    Attributes:
        name: Label of the part.
        bytes: Its size.
        style: CSS classes.
        short: Label if `name` does not fit; "" for none.
    """

    name: str
    bytes: int
    style: str
    short: str = ""


def picture(parts: Sequence[Part], title: str, width: float, key: str) -> Picture:
    """Returns a bar whose parts are as wide as their share of the bytes.

    Args:
        parts: In order; empty parts are left out.
        title: Title of the whole bar.
        width: In pixels.
        key: Identifier, unique in the page.
    """
    total = sum(part.bytes for part in parts)
    listed = ", ".join(f"{part.name} {part.bytes:,}" for part in parts if part.bytes)
    drawn = Picture(key, width, _TOP + _BAR + FONT + 10, title, f"{total:,} bytes: {listed}.")
    left = 0.0
    for part in parts:
        length = width * part.bytes / total if total else 0.0
        if not part.bytes:
            continue
        drawn.rect(Rect(left, _TOP, length, _BAR), f"part {part.style}", f"{part.name}: {part.bytes:,} bytes")
        _written(drawn, part, left, length)
        left += length
    drawn.text(width, _TOP + _BAR + FONT + 4, f"{total:,} bytes", "quiet", "end")
    return drawn


def _written(drawn: Picture, part: Part, left: float, length: float) -> None:
    for text in (part.name, part.short):
        if text and text_width(text) + 8 <= length:
            drawn.try_text(left + 4, _TOP + FONT + 3, text)
            size = f"{part.bytes:,}"
            if text_width(size) + 8 <= length:
                drawn.try_text(left + 4, _TOP + 2 * FONT + 8, size, "faint")
            return
