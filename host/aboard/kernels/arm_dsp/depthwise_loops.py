"""The work of the loops of depthwise convolutions in strips with the DSP extension (`KernelCall.loops`).

Figures are cycles of Cortex-M4, fitted to layers whose strips had any height. So the work of two heights compares them.
"""

from __future__ import annotations

from aboard.ir import Node
from aboard.ops.conv2d import attributes, window
from aboard.ops.weighted import INPUT
from aboard.ops.window import reach

#: Line buffers: a strip; a copied row of four channels, and a pixel of it; a channel of a strip for each size of
#: blocks, a block of it, a load of a block's row, and a result.
_STRIP, _COPIED_ROW, _COPIED, _CHANNEL, _BLOCK, _LOAD, _RESULT = 50, 60, 3.5, 72, 26, 8.2, 9.5

#: Rows of a single block: a copied pixel of four channels, a channel of a strip, and a row of so many results.
_NARROW_COPIED, _NARROW_CHANNEL, _NARROW_ROWS = 6, 66, {1: 40, 2: 49.5, 3: 66, 4: 73, 5: 82, 6: 98}

#: A strip of a row or two without line buffers by its stride and rows: the strip, four channels of it, two of their
#: pixels, a result of each row, and a pixel of a row outside of the image.
_FEW_ROWS = {(1, 1): (147, 173, 82, 10.2, 18), (1, 2): (114, 110, 13, 38.4, 13), (2, 1): (224, 228, 17, 27.2, 31)}

#: Packed pixels: a word that is made padding, four channels of a row that is copied, a word of it, a channel of a
#: strip, a group of words of taps, a product of two words, and a result.
_CLEARED, _PACKED_ROW, _PACKED, _PACKED_CHANNEL, _TAPS, _PRODUCT, _PACKED_RESULT = 16, 24, 16, 59, 1, 2.3, 10

#: What a row of a channel in a phase takes longer if its first block is computed in the loop of all blocks; of two
#: blocks with double rounding, whose sums then lie on the stack.
_FIRST_IN_LOOP, _TWO_IN_LOOP = 50, 120

#: ABOARD_DSP_PACKED_TOGETHER of `arm_dsp/packed_taps.h`.
_TOGETHER = 3


def of_line_buffers(node: Node, strip: int, block: int, pixels: int, *, narrow: bool) -> int:
    """Returns the work of strips with line buffers.

    Args:
        node: A depthwise convolution with windows of 3x3.
        strip: Rows of the result per strip.
        block: Results of a block.
        pixels: Pixels that are copied of a row.
        narrow: True if a row is one block, and line buffers hold no padding.
    """
    images, rows, cols, channels = node.output.shape
    strips, fours = -(-rows // strip), channels / 4
    copied = sum(_rows_inside(node, strip)) * fours
    if narrow:
        computed = _NARROW_CHANNEL * strips + rows * _NARROW_ROWS[cols]
        return round(images * (_NARROW_COPIED * copied * pixels + channels * computed))
    blocks, rest = divmod(cols, block)
    sizes = [block] * blocks + [rest] * (rest > 0)
    begun = _CHANNEL * len(set(sizes)) + _BLOCK * len(sizes)
    loads = sum(_loads(size, attributes(node).strides[1]) for size in sizes)
    computed = begun * strips + rows * (_LOAD * loads + _RESULT * cols)
    filled = _STRIP * strips + copied * (_COPIED_ROW + _COPIED * pixels)
    return round(images * (filled + channels * computed))


def _loads(size: int, stride: int) -> int:
    """Returns the words of pixels and of weights that a block loads of a row."""
    return 2 + (size + 1 if stride == 2 else (size + 1) // 2 + 1)


def of_few_rows(node: Node, strip: int) -> int:
    """Returns the work of strips of so many rows without line buffers."""
    images, rows, cols, channels = node.output.shape
    stride = attributes(node).strides[0]
    begun, four, two, result, outside = _FEW_ROWS[stride, strip]
    strips, fours = -(-rows // strip), channels // 4
    missing = strips * _span(node, strip) - sum(_rows_inside(node, strip))
    of_row = four + two * -(-cols // 2) + 4 * result * cols
    return round(images * (strips * (begun + fours * of_row) + outside * missing * fours * cols))


def of_packed(node: Node, strip: int, pairs: int, sums: int, blocks: int) -> int:
    """Returns the work of strips of packed pixels.

    Args:
        node: A depthwise convolution.
        strip: Rows of the result per strip.
        pairs: Words of a channel in a phase of a row.
        sums: Sums of a row of the result in a phase.
        blocks: Blocks of these sums.
    """
    images, rows, cols, channels = node.output.shape
    stride, dilation, (height, width) = attributes(node).strides[1], attributes(node).dilations[1], window(node)
    strips, words = -(-rows // strip), pairs * stride * dilation
    cleared = sum(_span(node, min(strip, rows - first)) for first in range(0, rows, strip))
    copied = sum(_rows_inside(node, strip)) * -(-channels // 4)
    taps = [-(-len(range(phase, width, stride)) // 2) for phase in range(min(stride, width))]
    groups = blocks * sum(-(-count // _TOGETHER) for count in taps)
    row = dilation * height * (_TAPS * groups + _PRODUCT * sums * sum(taps)) + _PACKED_RESULT * cols
    filled = _CLEARED * words * cleared + (_PACKED_ROW + _PACKED * words) * copied
    return round(images * (filled + channels * (_PACKED_CHANNEL * strips + rows * row)))


def first_block_in_loop(node: Node, blocks: int, *, single: bool) -> int:
    """Returns what packed pixels take longer if the first block of a row has no code of its own.

    Args:
        node: A depthwise convolution.
        blocks: Blocks of a row in which every sum has two results.
        single: True for results by a single rounding.
    """
    images, rows, _, channels = node.output.shape
    more = 0 if blocks < 2 else _TWO_IN_LOOP if blocks == 2 and not single else _FIRST_IN_LOOP
    return more * images * rows * channels * attributes(node).dilations[1]


def _span(node: Node, rows: int) -> int:
    """Returns the rows of the operand in the receptive field of rows of the result."""
    attrs = attributes(node)
    return (rows - 1) * attrs.strides[0] + reach(window(node)[0], attrs.dilations[0])


def _rows_inside(node: Node, strip: int) -> list[int]:
    """Returns the rows of the operand that each strip reads."""
    attrs, height, rows = attributes(node), node.input(INPUT).shape[1], node.output.shape[1]
    found = []
    for first in range(0, rows, strip):
        top = first * attrs.strides[0] - attrs.padding.top
        found.append(max(min(top + _span(node, min(strip, rows - first)), height) - max(top, 0), 0))
    return found
