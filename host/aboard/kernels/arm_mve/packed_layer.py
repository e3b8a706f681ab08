"""Geometries of depthwise convolutions with pixels packed in words: what a vector of four words contains.

`depthwise_packed.py` chooses among them; `arm_mve/packed_layer.h` has the layout of strips.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from enum import IntEnum

from aboard.kernels.view import View

#: Channels packed at once, and bytes of a vector of weights.
BLOCK = 16

#: ABOARD_DEPTHWISE_PACKED_MOST_STEP: largest distance of vectors that a load advances its address by.
MOST_STEP = 127

#: Largest size of the strips of all lines of an image, in bytes, for copying all lines together: by choice, and at all.
_WHOLE_BYTES, MOST_WHOLE_BYTES = 6144, 32768

#: Largest offset of eight scattered results.
MOST_SCATTER = 0xFFFF

#: Results of a group, and most groups whose words are at offsets of loads.
RESULTS, MOST_GROUPS = 8, 4

#: Instructions per channel and line outside of groups of eight results.
CALL = 18

#: Instructions per channel and line if all lines are one run, and most results that share groups: two groups.
_PASS, _MOST_LEFT = 8, 8


class Packing(IntEnum):
    """ABOARD_DEPTHWISE_PACKED_FOUR, _ONE, _ONE_AXIS and _PARTS."""

    FOUR = 0
    ONE = 1
    ONE_AXIS = 2
    PARTS = 3


#: Instructions per group of eight results; for windows of parts without those of each part.
GROUP = {Packing.FOUR: 25, Packing.ONE: 30, Packing.ONE_AXIS: 25, Packing.PARTS: 26}

#: Instructions per part of a window and group of eight results, and for packing a word of sixteen channels.
PART, PACK = 19, 14


@dataclass(frozen=True)
class ImageAxis:
    """One of the two axes of an image: `aboard_depthwise_packed_axis_t` without its bytes.

    Attributes:
        number: 0 for rows, 1 for columns.
        inputs: Pixels of the input.
        outputs: Pixels of the result.
        taps: Taps of a window.
        stride: Pixels from one window to the next.
        dilation: Pixels from one tap to the next.
        pad: Pixels of padding before the first.
        padded: True with padding on either side.
    """

    number: int
    inputs: int
    outputs: int
    taps: int
    stride: int
    dilation: int
    pad: int
    padded: bool

    @property
    def parts(self) -> int:
        """Groups of four taps."""
        return -(-self.taps // 4)


@dataclass(frozen=True)
class PackedGeometry:
    """The geometry of a layer.

    Attributes:
        packing: Content of a vector of four words.
        across: ImageAxis of which four neighbours share a word.
        along: ImageAxis of consecutive words.
        lines: Lines of results that are computed together.
        in_parts: True to copy lines as they are needed, False to copy all together; None for what their size allows.
        sharing: True if the last results of lines may share groups, where all lines are copied together.
    """

    packing: Packing
    across: ImageAxis
    along: ImageAxis
    lines: int
    in_parts: bool | None = None
    sharing: bool = False

    @property
    def function(self) -> str:
        """The C function."""
        return "aboard_depthwise_packed_mve" + ("_parts" if self.packing is Packing.PARTS else "")

    @property
    def name(self) -> str:
        """Name in tuning records, unique among the geometries of a node."""
        axis = ("rows", "cols")[self.across.number]
        return f"{self.packing.name.lower()}_{axis}_{self.lines}"

    @property
    def shared(self) -> bool:
        """True if all lines of a channel are one run, where one or two last results of each share groups."""
        single = self.across.outputs % 2
        left = self.along.outputs % 4
        fits = left <= 2 and self.members * left <= _MOST_LEFT and not (single and self.along.outputs % 8 > 2)
        two = self.packing is Packing.FOUR and self.lines == 2 and self.across.outputs > 1
        return self.sharing and self.whole and two and fits and (left > 0 or single > 0)

    @property
    def joined(self) -> bool:
        """True if all lines but a single last one are one run of instructions."""
        return self.whole and self.packing is not Packing.PARTS

    @property
    def may_be_column(self) -> bool:
        """True if all groups of a channel can be computed without a loop over them, in an image of one line."""
        return self.packing is Packing.ONE_AXIS and self.across.outputs == 1 and self.groups(1) <= MOST_GROUPS

    @property
    def members(self) -> int:
        """Pairs of lines, and a single last line."""
        return -(-self.across.outputs // 2)

    def groups(self, lines: int) -> int:
        """Groups of eight results in `lines` lines."""
        return -(-self.along.outputs // (8 // lines))

    def reached(self, lines: int) -> int:
        """Words of a channel in a strip up to the last load."""
        results = self.groups(lines) * 8 // lines
        if self.packing is Packing.ONE_AXIS:
            return results // 4 + 3
        if self.packing is Packing.FOUR:
            return results + 2
        return (results - 1) * self.along.stride + (4 * self.parts[1] - 1) * self.along.dilation + 1

    @property
    def parts(self) -> tuple[int, int]:
        """Parts of a window across and along."""
        return (self.across.parts, self.along.parts) if self.packing is Packing.PARTS else (1, 1)

    @property
    def places(self) -> int:
        """Words of a channel in a strip."""
        left = self.along.outputs % 4
        return self.along.outputs - left + (4 if left else 2) if self.shared else self._places

    @property
    def _places(self) -> int:
        """As `places`, if lines do not share groups."""
        if self.packing is Packing.ONE_AXIS:
            return max(self.reached(self.lines), -(-self.along.inputs // 4))
        return self.reached(self.lines)

    @property
    def beyond(self) -> int:
        """Words of a channel that the loads of a single last line read beyond its strip."""
        return 0 if self.shared else max(0, self.reached(1) - self.places)

    @property
    def passes(self) -> int:
        """Passes over an image, each of `lines` lines."""
        return -(-self.across.outputs // self.lines)

    @property
    def strips(self) -> int:
        """Strips of a pass."""
        return self.lines if self.packing is Packing.ONE else self.parts[0]

    @property
    def whole(self) -> bool:
        """True if all lines of an image are copied together, for every view."""
        return self.whole_bytes <= _WHOLE_BYTES if self.in_parts is None else not self.in_parts

    @property
    def whole_bytes(self) -> int:
        """Bytes of the strips of all lines, if these do not share groups."""
        return self.passes * self.strips * self._places * 4 * BLOCK

    @property
    def cost(self) -> float:
        """Instructions per channel of an image, without packing that takes as long as what the other kernel copies."""
        pairs, single = divmod(self.across.outputs, self.lines)
        groups = pairs * self.groups(self.lines) + single * self.groups(1)
        if self.shared:
            left = self.along.outputs % 4
            whole = self.along.outputs // 4 * pairs + self.along.outputs // 8 * single
            return (whole + -(-self.members * left // 4)) * GROUP[self.packing] + CALL + self.passes * _PASS
        found = groups * GROUP[self.packing] + self.passes * CALL
        if self.packing is Packing.PARTS:
            packed = self.passes * self.strips * self.places * PACK / BLOCK
            return found + groups * math.prod(self.parts) * PART + packed
        return found

    def fits(self, y: View) -> bool:
        """True if one instruction can scatter the results of a group into a view."""
        strides = (y.row_stride, y.pixel_stride)
        along, across = strides[self.along.number], strides[self.across.number]
        single = self.lines == 1 or self.across.outputs % 2 or y.buffer_rows < y.rows
        if y.buffer_rows < y.rows:
            # The two lines may be the first and the last row of the rolling buffer.
            across *= max(y.buffer_rows - 1, 1)
        furthest = max(7 * along if single else 0, 3 * along + across if self.lines == 2 else 0)
        if self.shared:
            furthest = max(furthest, 7 * across if self.along.outputs % 4 == 1 else 3 * across + along)
        return min(strides) >= 0 and furthest <= MOST_SCATTER
