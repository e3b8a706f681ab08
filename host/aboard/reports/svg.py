"""Pictures for HTML pages: inline SVG in the colours of the page, with a title and a description for screen readers.

The estimated width of text is above the width in common fonts, so text that fits here fits on the page.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from html import escape

#: Font size of all text, in pixels.
FONT = 11
#: Largest mean width of a character over a word, as a share of the font size.
_CHARACTER = 0.66
#: Height of a line of text above and below its baseline.
_ABOVE, _BELOW = 0.95, 0.3


def text_width(text: str) -> float:
    """Returns an upper bound of the width of a text, in pixels."""
    return len(text) * FONT * _CHARACTER


def fitting(text: str, width: float, least: int = 4) -> str:
    """Returns a text, or its end after a dot, that fits a width; empty if fewer than `least` characters fit."""
    most = int(width / (FONT * _CHARACTER))
    if len(text) <= most:
        return text
    return f"…{text[1 - most :]}" if most > least else ""


@dataclass(frozen=True)
class Rect:
    """A rectangle, in pixels from the upper left corner."""

    x: float
    y: float
    width: float
    height: float

    def meets(self, other: Rect, gap: float = 1.0) -> bool:
        """True if two rectangles are nearer to each other than a gap."""
        across = self.x < other.x + other.width + gap and other.x < self.x + self.width + gap
        return across and self.y < other.y + other.height + gap and other.y < self.y + self.height + gap

    def holds(self, other: Rect) -> bool:
        """True if another rectangle is inside."""
        right, bottom = self.x + self.width, self.y + self.height
        inside = other.x + other.width <= right and other.y + other.height <= bottom
        return inside and other.x >= self.x and other.y >= self.y


@dataclass
class Picture:
    """A picture while it is drawn.

    Attributes:
        key: Identifier, unique in the page.
        width: In pixels.
        height: In pixels.
        title: Title in a few words.
        about: Description in sentences.
    """

    key: str
    width: float
    height: float
    title: str
    about: str
    _shapes: list[str] = field(default_factory=list)
    _texts: list[str] = field(default_factory=list)
    _taken: list[Rect] = field(default_factory=list)

    def rect(self, box: Rect, style: str, tip: str = "") -> None:
        """Draws a rectangle; `style` holds CSS classes, `tip` is shown under a pointer."""
        shape = (
            f'<rect class="{style}" x="{_n(box.x)}" y="{_n(box.y)}" width="{_n(max(box.width, 0))}" '
            f'height="{_n(max(box.height, 0))}"'
        )
        self._shapes.append(f"{shape}><title>{escape(tip)}</title></rect>" if tip else f"{shape}/>")

    def line(self, start: tuple[float, float], end: tuple[float, float], style: str) -> None:
        """Draws a line."""
        (x1, y1), (x2, y2) = start, end
        self._shapes.append(f'<line class="{style}" x1="{_n(x1)}" y1="{_n(y1)}" x2="{_n(x2)}" y2="{_n(y2)}"/>')

    def path(self, points: list[tuple[float, float]], style: str) -> None:
        """Draws lines from point to point."""
        drawn = " ".join(f"{_n(x)},{_n(y)}" for x, y in points)
        self._shapes.append(f'<polyline class="{style}" points="{drawn}"/>')

    def text(self, x: float, y: float, text: str, style: str = "", anchor: str = "start") -> None:
        """Writes a text at the start, middle or end of its baseline, and reserves its box."""
        self._taken.append(text_box(x, y, text, anchor))
        classes = f' class="{style}"' if style else ""
        self._texts.append(f'<text x="{_n(x)}" y="{_n(y)}" text-anchor="{anchor}"{classes}>{escape(text)}</text>')

    def try_text(self, x: float, y: float, text: str, style: str = "", anchor: str = "start") -> bool:
        """Writes a text if it is inside the picture and overlaps no other text; returns False if it does not fit."""
        box = text_box(x, y, text, anchor)
        if not Rect(0, 0, self.width, self.height).holds(box) or any(box.meets(other) for other in self._taken):
            return False
        self.text(x, y, text, style, anchor)
        return True

    def markup(self, style: str) -> str:
        """Returns the picture as SVG, texts above all shapes. `style` holds CSS classes."""
        size = f'viewBox="0 0 {_n(self.width)} {_n(self.height)}"'
        head = f'<svg class="{style}" role="img" {size} aria-labelledby="{self.key}-t {self.key}-d">'
        said = (
            f'<title id="{self.key}-t">{escape(self.title)}</title><desc id="{self.key}-d">{escape(self.about)}</desc>'
        )
        return "\n".join([head, said, *self._shapes, *self._texts, "</svg>"])


def text_box(x: float, y: float, text: str, anchor: str = "start") -> Rect:
    """Returns an upper bound of the box of a text."""
    width = text_width(text)
    left = x - {"start": 0.0, "middle": width / 2, "end": width}[anchor]
    return Rect(left, y - FONT * _ABOVE, width, FONT * (_ABOVE + _BELOW))


def ticks(most: float, count: int) -> list[int]:
    """Returns about `count` round numbers from 0 up to `most`."""
    step = 1
    while most / step > count:
        step = next(s for s in (step * 2, step * 5 // 2) if _is_round(s) and s > step)
    return list(range(0, int(most) + 1, step))


def _is_round(number: int) -> bool:
    return str(number).rstrip("0") in ("1", "2", "5")


def _n(value: float) -> str:
    return f"{value:.2f}".rstrip("0").rstrip(".")
