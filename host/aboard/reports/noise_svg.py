"""The picture of a quantised model: for each layer, the signal-to-noise ratios of which `aboard quantize` tells."""

from __future__ import annotations

import math
from collections.abc import Sequence

from aboard.base.manifest import label
from aboard.quantization import LayerFigures
from aboard.reports.svg import FONT, Picture, Rect, fitting

#: Two bars are as far apart as two lines of text, so that each has its number.
_TOP, _BAR, _GAP, _PAD = 22, 9, 6, 8

#: Width for names beside the bars, and for numbers behind them.
_NAME, _NUMBER = 200.0, 64.0

#: Ratios above this are drawn as this, in dB: nothing is heard of such an error.
_MOST = 60.0

#: Grid lines, in dB.
_GRID = 10


def picture(layers: Sequence[LayerFigures], width: float, key: str) -> Picture:
    """Returns two bars for each layer: its result with all layers quantised, and the scores with this layer alone.

    Args:
        layers: In execution order.
        width: In pixels. Below 600, names stand above the bars.
        key: Identifier, unique in the page.
    """
    wide = width >= 600
    left = _NAME if wide else 0.0
    row = 2 * (_BAR + _GAP) + _PAD + (0 if wide else FONT + 4)
    height = _TOP + len(layers) * row + 6
    least = min(layers, key=lambda each: each.snr_db, default=None)
    about = "" if least is None else f"The result of {least.name} is nearest to its error: {least.snr_db:.1f} dB."
    drawn = Picture(key, width, height, "Signal-to-noise ratio of each layer", about)
    scale = (width - left - _NUMBER) / _MOST
    for decibels in range(0, int(_MOST) + 1, _GRID):
        at = left + decibels * scale
        drawn.line((at, _TOP - 4), (at, height - 6), "grid")
        drawn.text(at, _TOP - 8, f"{decibels} dB", "quiet", "middle" if decibels else "start")
    for number, layer in enumerate(layers):
        top = _TOP + number * row
        title = f"{layer.op} {label(layer.name)}"
        if wide:
            drawn.text(0, top + FONT + 2, fitting(title, left - 8))
        else:
            drawn.text(0, top + FONT, fitting(title, width))
            top += FONT + 4
        for place, (value, style) in enumerate(((layer.snr_db, "ours"), (layer.alone_db, "theirs"))):
            if value is not None:
                at = top + place * (_BAR + _GAP)
                drawn.rect(Rect(left, at, max(min(value, _MOST), 0) * scale, _BAR), style, f"{title}: {_text(value)}")
                drawn.try_text(left + max(min(value, _MOST), 0) * scale + 4, at + _BAR, _text(value), "quiet")
    return drawn


def _text(value: float) -> str:
    return "no error" if math.isinf(value) else f"{value:.1f}"
