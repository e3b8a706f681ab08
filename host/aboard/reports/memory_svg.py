"""The picture of an arena over time: steps from left to right, addresses from below, a rectangle for each piece."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

from aboard.base.manifest import label
from aboard.reports.pieces import Piece, Turns
from aboard.reports.svg import FONT, Box, Picture, fitting, text_width, ticks

#: Space around the plot: for addresses at the left, cascades above, numbers of steps and the peak below.
_LEFT, _RIGHT, _TOP, _BOTTOM = 58, 10, 26, 44
_HEIGHT = 330
#: Least distance between the numbers of steps, and between addresses.
_APART = 16
_LINE = FONT + 3


@dataclass(frozen=True)
class Arena:
    """An arena over time.

    Attributes:
        number: Its number.
        region: Name of its memory region; "" where none is named.
        bytes: Size.
        pieces: What lies in it.
        alive: Bytes that are needed at least during each step.
        peaks: The steps that set its peak.
        cascades: Steps that take turns.
    """

    number: int
    region: str
    bytes: int
    pieces: Sequence[Piece]
    alive: Sequence[int]
    peaks: Sequence[int]
    cascades: Sequence[Turns]


@dataclass(frozen=True)
class _Plot:
    """Where steps and addresses lie in a picture."""

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

    def box(self, piece: Piece) -> Box:
        top = self.y(piece.offset + piece.bytes)
        left, steps = self.x(piece.first), piece.last - piece.first + 1
        return Box(left + 0.5, top, steps * self.column - 1, self.y(piece.offset) - top)


def picture(arena: Arena, width: float, key: str) -> Picture:
    """Returns the picture.

    Args:
        arena: What to draw.
        width: In pixels.
        key: Unique in the page.
    """
    plot = _Plot(width, len(arena.alive), arena.bytes)
    where = f" in {arena.region}" if arena.region else ""
    drawn = Picture(key, width, _TOP + _HEIGHT + _BOTTOM, f"Memory over time{where}", _about(arena))
    _cascades(drawn, plot, arena)
    _addresses(drawn, plot, arena)
    _steps(drawn, plot, arena)
    for piece in arena.pieces:
        drawn.rect(plot.box(piece), f"piece {piece.kind}", tip(piece))
    _alive(drawn, plot, arena)
    for piece in arena.pieces:
        _name(drawn, plot.box(piece), piece)
    return drawn


def _about(arena: Arena) -> str:
    peaks = ", ".join(map(str, arena.peaks))
    return (
        f"{len(arena.pieces)} pieces of an arena of {arena.bytes:,} bytes over {len(arena.alive)} steps. "
        f"The peak is set by step {peaks}. The table below has every piece."
    )


def tip(piece: Piece) -> str:
    """Returns what is said of a piece where the pointer rests on it."""
    during = f"step {piece.first}" if piece.first == piece.last else f"steps {piece.first} to {piece.last}"
    lines = [
        said(piece),
        f"{piece.bytes:,} bytes at {piece.offset:,}, {during}",
    ]
    if piece.ring is not None:
        lines.append(f"ring of {piece.ring[0]} of {piece.ring[1]} rows")
    if piece.shares:
        lines.append(f"and {piece.shares} more {'tensors' if piece.shares > 1 else 'tensor'} at the same place")
    return "\n".join(lines)


def said(piece: Piece) -> str:
    """Returns a piece's name with what it is."""
    if piece.kind == "scratch":
        return f"scratch of step {piece.step}"
    return f"{piece.kind}: {label(piece.name)}"


def _cascades(drawn: Picture, plot: _Plot, arena: Arena) -> None:
    for number, turns in enumerate(arena.cascades):
        left, right = plot.x(turns.first), plot.x(turns.last + 1)
        drawn.rect(Box(left, _TOP - 4, right - left, _HEIGHT + 4), "cascade", f"cascade {number}: {turns.count} turns")
        for text in (f"cascade {number}: {turns.count} turns", f"{turns.count} turns"):
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
    """Writes the numbers of steps, those that set the peak first, and marks these."""
    baseline = _TOP + _HEIGHT + 15
    for step in arena.peaks:
        drawn.rect(Box(plot.x(step), _TOP + _HEIGHT, plot.column, 3), "peak-step", f"step {step} sets the peak")
    every = max(math.ceil((text_width(str(plot.steps)) + 4) / plot.column), 1)
    for step in (*arena.peaks, *range(0, plot.steps, every)):
        style = "strong" if step in arena.peaks else "quiet"
        drawn.try_text(plot.x(step + 0.5), baseline, str(step), style, "middle")
    drawn.try_text(_LEFT, baseline + _LINE + 3, "step, in order of execution", "quiet")


def _alive(drawn: Picture, plot: _Plot, arena: Arena) -> None:
    points = []
    for step, count in enumerate(arena.alive):
        points += [(plot.x(step), plot.y(count)), (plot.x(step + 1), plot.y(count))]
    drawn.path(points, "alive")


def _name(drawn: Picture, box: Box, piece: Piece) -> None:
    """Writes the longest name that fits into a piece and meets no other, with its bytes below where there is room."""
    if box.height < _LINE + 2:
        return
    for text in _names(piece, box.width - 8):
        for line in range(int((box.height - 2) // _LINE)):
            if drawn.try_text(box.x + 4, box.y + FONT + 1 + line * _LINE, text):
                size = f"{piece.bytes:,} B"
                if (line + 2) * _LINE <= box.height and text_width(size) <= box.width - 8:
                    drawn.try_text(box.x + 4, box.y + FONT + 1 + (line + 1) * _LINE, size, "faint")
                return


def _names(piece: Piece, width: float) -> list[str]:
    if piece.kind == "scratch":
        longest = [f"scratch of {piece.step}", "scratch"]
    else:
        longest = [label(piece.name, 28), label(piece.name, 16)]
    short = piece.kind if piece.step is None else f"#{piece.step}"
    texts = [*longest, fitting(longest[0], width, least=7), short]
    return [text for text in dict.fromkeys(texts) if text and text_width(text) <= width]
