"""The picture of an arena over time: steps from left to right, addresses upwards, a rectangle for each buffer."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

from aboard.base.manifest import label
from aboard.reports.pieces import ArenaPiece, CascadeStripes
from aboard.reports.svg import FONT, Picture, Rect, fitting, text_width, ticks

#: Margins of the plot: addresses at the left, cascades above, numbers of steps and the peak below.
_LEFT, _RIGHT, _TOP, _BOTTOM = 58, 10, 26, 44
_HEIGHT = 330
#: Smallest distance between the numbers of steps, and between addresses.
_APART = 16
_LINE = FONT + 3


@dataclass(frozen=True)
class Arena:
    """An arena over time.

    Attributes:
        region: Name of its memory region; "" without a name.
        bytes: Size.
        pieces: Its memory map.
        live_bytes: Lower bound of the bytes that are live during each step.
        peaks: Indices of the steps that set its peak.
        peaks: The steps that set its peak.
        cascades: Cascades of its model.
    """

    number: int
    region: str
    bytes: int
    pieces: Sequence[ArenaPiece]
    live_bytes: Sequence[int]
    peaks: Sequence[int]
    cascades: Sequence[CascadeStripes]


@dataclass(frozen=True)
class _Plot:
    """Coordinates of steps and addresses in a picture."""

    width: float
    steps: int
    bytes: int

    @property
    def column(self) -> float:
        return (self.width - _LEFT - _RIGHT) / max(self.steps, 1)

    def x(self, step: float) -> float:
        return _LEFT + step * self.column

    def y(self, address: float) -> float:
        return _TOP + _HEIGHT * (1 - address / max(self.bytes, 1))

    def box(self, piece: ArenaPiece) -> Rect:
        top = self.y(piece.offset + piece.bytes)
        left, steps = self.x(piece.first), piece.last - piece.first + 1
        return Rect(left + 0.5, top, steps * self.column - 1, self.y(piece.offset) - top)


def picture(arena: Arena, width: float, key: str) -> Picture:
    """Returns the picture.

    Args:
        arena: The arena.
        width: In pixels.
        key: Identifier, unique in the page.
    """
    plot = _Plot(width, len(arena.live_bytes), arena.bytes)
    where = f" in {arena.region}" if arena.region else ""
    drawn = Picture(key, width, _TOP + _HEIGHT + _BOTTOM, f"Memory over time{where}", _about(arena))
    _cascades(drawn, plot, arena)
    _addresses(drawn, plot, arena)
    _steps(drawn, plot, arena)
    for piece in arena.pieces:
        drawn.rect(plot.box(piece), f"piece {style(piece.kind)}", tip(piece))
    _live_bytes(drawn, plot, arena)
    for piece in arena.pieces:
        _name(drawn, plot.box(piece), piece)
    return drawn


def _about(arena: Arena) -> str:
    peaks = ", ".join(map(str, arena.peaks))
    return (
        f"{len(arena.pieces)} pieces of an arena of {arena.bytes:,} bytes over {len(arena.live_bytes)} steps. "
        f"The peak is set by step {peaks}. The table below has every piece."
    )


def tip(piece: ArenaPiece) -> str:
    """Returns the text shown for a piece under the pointer."""
    during = f"step {piece.first}" if piece.first == piece.last else f"steps {piece.first} to {piece.last}"
    lines = [
        said(piece),
        f"{piece.bytes:,} bytes at {piece.offset:,}, {during}",
    ]
    if piece.rolling is not None:
        lines.append(f"{piece.rolling[0]} of {piece.rolling[1]} rows")
    if piece.aliases:
        lines.append(f"and {piece.aliases} more {'tensors' if piece.aliases > 1 else 'tensor'} in the same bytes")
    return "\n".join(lines)


def style(kind: str) -> str:
    """Returns the CSS class of a kind of buffer."""
    return kind.replace(" ", "-")


def said(piece: ArenaPiece) -> str:
    """Returns the kind and the name of a piece."""
    if piece.kind == "scratch":
        return f"scratch of step {piece.step}"
    return f"{piece.kind}: {label(piece.name)}"


def _cascades(drawn: Picture, plot: _Plot, arena: Arena) -> None:
    for number, cascade in enumerate(arena.cascades):
        left, right = plot.x(cascade.first), plot.x(cascade.last + 1)
        stripes = f"{cascade.count} stripes"
        drawn.rect(Rect(left, _TOP - 4, right - left, _HEIGHT + 4), "cascade", f"cascade {number}: {stripes}")
        for text in (f"cascade {number}: {stripes}", stripes):
            if drawn.try_text(left + 2, _TOP - 9, text, "quiet"):
                break


def _addresses(drawn: Picture, plot: _Plot, arena: Arena) -> None:
    drawn.text(_LEFT - 6, plot.y(arena.bytes) + 4, f"{arena.bytes:,}", "strong", "end")
    for address in ticks(arena.bytes, 7):
        y = plot.y(address)
        drawn.line((_LEFT, y), (plot.width - _RIGHT, y), "grid")
        if y - plot.y(arena.bytes) > _APART:
            drawn.text(_LEFT - 6, y + 4, f"{address:,}", "quiet", "end")
    drawn.line((_LEFT, plot.y(arena.bytes)), (plot.width - _RIGHT, plot.y(arena.bytes)), "peak")


def _steps(drawn: Picture, plot: _Plot, arena: Arena) -> None:
    """Writes the numbers of steps, starting with the steps that set the peak, and marks these."""
    baseline = _TOP + _HEIGHT + 15
    for step in arena.peaks:
        drawn.rect(Rect(plot.x(step), _TOP + _HEIGHT, plot.column, 3), "peak-step", f"step {step} sets the peak")
    every = max(math.ceil((text_width(str(plot.steps)) + 4) / plot.column), 1)
    for step in (*arena.peaks, *range(0, plot.steps, every)):
        style = "strong" if step in arena.peaks else "quiet"
        drawn.try_text(plot.x(step + 0.5), baseline, str(step), style, "middle")
    drawn.try_text(_LEFT, baseline + _LINE + 3, "step, in order of execution", "quiet")


def _live_bytes(drawn: Picture, plot: _Plot, arena: Arena) -> None:
    points = []
    for step, count in enumerate(arena.live_bytes):
        points += [(plot.x(step), plot.y(count)), (plot.x(step + 1), plot.y(count))]
    drawn.path(points, "live")


def _name(drawn: Picture, box: Rect, piece: ArenaPiece) -> None:
    """Writes the longest label that fits a piece and overlaps no other text, and the bytes below it if they fit."""
    if box.height < _LINE + 2:
        return
    for text in _names(piece, box.width - 8):
        for line in range(int((box.height - 2) // _LINE)):
            if drawn.try_text(box.x + 4, box.y + FONT + 1 + line * _LINE, text):
                size = f"{piece.bytes:,} B"
                if (line + 2) * _LINE <= box.height and text_width(size) <= box.width - 8:
                    drawn.try_text(box.x + 4, box.y + FONT + 1 + (line + 1) * _LINE, size, "faint")
                return


def _names(piece: ArenaPiece, width: float) -> list[str]:
    if piece.kind == "scratch":
        longest = [f"scratch of {piece.step}", "scratch"]
    else:
        longest = [label(piece.name, 28), label(piece.name, 16)]
    short = piece.kind if piece.step is None else f"#{piece.step}"
    texts = [*longest, fitting(longest[0], width, least=7), short]
    return [text for text in dict.fromkeys(texts) if text and text_width(text) <= width]
