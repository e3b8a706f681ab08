"""The view of a tensor: where its rows, pixels and channels lie in memory, as a kernel receives it."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Union

from aboard.ops import rows_of

#: Bytes of an entry of `View.table`, the offset of a row.
TABLE_ENTRY_BYTES = 2
#: Bytes of a unit of these offsets, if the rows of a block are whole units too; else 1.
TABLE_UNIT = 4
#: Names of such tables in C.
TABLE = re.compile(r"\brows_of_\d+\b")

#: A literal of a C parameter struct: number, nested struct (mapping) or array (sequence).
Literal = Union[int, float, bool, str, Mapping[str, "Literal"], Sequence["Literal"]]  # noqa: UP007 - recursive


@dataclass(frozen=True)
class View:
    """Geometry of a tensor in memory, strides in bytes; the C struct is in `firmware/include/aboard/view.h`.

    Attributes:
        rows: Rows of the tensor, including batches.
        cols: Pixels of a row.
        channels: Elements of a pixel.
        row_stride: Bytes from one row to the next.
        pixel_stride: Bytes from one pixel to the next; more than `channels * element_bytes` for a slice of a wider
            tensor.
        buffer_rows: Height of the buffer in rows; fewer than `rows` for a rolling buffer.
        start_row: Row of a rolling buffer that stores row 0, so that the rows of a stripe are contiguous.
        element_bytes: Bytes of an element.
        offset: Bytes from the start of the buffer to element (0, 0, 0).
        stripe_height: Rows of a stripe (`RowWise`) of a result in a cascade; 0 outside of cascades.
        table: C name of the table with the offset of each row, if rows lie in blocks; else "". `buffer_rows` is less
            than `rows` then, as for a rolling buffer. The rows that a call writes follow each other.
    """

    rows: int
    cols: int
    channels: int
    row_stride: int
    pixel_stride: int
    buffer_rows: int
    element_bytes: int
    offset: int = 0
    start_row: int = 0
    stripe_height: int = 0
    table: str = ""

    @classmethod
    @lru_cache(maxsize=4096)
    def whole(cls, shape: tuple[int, ...], element_bytes: int) -> View:
        """Returns the view of a tensor that is stored whole and without gaps."""
        channels = shape[-1] if shape else 1
        cols = shape[-2] if len(shape) >= 3 else 1
        rows = rows_of(shape)
        pixel = channels * element_bytes
        return cls(rows, cols, channels, cols * pixel, pixel, rows, element_bytes)

    @property
    def table_unit(self) -> int:
        """Bytes of a unit of `table`: blocks begin at whole words."""
        return 1 if self.row_stride % TABLE_UNIT else TABLE_UNIT

    @property
    def contiguous(self) -> bool:
        """True if the tensor is stored whole and without gaps."""
        pixel = self.channels * self.element_bytes
        return self.pixel_stride == pixel and self.row_stride == self.cols * pixel and self.buffer_rows >= self.rows

    @property
    def span(self) -> int:
        """Bytes from the first to one past the last byte, including gaps, without `offset`."""
        pixel = self.channels * self.element_bytes
        return (min(self.buffer_rows, self.rows) - 1) * self.row_stride + (self.cols - 1) * self.pixel_stride + pixel

    def literal(self) -> Mapping[str, Literal]:
        """Returns the fields of the C struct `aboard_view_t`; without those that are 0 and NULL for most views."""
        names = ("rows", "cols", "channels", "row_stride", "pixel_stride", "buffer_rows")
        fields = {name: getattr(self, name) for name in names}
        if self.table:
            return {**fields, "table": self.table, "table_unit": self.table_unit}
        return {**fields, "start_row": self.start_row} if self.start_row else fields


def without_tables(text: str) -> str:
    """Returns C text with tables of rows numbered by their order: equal for calls that differ in tables alone."""
    numbers: dict[str, int] = {}
    return TABLE.sub(lambda found: f"rows_{numbers.setdefault(found[0], len(numbers))}", text)
