"""The picture of a layer profile: instructions, MACs, and instructions for each MAC beside the bound of the core."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from aboard.reports.svg import FONT, Picture, Rect, fitting, text_width

_TOP, _BAR, _GAP = 22, 9, 3
_PAD = 8
#: Width for names beside the bars.
_NAME = 200.0


@dataclass(frozen=True)
class Bar:
    """A layer in the picture.

    Attributes:
        title: Its number and op.
        name: Its name.
        count: Instructions or another count; None if unknown.
        other: Count of another system; None if unknown.
        macs: Multiply-accumulates.
        bound: Lower bound of the count per MAC; None without a bound.
    """

    title: str
    name: str
    count: int | None
    other: int | None
    macs: int
    bound: float | None

    @property
    def each(self) -> float | None:
        """Count per MAC; None without MACs."""
        return None if self.count is None or not self.macs else self.count / self.macs


@dataclass(frozen=True)
class _Panel:
    """A part of the picture with its own scale: 0 is at `x`, the largest value at `x + width`."""

    x: float
    width: float
    most: float

    def length(self, value: float) -> float:
        return self.width * min(value / self.most, 1.0) if self.most else 0.0


#: Counts per MAC above this multiple of the bound are drawn at this multiple: layers with almost no MACs.
_MOST_TIMES = 8


def picture(bars: Sequence[Bar], unit: str, other: str, width: float, key: str) -> Picture:
    """Returns the picture.

    Args:
        bars: The layers, in order.
        unit: Unit of the counts: `instructions`, `instructions, predicted`, `cycles`.
        other: Name of the other system; "" for none.
        width: In pixels. Below 600, panels are stacked.
        key: Identifier, unique in the page.
    """
    wide = width >= 600
    row = 2 * (_BAR + _GAP) + _PAD if wide else FONT + 4 + 4 * (_BAR + _GAP) + _PAD
    height = _TOP + len(bars) * row + 6
    beside = f", of {other}" if other else ""
    about = f"For each of {len(bars)} layers {unit}{beside}, MACs, and the one divided by the other. "
    drawn = Picture(key, width, height, "Layer profile", about + "The table below has the figures.")
    panels = _panels(bars, width)
    each = "for each MAC; line: bound" if any(bar.bound for bar in bars) else "for each MAC"
    if wide:
        for panel, head in zip(panels, (unit, "MACs", each), strict=True):
            drawn.text(panel.x, 12, head, "quiet")
    else:
        # The legend below shows the whole unit.
        drawn.text(0, 12, f"{unit.partition(',')[0]}, MACs, {each}", "quiet")
    for index, bar in enumerate(bars):
        (_wide_row if wide else _narrow_row)(drawn, bar, panels, _TOP + index * row, other)
    return drawn


def _panels(bars: Sequence[Bar], width: float) -> tuple[_Panel, _Panel, _Panel]:
    counts = max((max(bar.count or 0, bar.other or 0) for bar in bars), default=0)
    macs = max((bar.macs for bar in bars), default=0)
    each = [bar.each if bar.bound is None else min(bar.each, _MOST_TIMES * bar.bound) for bar in bars if bar.each]
    worst = max(each, default=0.0)
    if width < 600:
        room = width - text_width("10,000,000")
        return _Panel(0, room, counts), _Panel(0, room, macs), _Panel(0, room, worst)
    number = text_width("10,000,000") + 8
    left, parts = _NAME, (0.48, 0.22, 0.30)
    rest = width - left - 3 * number
    starts = [left, left + parts[0] * rest + number, left + (parts[0] + parts[1]) * rest + 2 * number]
    sizes = [part * rest for part in parts]
    return _Panel(starts[0], sizes[0], counts), _Panel(starts[1], sizes[1], macs), _Panel(starts[2], sizes[2], worst)


def _wide_row(drawn: Picture, bar: Bar, panels: Sequence[_Panel], top: float, other: str) -> None:
    drawn.text(0, top + FONT - 2, fitting(bar.title, _NAME - 8))
    drawn.text(0, top + 2 * FONT, fitting(bar.name, _NAME - 8), "quiet")
    _count(drawn, bar, panels[0], top, other)
    _macs(drawn, bar, panels[1], top)
    _each(drawn, bar, panels[2], top)


def _narrow_row(drawn: Picture, bar: Bar, panels: Sequence[_Panel], top: float, other: str) -> None:
    drawn.text(0, top + FONT, bar.title)
    drawn.text(drawn.width, top + FONT, fitting(bar.name, drawn.width - text_width(bar.title) - 12), "quiet", "end")
    line = top + FONT + 4
    _count(drawn, bar, panels[0], line, other)
    _macs(drawn, bar, panels[1], line + 2 * (_BAR + _GAP))
    _each(drawn, bar, panels[2], line + 3 * (_BAR + _GAP))


def _count(drawn: Picture, bar: Bar, panel: _Panel, top: float, other: str) -> None:
    for value, style, name, line in ((bar.count, "ours", "", 0), (bar.other, "theirs", f" ({other})", 1)):
        if value is None:
            continue
        y = top + line * (_BAR + _GAP)
        length = panel.length(value)
        drawn.rect(Rect(panel.x, y, length, _BAR), style, f"{bar.title}: {value:,}{name}")
        drawn.text(panel.x + length + 4, y + _BAR, f"{value:,}", "" if line == 0 else "quiet")


def _macs(drawn: Picture, bar: Bar, panel: _Panel, top: float) -> None:
    length = panel.length(bar.macs)
    drawn.rect(Rect(panel.x, top, length, _BAR), "macs", f"{bar.title}: {bar.macs:,} MACs")
    drawn.text(
        panel.x + length + 4, top + _BAR, f"{bar.macs:,}" if bar.macs else "no MACs", "" if bar.macs else "quiet"
    )


def _each(drawn: Picture, bar: Bar, panel: _Panel, top: float) -> None:
    if bar.each is None:
        return
    length = panel.length(bar.each)
    drawn.rect(Rect(panel.x, top, length, _BAR), "each", f"{bar.title}: {bar.each:.3g} for each MAC")
    if bar.bound is not None:
        x = panel.x + panel.length(bar.bound)
        drawn.line((x, top - 2), (x, top + _BAR + 2), "bound")
    drawn.text(panel.x + length + 4, top + _BAR, f"{bar.each:.2f}")
