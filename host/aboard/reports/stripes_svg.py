"""The picture of a cascade: stripes from left to right, a lane for each layer, and the rows of each stripe in it."""

from __future__ import annotations

from collections.abc import Mapping

from aboard.reports.pieces import CascadeStripes, Lane
from aboard.reports.svg import Picture, Rect, text_width, ticks

_LANE, _GAP = 22, 6
_TOP, _BOTTOM, _RIGHT = 8, 34, 10
_MARK = 2.5


def picture(cascade: CascadeStripes, names: Mapping[int, str], width: float, key: str) -> Picture:
    """Returns the picture.

    Args:
        cascade: The cascade.
        names: Op of each step.
        width: In pixels.
        key: Identifier, unique in the page.
    """
    left = 150 if width >= 600 else 34
    height = _TOP + len(cascade.lanes) * (_LANE + _GAP) + _BOTTOM
    about = (
        f"Steps {cascade.first} to {cascade.last} are computed in {cascade.count} stripes. Each lane is a layer, each "
        "mark a stripe at the height of its rows. The table below has their numbers."
    )
    drawn = Picture(key, width, height, f"Stripes of steps {cascade.first} to {cascade.last}", about)
    column = (width - left - _RIGHT) / max(cascade.count, 1)
    for number in ticks(cascade.count, 8 if width >= 600 else 4):
        x = left + number * column
        drawn.line((x, _TOP), (x, height - _BOTTOM), "grid")
        drawn.try_text(x, height - _BOTTOM + 14, str(number), "quiet", "middle")
    drawn.try_text(left, height - _BOTTOM + 29, "stripe", "quiet")
    for index, lane in enumerate(cascade.lanes):
        top = _TOP + index * (_LANE + _GAP)
        drawn.rect(Rect(left, top, width - left - _RIGHT, _LANE), "lane")
        name = "the input" if lane.step is None else f"{lane.step} {names[lane.step]}"
        short = "in" if lane.step is None else str(lane.step)
        drawn.text(left - 6, top + _LANE / 2 + 4, name if text_width(name) <= left - 8 else short, "", "end")
        _marks(drawn, lane, left, top, column, name)
    return drawn


def _marks(drawn: Picture, lane: Lane, left: float, top: float, column: float, name: str) -> None:
    for number, first, last in lane.stripes:
        y, tall = top + _LANE * first / lane.rows, max(_LANE * (last - first) / lane.rows, _MARK)
        box = Rect(left + number * column, min(y, top + _LANE - tall), max(column, _MARK), tall)
        drawn.rect(box, "stripe", f"stripe {number}: rows {first} to {last - 1} of {name}")
