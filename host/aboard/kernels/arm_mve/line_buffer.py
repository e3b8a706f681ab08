"""The line buffer of conv2d with Helium: its rows and columns; `arm_mve/line_buffer.h` fills it."""

from __future__ import annotations

from aboard.ir import Node
from aboard.kernels.arm_mve.loops import CHUNK
from aboard.kernels.view import Literal, View
from aboard.kernels.windowed import groups
from aboard.ops import conv2d as op
from aboard.ops.weighted import INPUT
from aboard.ops.window import reach
from aboard.target import Target

#: Rows of results, beside one, whose windows a line buffer holds, and the share of the operand's rows they may take.
_MORE_LINES, _SHARE_OF_ROWS = 2, 8


def dilations(node: Node) -> tuple[int, int]:
    """Returns the pixels from one tap of a convolution to the next (down, right); 1 where there is one tap."""
    (height, width), (down, right) = op.window(node), op.attributes(node).dilations
    return (down if height > 1 else 1), (right if width > 1 else 1)


def scattered(node: Node) -> bool:
    """True if rows of a window are not contiguous: they have a dilation, or the channels of one of several groups."""
    return groups(node) > 1 or dilations(node)[1] > 1


def line_buffer_cols(node: Node, x: View) -> int:
    """Returns the pixels of a row of the line buffer; 0 if windows are read directly from the input."""
    attrs, apart = op.attributes(node), dilations(node)
    plain = apart == (1, 1) and groups(node) == 1
    if plain and not attrs.padding.any and x.buffer_rows >= x.rows and x.pixel_stride == x.channels:
        return 0
    return (node.output.shape[2] - 1) * attrs.strides[1] + reach(op.window(node)[1], apart[1])


def keeps_lines(node: Node, y: View) -> bool:
    """True if the line buffer keeps its content from one row of results to the next.

    In a cascade the operand's rolling buffer has the rows of a window already, so scratch with the same rows need not
    outlive the call: copying them again costs a few per cent of a convolution.
    """
    return dilations(node)[0] == 1 and y.stripe_height == 0


def lines_at_once(node: Node, x: View, y: View, target: Target) -> int:
    """Returns the rows of results whose windows a line buffer holds at once; 0 if it is filled anew for each.

    With more than one, the rows that windows share are moved less often.
    """
    (height, _), stride = op.window(node), op.attributes(node).strides[0]
    if not keeps_lines(node, y):
        return 0
    # A rolling buffer may lack the rows of further results.
    if stride > height or x.buffer_rows < x.rows or target.opt == "size" or target.ram_max is not None:
        return 1
    # Images of few channels are inputs, where RAM is scarcest, and their rows are short.
    if x.channels % CHUNK:
        return 1
    return 1 + min(_MORE_LINES, node.input(INPUT).shape[1] // (_SHARE_OF_ROWS * stride))


def buffered_rows(node: Node, lines: int) -> int:
    """Returns the rows of a line buffer that holds the windows of so many rows of results, see `lines_at_once`."""
    return op.window(node)[0] + max(lines - 1, 0) * op.attributes(node).strides[0]


def line_buffer(node: Node, x: View, cols: int, lines: int) -> dict[str, Literal]:
    """Returns the fields of `aboard_mve_line_buffer_t` of a conv2d.

    Args:
        node: The node.
        x: View of its operand.
        cols: Pixels of a row of the line buffer; 0 without one.
        lines: See `lines_at_once`.
    """
    attrs, apart = op.attributes(node), dilations(node)
    height, width = op.window(node)
    return {
        "in": x.literal(),
        "in_height": node.input(INPUT).shape[1],
        "out_height": node.output.shape[1],
        "window_height": height,
        "window_width": width,
        "stride_h": attrs.strides[0],
        "stride_w": attrs.strides[1],
        "dilation_h": apart[0],
        "dilation_w": apart[1],
        "groups": groups(node),
        "pad_top": attrs.padding.top,
        "pad_left": attrs.padding.left,
        "cols": cols,
        "keeps": int(lines > 0),
        "lines": max(lines, 1),
        "zero_point": node.input(INPUT).quant.zero_point,
    }


def scratch_bytes(buffer_rows: int, row_bytes: int, column: int) -> int:
    """Returns the bytes of the line buffer, of two im2col columns, and of the bytes that vectors read beyond each."""
    kept = (buffer_rows * row_bytes + 2 * CHUNK - 1) // CHUNK * CHUNK if row_bytes else 0
    return kept + (2 * column + CHUNK if column else 0)
