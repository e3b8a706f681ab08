"""The work of the loops of depthwise convolutions with Helium (`KernelCall.loops`)."""

from __future__ import annotations

from dataclasses import replace
from math import ceil, prod

from aboard.ir import Node
from aboard.kernels.arm_mve import loops
from aboard.kernels.arm_mve.epilogue import HIGH, LOW, EpilogueForm, EpilogueMve
from aboard.kernels.arm_mve.packed_layer import (
    BLOCK,
    MOST_GROUPS,
    MOST_STEP,
    PART,
    RESULTS,
    ImageAxis,
    PackedGeometry,
    Packing,
)
from aboard.kernels.view import View
from aboard.ops.conv2d import attributes, window
from aboard.ops.weighted import INPUT

#: Instructions that read weights of a channel, by what a vector contains, that read its constants for a single
#: rounding, and that move on to the next channel; those of a further line, and those around all channels of a block.
_WEIGHTS = {Packing.FOUR: 4, Packing.ONE: 1, Packing.ONE_AXIS: 4, Packing.PARTS: 4}
_CONSTANTS, _NEXT, _PASS, _BLOCK = 7, 6, 6, 20

#: Instructions of a loop over groups of results, which a single group does without.
_LOOP = 3

#: A column: instructions that read weights and constants of a channel and move on to the next; those of eight results
#: and of four beside their second rounding; those that begin an image whose blocks are one run; and those of its blocks
#: outside of packing, with those of blocks that are not all whole.
_COLUMN_CHANNEL, _COLUMN_EIGHT, _COLUMN_FOUR, _COLUMN_IMAGE, _COLUMN_BLOCK, _COLUMN_LAST = 7, 20, 11, 16, 11, 7

#: Columns whose four channels are packed at once: instructions around a block of channels with its last sixteen pixels,
#: and those of sixteen pixels before; pixels of a load for each of four channels.
_COLUMN_FEW, _EVERY_FOURTH, _SIXTEEN = 27, 13, 16

#: Loads of pixels for eight results of one line.
_LOADS = {Packing.FOUR: 4, Packing.ONE: 8, Packing.ONE_AXIS: 2}

#: Instructions in C around the packing of a strip, and of a line whose pixels follow each other in words.
_STRIP, _NEAR = 60, 12

#: Instructions around the packing of lines together: in a loop over pixels of sixteen channels, in a loop over four
#: pixels of four channels, and in a block of these.
_COLUMN, _FEW_COLUMN, _FEW_BLOCK = 2, 6, 25

#: Instructions that pack a vector of four pixels: with literal steps, and in general.
_STEPS, _PACK = 9, 14

#: Sixteen channels at once: instructions of a first tap of a group with the sums of the group, of a further tap, of the
#: biases and the end of a vector, of a row of a block; of a copied pixel and of one that is padding.
_GROUP, _TAP, _VECTOR, _ROW, _COPIED, _PADDING = 12, 7, 14, 24, 6, 2

#: Instructions that scale four sums, with loads of their constants.
_SCALED = {EpilogueForm.SINGLE: 4, EpilogueForm.DOUBLE_RIGHT: 8, EpilogueForm.DOUBLE: 10, EpilogueForm.PRODUCTS: 5}

#: The same for eight sums of packed pixels, which are narrowed to 16 bits, without loads.
_NARROWED = {EpilogueForm.SINGLE: 2, EpilogueForm.DOUBLE_RIGHT: 7, EpilogueForm.PRODUCTS: 5}

#: The same in columns, which add the constant of a single rounding by itself; and for four sums.
_COLUMN_NARROWED = {EpilogueForm.SINGLE: (4, 2), EpilogueForm.DOUBLE_RIGHT: (7, 4), EpilogueForm.PRODUCTS: (5, 3)}


def saved_by_column(found: PackedGeometry, result: EpilogueMve) -> int:
    """Returns the instructions of a channel that its groups of results do not take without a loop."""
    return _of_channel(found, result, pairs=False) - _of_column_channel(found, result)


def _of_column_channel(found: PackedGeometry, result: EpilogueMve) -> int:
    """Returns the instructions of a channel of a column without a loop over its groups of results."""
    whole, rest = divmod(found.along.outputs, RESULTS)
    half = 0 < rest <= RESULTS // 2
    (eight, four), limits = _COLUMN_NARROWED[result.form], _limits(result)
    groups = (whole + (rest > 0 and not half)) * (_COLUMN_EIGHT + eight + limits)
    groups += half * (_COLUMN_FOUR + four + limits) + (rest > 0)
    return _COLUMN_CHANNEL + groups + (found.groups(1) == MOST_GROUPS)


def _of_column(x: View, found: PackedGeometry, result: EpilogueMve, words: int) -> int:
    """Returns the instructions of an image of one column whose blocks of channels are packed in the same run."""
    if words < BLOCK:
        packed = x.channels // words * _few_in_column(found)
        return x.channels * _of_column_channel(found, result) + packed + _COLUMN_IMAGE
    blocks, last = ceil(x.channels / BLOCK), x.channels % BLOCK
    packed = _STEPS * ceil(found.along.inputs / 4) + _COLUMN_BLOCK
    if last:
        packed += found.along.inputs // 4 + found.along.inputs % 4 + _COLUMN_LAST
    return x.channels * _of_column_channel(found, result) + blocks * packed + _COLUMN_IMAGE


def _few_in_column(found: PackedGeometry) -> int:
    """Returns the instructions that pack four channels of a column, with those around a block of channels."""
    before, missing = ceil(found.along.inputs / 4) * 4 - _SIXTEEN, -found.along.inputs % 4
    left = missing + (2 + 2 * (found.along.outputs % RESULTS > 0) if missing else 0)
    return _COLUMN_FEW + left + (2 + _EVERY_FOURTH * ceil(before / _SIXTEEN) if before else 0)


def of_packed(
    node: Node,
    x: View,
    found: PackedGeometry,
    result: EpilogueMve,
    words: int,
    *,
    column: bool,
    pairs: bool,
    columns: bool,
    near: bool,
) -> int:
    """Returns the work of a channel at a time with packed pixels, for whole images.

    Args:
        node: A depthwise convolution.
        x: View of its operand.
        found: The geometry of its pixels.
        result: The epilogue of its sums.
        words: Words per place of a strip.
        column: True if groups of results have no loop.
        pairs: True if a loop computes two groups of results.
        columns: True if all lines across are packed together.
        near: True if loads advance their address from pixel to pixel of the form ONE_AXIS.
    """
    images, channels = node.output.shape[0], node.output.shape[3]
    if column and near and channels == x.channels:
        return loops.UNIT * images * _of_column(x, found, result, words)
    blocks = ceil(x.channels / words)
    # With a multiplier, instructions run over the results of a channel.
    runs = (blocks if channels == x.channels else x.channels) * _runs(found)
    channel = _of_channel(found, result, pairs=pairs) - (saved_by_column(found, result) if column else 0)
    computed = channels * channel + runs * _BLOCK
    pixels = min(found.along.inputs, found.places - found.along.pad)
    if columns:
        each = min(found.across.inputs, 8 - found.across.pad) + 4 * found.passes
        few = ceil(pixels / 4) * (each + _FEW_COLUMN) + _FEW_BLOCK
        packed = pixels * (each + _COLUMN) if words == BLOCK else few
    elif found.packing is Packing.ONE_AXIS:
        vector, strip = (_STEPS, _NEAR) if near else (_PACK, _STRIP)
        packed = found.across.outputs * (vector * ceil(found.along.inputs / 4) + strip)
    else:
        literal = _has_literal_steps(found, x, words, pixels)
        packed = _packed(found, ceil(pixels * words / BLOCK), literal=literal)
    return loops.UNIT * images * (computed + blocks * packed)


def of_stripes(
    node: Node, x: View, found: PackedGeometry, result: EpilogueMve, words: int, rows: int, *, pairs: bool
) -> int:
    """Returns the work of an image in stripes of some rows.

    Args:
        node: A depthwise convolution.
        x: View of its operand.
        found: The geometry of its pixels in stripes: lines across are rows, and are packed as they are needed.
        result: The epilogue of its sums.
        words: Words per place of a strip.
        rows: Rows of a stripe.
        pairs: True if a loop computes two groups of results.
    """
    stripes, last = divmod(found.across.outputs, rows)
    heights = [(stripes, rows), *([(1, last)] if last else [])]
    return sum(
        count * _of_stripe(node, x, _lower(found, height), result, words, pairs=pairs) for count, height in heights
    )


def _lower(found: PackedGeometry, rows: int) -> PackedGeometry:
    return replace(found, across=replace(found.across, outputs=rows))


def _of_stripe(node: Node, x: View, found: PackedGeometry, result: EpilogueMve, words: int, *, pairs: bool) -> int:
    """Returns the work of a stripe, whose geometry has the rows of it."""
    channels, blocks = node.output.shape[3], ceil(x.channels / words)
    runs = (blocks if channels == x.channels else x.channels) * _runs(found)
    computed = channels * _of_channel(found, result, pairs=pairs) + runs * _BLOCK
    pixels = min(found.along.inputs, found.places - found.along.pad)
    return loops.UNIT * (computed + blocks * _packed(found, ceil(pixels * words / BLOCK), literal=False))


def _of_channel(found: PackedGeometry, result: EpilogueMve, *, pairs: bool) -> int:
    """Returns the instructions of a channel of an image whose pixels are packed."""
    passes, single = divmod(found.across.outputs, found.lines)
    begin, along = _WEIGHTS[found.packing] + _CONSTANTS * result.is_single + _NEXT, found.along.outputs
    two, one = (_group(found, result, lines, pairs=pairs) for lines in (found.lines, 1))
    if found.shared:
        left = ceil(found.members * (along % 4) / 4)
        return begin + along // 4 * passes * two + along // 8 * single * one + left * two + _PASS * passes
    groups = passes * found.groups(found.lines) * two + single * found.groups(1) * one
    groups -= passes * _LOOP * (along // (8 // found.lines) == 1)
    joined = found.joined and passes > 1
    return groups + begin * ((1 if joined else passes) + single) + (_PASS * passes if joined else 0)


def _runs(found: PackedGeometry) -> int:
    """Returns how often instructions run over all channels of a block."""
    passes, single = divmod(found.across.outputs, found.lines)
    return 1 if found.shared else (min(passes, 1) if found.joined else passes) + single


def _group(found: PackedGeometry, result: EpilogueMve, lines: int, *, pairs: bool) -> int:
    """Returns the instructions of eight results of one line or two."""
    end = 4 + 2 + _NARROWED[result.form] + 1 + _limits(result) + 2 + (1 if pairs else 2)
    if found.packing is Packing.PARTS:
        parts = prod(found.parts)
        return end + parts * PART - 1 + max(parts - 4, 0) + (5 if result.is_single else 3)
    loads = 2 if found.packing is Packing.FOUR and lines == 2 else _LOADS[found.packing]
    full = found.packing is Packing.ONE_AXIS or loads == 2
    begin = 1 + (full or found.shared) if result.is_single else 3
    return end + begin + loads + 8


def _limits(result: EpilogueMve) -> int:
    """Returns the instructions that keep eight results within the limits."""
    return 3 * ((result.params["low"] != LOW) + (result.params["high"] != HIGH))


def _has_literal_steps(found: PackedGeometry, x: View, words: int, pixels: int) -> bool:
    """True if whole vectors of the operand are packed, whose steps are literals."""
    if words < min(x.channels, BLOCK):
        return False
    if words < BLOCK:
        return pixels * words % BLOCK == 0
    return (x.row_stride, x.pixel_stride)[found.along.number] <= MOST_STEP and x.channels % BLOCK == 0


def _packed(found: PackedGeometry, vectors: int, *, literal: bool) -> int:
    """Returns the instructions that pack the strips of a block of channels, `vectors` in each."""
    across = found.across
    firsts = [line + 4 * part * across.dilation for line in _firsts(found) for part in range(found.parts[0])]
    inside = sum(_is_inside(across, first) for first in firsts) if literal else 0
    return vectors * (_STEPS * inside + _PACK * (len(firsts) - inside)) + _STRIP * len(firsts)


def _firsts(found: PackedGeometry) -> range:
    """Returns the first pixel across of all lines whose strips are packed."""
    across = found.across
    step = (found.lines if found.packing is Packing.FOUR else 1) * across.stride
    return range(-across.pad, across.outputs * across.stride - across.pad, step)


def _is_inside(across: ImageAxis, first: int) -> bool:
    """True if four pixels from `first` on are inside of the image."""
    return first >= 0 and first + 3 * across.dilation < across.inputs


def of_sixteen(node: Node, x: View, pixel: int, group: int, cols: int, result: EpilogueMve) -> int:
    """Returns the work of sixteen channels of a pixel at once.

    Args:
        node: A depthwise convolution.
        x: View of its operand.
        pixel: Bytes of a pixel in the line buffer.
        group: Taps that are summed in 16 bits.
        cols: Pixels of a row of the line buffer.
        result: The epilogue of its sums.
    """
    (images, rows, width, channels), (height, taps) = node.output.shape, window(node)
    taps *= height
    groups, blocks = ceil(taps / group), ceil(channels / BLOCK)
    vector = _VECTOR + groups * _GROUP + (taps - groups) * _TAP + 4 * _SCALED[result.form]
    kept = max(height - attributes(node).strides[0], 0)
    pixels = min(node.input(INPUT).shape[2], cols - attributes(node).padding.left)
    copied = loops.copied_looped(pixels * pixel) if x.pixel_stride == pixel else _COPIED * pixels
    line = copied + _PADDING * (cols - pixels)
    vectors = rows * (ceil(width * pixel / BLOCK) * vector + _ROW)
    return loops.UNIT * images * blocks * (vectors + (height + (rows - 1) * (height - kept)) * line)
