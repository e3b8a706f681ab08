"""The pictures of flash: one bar with the parts of an image, one with the constants of each layer."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from aboard.reports.svg import FONT, Picture, Rect, text_width

_BAR, _TOP = 34, 6


@dataclass(frozen=True)
class Part:
    """A part of a bar.

    Attributes:
        name: What to call it.
        bytes: Its size.
        style: Classes of the page.
        short: What to write where the name does not fit; "" for nothing.
    """

    name: str
    bytes: int
    style: str
    short: str = ""


def picture(parts: Sequence[Part], title: str, width: float, key: str) -> Picture:
    """Returns a bar whose parts are as long as they are large.

    Args:
        parts: In order; empty ones are left out.
        title: What the whole is.
        width: In pixels.
        key: Unique in the page.
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
