"""The work of the loops of depthwise convolutions with Helium (`KernelCall.loops`)."""

from __future__ import annotations

from math import ceil, prod

from aboard.ir import Node
from aboard.kernels.arm_mve import loops
from aboard.kernels.arm_mve.epilogue import HIGH, LOW, EpilogueForm, EpilogueMve
from aboard.kernels.arm_mve.packed_layer import BLOCK, MOST_STEP, PART, ImageAxis, PackedGeometry, Packing
from aboard.kernels.view import View
from aboard.ops.conv2d import attributes, window
from aboard.ops.weighted import INPUT

#: Instructions that read weights and constants of a channel, by what a vector contains, and those of a further line.
_BEGIN = {Packing.FOUR: 12, Packing.ONE: 9, Packing.ONE_AXIS: 12, Packing.PARTS: 8}
_PASS = 7

#: Loads of pixels for eight results of one line.
_LOADS = {Packing.FOUR: 4, Packing.ONE: 8, Packing.ONE_AXIS: 2}

#: Instructions in C around a channel's assembly, and around the packing of a strip.
_CHANNEL, _STRIP = 6, 60

#: Instructions around the packing of lines together: in a loop over pixels of sixteen channels, in a loop over four
#: pixels of four channels, and in a block of these.
_COLUMN, _FEW_COLUMN, _FEW_BLOCK = 2, 6, 25

#: Instructions that pack a vector of four pixels: with literal steps, and in general.
_STEPS, _PACK = 9, 14

#: Sixteen channels at once: instructions of a first tap of a group with the sums of the group, of a further tap, of the
#: biases and the end of a vector, of a row of a block; of a copied pixel and of one that is padding.
_GROUP, _TAP, _VECTOR, _ROW, _COPIED, _PADDING = 12, 7, 14, 24, 6, 2

#: Instructions that scale four sums, with loads of their constants.
_SCALED = {EpilogueForm.SINGLE: 4, EpilogueForm.DOUBLE_RIGHT: 8, EpilogueForm.DOUBLE: 10}


def of_packed(
    node: Node, x: View, found: PackedGeometry, result: EpilogueMve, words: int, *, pairs: bool, columns: bool
) -> int:
    """Returns the work of a channel at a time with packed pixels, for whole images.

    Args:
        node: A depthwise convolution.
        x: View of its operand.
        found: The geometry of its pixels.
        result: The epilogue of its sums.
        words: Words per place of a strip.
        pairs: True if a loop computes two groups of results.
        columns: True if all lines across are packed together.
    """
    images, channels = node.output.shape[0], node.output.shape[3]
    blocks = ceil(x.channels / words)
    computed = channels * _of_channel(found, result, pairs=pairs)
    pixels = min(found.along.inputs, found.places - found.along.pad)
    if columns:
        each = min(found.across.inputs, 8 - found.across.pad) + 4 * found.passes
        few = ceil(pixels / 4) * (each + _FEW_COLUMN) + _FEW_BLOCK
        packed = pixels * (each + _COLUMN) if words == BLOCK else few
    elif found.packing is Packing.ONE_AXIS:
        packed = found.across.outputs * (_PACK * ceil(found.along.inputs / 4) + _STRIP)
    else:
        packed = _packed(found, x, ceil(pixels * words / BLOCK), words, whole=pixels * words % BLOCK == 0)
    return loops.UNIT * images * (computed + blocks * packed)


def _of_channel(found: PackedGeometry, result: EpilogueMve, *, pairs: bool) -> int:
    """Returns the instructions of a channel of an image whose pixels are packed."""
    passes, single = divmod(found.across.outputs, found.lines)
    begin, along = _BEGIN[found.packing], found.along.outputs
    two, one = (_group(found, result, lines, pairs=pairs) for lines in (found.lines, 1))
    if found.shared:
        left = ceil(found.members * (along % 4) / 4)
        return begin + along // 4 * passes * two + along // 8 * single * one + left * two + _PASS * passes + _CHANNEL
    groups = passes * found.groups(found.lines) * two + single * found.groups(1) * one
    joined = found.packing is Packing.ONE or (found.packing is Packing.FOUR and result.is_single)
    if joined and found.whole and passes > 1:
        return groups + begin + _PASS * passes + single * begin + (1 + single) * _CHANNEL
    return groups + (passes + single) * (begin + _CHANNEL)


def _group(found: PackedGeometry, result: EpilogueMve, lines: int, *, pairs: bool) -> int:
    """Returns the instructions of eight results of one line or two."""
    limits = 3 * ((result.params["low"] != LOW) + (result.params["high"] != HIGH))
    end = 4 + 2 + (2 if result.is_single else 9) + 1 + limits + 2 + (1 if pairs else 2)
    if found.packing is Packing.PARTS:
        parts = prod(found.parts)
        return end + parts * PART - 1 + max(parts - 4, 0) + (6 if result.is_single else 4)
    loads = 2 if found.packing is Packing.FOUR and lines == 2 else _LOADS[found.packing]
    full = found.packing is Packing.ONE_AXIS or loads == 2
    return end + 1 + loads + 8 + (1 if result.is_single and (full or found.shared) else 0)


def _packed(found: PackedGeometry, x: View, vectors: int, words: int, *, whole: bool) -> int:
    """Returns the instructions that pack the strips of a block of channels, `vectors` in each."""
    across = found.across
    several = words < BLOCK
    step = BLOCK if several else (x.row_stride, x.pixel_stride)[found.along.number]
    literal = step <= MOST_STEP and (whole if several else x.channels % BLOCK == 0)
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
