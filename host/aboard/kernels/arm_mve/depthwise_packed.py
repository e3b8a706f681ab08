"""depthwise_conv2d of int8 with Helium, one channel at a time: the axis that is packed into words, and the packing.

`arm_mve/depthwise_packed.h` computes eight results of a channel in about 26 instructions, and in 19 more for each part
of a window that has more than 4x4 taps. Its pixels are packed into words; the cost of packing, and the wasted results
at the ends, depend on the shape. The cheapest geometry is used if it costs less than sixteen channels at once
(`arm_mve/depthwise_conv2d.h`).
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import replace

from aboard.ir import Node
from aboard.kernels.arm_mve import depthwise_loops
from aboard.kernels.arm_mve.conv2d_four_pixels import aligned
from aboard.kernels.arm_mve.epilogue import EpilogueForm, EpilogueMve
from aboard.kernels.arm_mve.packed_layer import (
    BLOCK,
    GROUP,
    MOST_SCATTER,
    RESULTS,
    ImageAxis,
    PackedGeometry,
    Packing,
)
from aboard.kernels.view import Literal, View
from aboard.ops.conv2d import attributes, window
from aboard.ops.weighted import INPUT

HEADER = "arm_mve/depthwise_packed.h"

#: Largest step between loads, and largest distance of two parts or strips.
_MAX_STEP, _MAX_STRIP = 508, 0xFFFF

#: Longest line of taps for which four windows fit a vector.
_MAX_LINE = 13

#: Most parts of a window, because all are unrolled; windows of 16x16 taps have as many.
MOST_PARTS = 16

#: Largest stride along words.
MOST_STRIDE = _MAX_STEP // (4 * BLOCK)

#: Lines of an image that are packed together, and the largest offsets between its pixels and between its lines.
_STRIPS, _MOST_APART, _MOST_ADVANCE = 3, 508, 4095

#: Channels that are packed at once for less scratch; if all lines are packed together, pixels along then, and most
#: pixels across with padding.
FEW, _FEW_ALONG, _FEW_ACROSS = 4, range(4, 256), 7

#: Fewest pixels of a column of which four channels are packed at once: loads take every fourth of sixteen.
_FEW_IN_COLUMN = 13

#: Bytes of an instruction.
_INSTRUCTION = 4

#: Instructions of the other kernel for sixteen channels: per tap, per pixel and per row.
_OTHER_TAP, _OTHER_PIXEL, _OTHER_ROW = 9.5, 36, 60


def _axes(node: Node) -> tuple[ImageAxis, ImageAxis]:
    attrs, shape = attributes(node), node.input(INPUT).shape
    before, after = (attrs.padding.top, attrs.padding.left), (attrs.padding.bottom, attrs.padding.right)
    rows, cols = (
        ImageAxis(
            number=i,
            inputs=shape[1 + i],
            outputs=node.output.shape[1 + i],
            taps=window(node)[i],
            stride=attrs.strides[i],
            dilation=attrs.dilations[i],
            pad=before[i],
            padded=before[i] > 0 or after[i] > 0,
        )
        for i in range(2)
    )
    return rows, cols


def _geometries(node: Node, y: View) -> list[PackedGeometry]:
    """Returns the possible geometries, the cheapest first."""
    rows, cols = _axes(node)
    found = [*_of(rows, cols), *_of(cols, rows)]
    return sorted((g for g in found if g.fits(y)), key=lambda g: g.cost)


def _of(across: ImageAxis, along: ImageAxis) -> Iterator[PackedGeometry]:
    pitch, most, dilated = 4 * BLOCK, max(across.taps, along.taps), max(across.dilation, along.dilation) > 1
    line = across.taps == 1 and not across.padded and not along.padded and along.taps <= _MAX_LINE
    if line and (along.stride, along.dilation) == (1, 1):
        yield PackedGeometry(Packing.ONE_AXIS, across, along, 1)
    if most <= 3 and not dilated and (across.stride, along.stride) == (1, 1):
        yield PackedGeometry(Packing.FOUR, across, along, 2)
        yield PackedGeometry(Packing.FOUR, across, along, 1)
    elif most <= 4 and along.stride <= MOST_STRIDE:
        pair = PackedGeometry(Packing.ONE, across, along, 2)
        if pair.places * pitch <= _MAX_STRIP:
            yield pair
        yield PackedGeometry(Packing.ONE, across, along, 1)
    elif along.stride <= MOST_STRIDE:
        found = PackedGeometry(Packing.PARTS, across, along, 1)
        furthest = (found.parts[0] - 1) * found.places + (found.parts[1] - 1) * 4 * along.dilation
        if math.prod(found.parts) <= MOST_PARTS and furthest * pitch <= _MAX_STRIP:
            yield found


def possible(node: Node, result: EpilogueMve) -> list[PackedGeometry]:
    """Returns the geometries that can compute a node, the cheapest first.

    They apply to tensors stored whole; `viewed` adapts them to other views.

    Args:
        node: A depthwise convolution.
        result: The epilogue of its sums.
    """
    if result.form is EpilogueForm.DOUBLE:
        return []
    x, y = (View.whole(t.shape, 1) for t in (node.input(INPUT), node.output))
    found = (replace(g, sharing=result.is_single) for g in _geometries(node, y))
    # If an image is copied in parts, the parts are rows, so that the result can overwrite the operand.
    suitable = (g for g in found if (g.whole or g.across.number == 0) and g.fits(y))
    return sorted(suitable, key=lambda g: (g.cost, not in_columns(g, x)))


def in_columns(found: PackedGeometry, x: View) -> bool:
    """True if all lines across are packed together: few, whole and aligned vectors, within the offsets of loads.

    Args:
        found: A geometry of lines that are no stripes.
        x: View of the operand.
    """
    apart, advance = x.row_stride, x.pixel_stride
    if found.across.number == 1:
        apart, advance = advance, apart
    near = 0 <= (found.across.inputs - 1) * apart <= _MOST_APART and 0 <= advance <= _MOST_ADVANCE
    few = found.whole and found.passes <= _STRIPS and x.channels % BLOCK == 0 and aligned(x)
    return found.packing is Packing.FOUR and found.lines == 2 and near and few


def is_near(found: PackedGeometry, x: View) -> bool:
    """True if a line of the form ONE_AXIS is aligned and a load can advance its address to the next pixel.

    Args:
        found: A geometry.
        x: View of the operand.
    """
    stride = (x.row_stride, x.pixel_stride)[found.along.number]
    return found.packing is Packing.ONE_AXIS and 0 <= stride <= _MOST_APART and aligned(x)


def chosen(node: Node, result: EpilogueMve, alone: bool = False) -> PackedGeometry | None:
    """Returns the cheapest of the `possible` geometries, or None if there is none or the other kernel is cheaper.

    Args:
        node: As for `possible`.
        result: The epilogue of its sums.
        alone: True if the other kernel cannot compute the node.
    """
    found = next(iter(possible(node, result)), None)
    rows, cols = _axes(node)
    pixel = rows.taps * cols.taps * _OTHER_TAP + _OTHER_PIXEL
    other = rows.outputs * (cols.outputs * pixel + _OTHER_ROW) / _used_lanes(node.output.shape[3])
    return found if found is not None and (alone or found.cost <= other) else None


def _used_lanes(channels: int) -> float:
    """Returns the lanes that the other kernel uses of each vector: few channels share a vector with the next pixels."""
    return BLOCK if channels in (1, 2, 4, 8) else channels / -(-channels // BLOCK)


def in_pairs(node: Node, found: PackedGeometry, price: float) -> bool:
    """True if a loop over two groups of results is worth its flash.

    Args:
        node: A depthwise convolution.
        found: Its geometry.
        price: Instructions that a byte of flash must save.
    """
    if found.packing is Packing.PARTS:
        return False
    whole = found.along.outputs // (8 // found.lines)
    saved = node.output.shape[0] * node.output.shape[3] * found.passes * (whole // 2 * 2 - whole % 2)
    return saved >= price * GROUP[found.packing] * _INSTRUCTION


def may_be_column(found: PackedGeometry, y: View) -> bool:
    """True if all groups of results of a channel can be computed without a loop, and scattered into a view."""
    furthest = (RESULTS - 1) * (y.row_stride, y.pixel_stride)[found.along.number] + y.channels
    return found.may_be_column and furthest <= MOST_SCATTER


def in_column(node: Node, found: PackedGeometry, y: View, result: EpilogueMve, price: float) -> bool:
    """True if all groups of results of a channel are worth their flash without a loop.

    Args:
        node: A depthwise convolution.
        found: Its geometry.
        y: View of the result, in which one instruction scatters a group of any channel.
        result: The epilogue of its sums.
        price: Instructions that a byte of flash must save.
    """
    if not may_be_column(found, y):
        return False
    saved = math.prod(node.output.shape[::3]) * depthwise_loops.saved_by_column(found, result)
    more = max(found.along.outputs // RESULTS - 1, 0)
    return saved >= price * more * GROUP[found.packing] * _INSTRUCTION


def viewed(node: Node, found: PackedGeometry, y: View) -> PackedGeometry | None:
    """Returns `found`, or if it does not fit the view of the result, the cheapest geometry that copies as much."""
    if found.fits(y):
        return found
    fitting = (g for g in _geometries(node, y) if found.whole or g.across.number == 0)
    return next((replace(g, in_parts=not found.whole) for g in fitting), None)


def in_stripes(node: Node, y: View) -> PackedGeometry | None:
    """Returns the cheapest geometry that computes rows of one image in stripes; None if no results fit.

    Args:
        node: A depthwise convolution.
        y: View of the result, whose stripes of one row need lines that are computed alone.
    """
    fitting = (g for g in _geometries(node, y) if g.across.number == 0 and (g.lines == 1 or y.stripe_height != 1))
    return next((replace(g, in_parts=True) for g in fitting), None)


def words(found: PackedGeometry, x: View, *, few: bool) -> int:
    """Returns the channels that are packed at once: 16, or all if a vector holds several pixels.

    Args:
        found: A geometry; in stripes, packed in parts.
        x: View of the operand.
        few: True for the least scratch: four channels, where a kernel can.
    """
    if few and _may_be_few(found, x):
        return FEW
    several = x.channels in (1, 2, 4, 8) and x.pixel_stride == x.channels
    return x.channels if several and found.along.number == 1 and found.packing is not Packing.ONE_AXIS else BLOCK


def _may_be_few(found: PackedGeometry, x: View) -> bool:
    """True if four channels can be packed at once: of all lines together, of a strip, or of a column."""
    pixels = min(found.along.inputs, found.places - found.along.pad)
    if in_columns(found, x):
        return pixels in _FEW_ALONG and found.across.pad + found.across.inputs <= _FEW_ACROSS
    fours = x.channels > FEW and x.channels % FEW == 0 and pixels >= FEW and aligned(x)
    if found.packing is Packing.ONE_AXIS:
        return (
            fours and found.whole and found.may_be_column and is_near(found, x) and found.along.inputs >= _FEW_IN_COLUMN
        )
    return fours


def params(
    node: Node,
    found: PackedGeometry,
    x: View,
    y: View,
    result: EpilogueMve,
    *,
    stripes: bool,
    column: bool,
    pairs: bool,
    words: int,
    wide: bool,
) -> dict[str, Literal]:
    """Returns the fields of `aboard_depthwise_packed_mve_t`.

    With `stripes`, a call computes some rows; in a `column`, groups of results have no loop; with `pairs`, a loop
    computes two of them; `words` channels are packed at once; sums are `wide` if they may have more than 23 bits and a
    sign.
    """
    shape = node.input(INPUT).shape
    return {
        "across": _axis(found.across, found.parts[0], x, y),
        "along": _axis(found.along, found.parts[1], x, y),
        "form": int(found.packing),
        "lines": found.lines,
        "slab": found.passes if found.whole else 1,
        "shared": int(found.shared),
        "columns": int(not stripes and in_columns(found, x)),
        "near": int(is_near(found, x)),
        "column": int(column),
        "pairs": int(pairs),
        "stripes": int(stripes),
        "in": x.literal(),
        "out": y.literal(),
        "images": shape[0],
        "image_in": shape[1] * x.row_stride,
        "image_out": node.output.shape[1] * y.row_stride,
        "channels": x.channels,
        "multiplier": y.channels // x.channels,
        "words": words,
        "places": found.places,
        "zero_point": node.input(INPUT).quant.zero_point,
        "wide": int(wide),
        "epilogue": result.params,
    }


def scratch_bytes(found: PackedGeometry, x: View, *, stripes: bool, words: int) -> int:
    """Returns the bytes of the strips of a slab, and of loads beyond them; `words` channels are packed at once."""
    place = 4 * words
    strip = found.places * place + (4 * BLOCK - place if stripes or not in_columns(found, x) else 0)
    beyond = found.beyond * place if stripes or found.across.outputs % found.lines else 0
    return (found.passes if found.whole else 1) * found.strips * strip + beyond


def _axis(axis: ImageAxis, parts: int, x: View, y: View) -> dict[str, Literal]:
    return {
        "inputs": axis.inputs,
        "outputs": axis.outputs,
        "stride": axis.stride,
        "dilation": axis.dilation,
        "parts": parts,
        "pad": axis.pad,
        "in_stride": (x.row_stride, x.pixel_stride)[axis.number],
        "out_stride": (y.row_stride, y.pixel_stride)[axis.number],
    }
