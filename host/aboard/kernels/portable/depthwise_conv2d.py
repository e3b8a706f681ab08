"""depthwise_conv2d in portable C: int8."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence

import numpy as np
from typing_extensions import override

from aboard.ir import Array, Node
from aboard.ir.numerics import wrap32
from aboard.kernels import weights as packing
from aboard.kernels.contract import (
    ROLLING_ROW_COST,
    ConstantArg,
    InputArg,
    KernelCall,
    OutputArg,
    PackedConstant,
    RowWise,
    Scratch,
    ScratchArg,
)
from aboard.kernels.overlap import Reads
from aboard.kernels.portable.conv2d import shape_params
from aboard.kernels.portable.epilogue import SINGLE_ROUNDING_SHIFT, epilogue
from aboard.kernels.registry import implements
from aboard.kernels.requantisation import requantised_once
from aboard.kernels.select.price import UNROLLED_CODE_PRICE, prices
from aboard.kernels.view import Literal, View
from aboard.kernels.windowed import Windowed
from aboard.ops import depthwise_conv2d as op
from aboard.ops.conv2d import attributes, window
from aboard.ops.weighted import INPUT, Precision
from aboard.ops.window import reach
from aboard.target import Target

#: Largest number of pixels of a row that the int8 kernel computes at once, tap after tap: in a row of one block, and in
#: a longer row, which needs further registers for the step between blocks.
BLOCK, BLOCK_OF_MORE = 6, 4

#: ABOARD_DEPTHWISE_BLOCK and ABOARD_DEPTHWISE_KEPT of the header: likewise input after input, for windows of at most
#: so many taps in a row.
INPUTS_BLOCK, KEPT = 8, 5

#: Inputs from the first to the last of a block, read or not, are fewer: so long is the loop that the header unrolls.
_SPAN = 64

#: Registers for the sums of a block and the weights of a row of taps.
_REGISTERS = 12

#: Instructions of a block outside of its taps, and of a pixel's epilogue (Cortex-M3, counted in the listing); cycles of
#: an instruction there.
_BLOCK_COST, _EPILOGUE_COST, _CYCLES = 18, 8, 1.6

#: Work of a load and of a multiply-accumulate, input after input and tap after tap: the ratios that fit the samples of
#: Cortex-M3 and M4 best, as do those below.
_INPUTS_WORK, _TAPS_WORK = (1.0, 1.0), (0.65, 1.4)

#: Work of a pixel's epilogue, of a block if a row has several, and of a channel of a row.
_RESULT_WORK, _BLOCK_WORK, _CHANNEL_WORK = 2.5, 8, 8

#: Work of a copied row, of each of its bytes, and of each of its pixels where some channels are copied.
_COPIED_ROW_WORK, _COPIED_BYTE_WORK, _COPIED_PIXEL_WORK = 105, 0.5, 27

#: Largest line buffer in bytes: of more channels than fit, some are copied and computed after others.
_BUFFER_BYTES = 2560

#: Parts of the channels are multiples of this number, because copies take whole words.
_WORD = 4

#: Bytes of code of a pixel's epilogue, and of an instruction; rows of a window whose code is not a loop.
_EPILOGUE_BYTES, _INSTRUCTION_BYTES, _ROWS_OF_CODE = 24, 4, 3

#: Bytes of code by which classes of blocks differ.
_CODE_CLASS = 256

#: ABOARD_DEPTHWISE_ROWS of the header.
_ADDRESSES = 16

#: `fast` of `epilogue.h` for a single rounding.
SINGLE_ROUNDING = 3


def params_of_shape(node: Node, x: View, y: View) -> Mapping[str, Literal]:
    """Returns the fields of the C struct `aboard_depthwise_conv2d_shape_t`."""
    return {**shape_params(node, x, y), "multiplier": op.depth_multiplier(node)}


def _inputs(node: Node, pixels: int) -> int:
    """Returns the inputs of a row that a number of pixels read."""
    stride, dilation = attributes(node).strides[1], attributes(node).dilations[1]
    return len({j * stride + tap * dilation for j in range(pixels) for tap in range(window(node)[1])})


def by_inputs(node: Node, target: Target | None = None) -> bool:
    """Returns whether rows of taps are computed input after input.

    That pays if pixels share inputs, and the weights fit in the registers, of which Thumb-1 has eight.
    """
    width, stride, dilation = window(node)[1], attributes(node).strides[1], attributes(node).dilations[1]
    shared = _inputs(node, INPUTS_BLOCK) < INPUTS_BLOCK * width
    short = (INPUTS_BLOCK - 1) * stride + (width - 1) * dilation < _SPAN
    return shared and short and width <= KEPT and (target is None or "arm_thumb1" not in target.keys)


def _code_variant(node: Node, target: Target) -> str:
    """Returns what sets the size of the code: copies of rows, and the class of the block's size."""
    blocks = -(-block(node, target) * _pixel_bytes(node) // _CODE_CLASS)
    return f"buffered={int(_buffered(node)[1] > 0)} blocks={blocks}"


def block_params(node: Node, target: Target) -> Mapping[str, Literal]:
    """Returns the fields `block` and `by_inputs` of the C struct `aboard_depthwise_conv2d_s8_t`."""
    return {"block": block(node, target), "by_inputs": int(by_inputs(node, target))}


def block(node: Node, target: Target | None = None) -> int:
    """Returns the number of pixels of a row to compute at once: more pixels save instructions and cost code."""
    cols = node.output.shape[2]
    if by_inputs(node, target):
        most = min(INPUTS_BLOCK, _REGISTERS - window(node)[1])
    else:
        most = BLOCK if cols <= BLOCK else BLOCK_OF_MORE

    price = UNROLLED_CODE_PRICE if target is None else min(prices(target).flash, UNROLLED_CODE_PRICE)
    (height, width), rows = window(node), math.prod(node.output.shape) // cols

    def cost(pixels: int) -> float:
        taps = height * (_inputs(node, pixels) + width + pixels * width)
        instructions = rows * -(-cols // pixels) * (taps + pixels * _EPILOGUE_COST + _BLOCK_COST)
        return _CYCLES * instructions + pixels * _pixel_bytes(node) * price

    return min(range(1, min(cols, most) + 1), key=cost)


def _pixel_bytes(node: Node) -> int:
    """Returns the bytes of code of each pixel of a block."""
    height, width = window(node)
    row = width + min(width, attributes(node).strides[1])
    return _EPILOGUE_BYTES + _INSTRUCTION_BYTES * min(height, _ROWS_OF_CODE) * row


def _loops(node: Node, target: Target) -> int:
    """Returns the work of the loops: blocks, channels of rows, and padded rows that are copied."""
    (height, width), (images, rows, cols, channels) = window(node), node.output.shape
    load, mac = _INPUTS_WORK if by_inputs(node, target) else _TAPS_WORK
    pixels = block(node, target)
    blocks = -(-cols // pixels)
    taps = height * (load * (_inputs(node, pixels) + width) + mac * width * pixels)
    row = blocks * (taps + _RESULT_WORK * pixels + (_BLOCK_WORK if blocks > 1 else 0)) + _CHANNEL_WORK
    return round(images * (rows * channels * row + _copies(node)))


def _copies(node: Node) -> float:
    """Returns the work of the copied rows of an image."""
    cols, depth = _buffered(node)[1], _part(node)
    if not cols:
        return 0
    copied, inside = _copied_rows(node)
    pixels = inside * node.input(INPUT).shape[2] if _has_parts(node) else 0
    rows = copied * _COPIED_ROW_WORK + inside * cols * depth * _COPIED_BYTE_WORK
    return node.input(INPUT).shape[3] // depth * (rows + _COPIED_PIXEL_WORK * pixels)


def _copied_rows(node: Node) -> tuple[int, int]:
    """Returns the rows that are copied of an image for each part of the channels, and how many are not padding."""
    attrs, height, rows = attributes(node), node.input(INPUT).shape[1], node.output.shape[1]
    depth, strip = _buffered(node)[0], _strip(node) if _has_parts(node) else rows
    copied = inside = 0
    for row in range(rows):
        fresh = depth if row % strip == 0 else min(depth, attrs.strides[0])
        top = row * attrs.strides[0] + depth - fresh - attrs.padding.top
        copied += fresh
        inside += max(min(top + fresh, height) - max(top, 0), 0)
    return copied, inside


@implements
class PortableS8(Windowed):
    """int8: several pixels of a row at once; padded rows in a line buffer in scratch."""

    op = "depthwise_conv2d"
    name = "portable_s8"
    exact = True
    by_rows = True

    @override
    def refuses(self, node: Node, target: Target) -> str | None:
        return packing.refusal(node, Precision.INT8, op.AXIS)

    @override
    def reads(self, node: Node) -> Reads:
        """Rows are copied if there is padding: at once those of all channels, or those of some after others."""
        return Reads.STAGED if _buffered(node)[1] and not _has_parts(node) else Reads.ROW

    @override
    def runs_in_place(self, node: Node) -> tuple[tuple[int, int], ...]:
        """Allowed for strips of the whole image: no results of some channels lie over others."""
        return ((0, 0),) if _has_parts(node) and _strip(node) > 1 else ()

    @override
    def overlap(self, node: Node, inputs: Sequence[View | None], outputs: Sequence[View]) -> int | None:
        """Other channels of a strip are read when the results of the first are written."""
        return None if _has_parts(node) and _strip(node) > 1 else super().overlap(node, inputs, outputs)

    @override
    def rolling_cost(self, node: Node) -> float:
        """Finds rows once for all channels of a row, and loads their addresses again for each block and channel."""
        height, _ = window(node)
        if height > _ADDRESSES:
            return super().rolling_cost(node)
        _, rows, cols, channels = node.output.shape
        blocks = channels * -(-cols // block(node))
        return rows * height * (ROLLING_ROW_COST + 2 * blocks)

    @override
    def row_wise(self, node: Node) -> RowWise:
        """As many rows as a convolution before it computes at once; keeps the copied rows of all channels."""
        return RowWise(1 + node.input(INPUT).shape[2] % 2, keeps=_buffered(node)[0] > 0 and not _has_parts(node))

    @override
    def lower(self, node: Node, inputs: Sequence[View | None], outputs: Sequence[View], target: Target) -> KernelCall:
        x, y = packing.view(inputs), outputs[0]
        stream, constants, params_of_epilogue = packed(node)
        buffered_rows, buffered_cols = _buffered(node)
        params: dict[str, Literal] = {
            "shape": params_of_shape(node, x, y),
            **block_params(node, target),
            "buffered_cols": buffered_cols,
            "buffered_channels": _part(node),
            "strip": _strip(node),
            "zero_point": node.input(INPUT).quant.zero_point,
            "epilogue": params_of_epilogue,
        }
        scratch = Scratch(buffered_rows * buffered_cols * _part(node), persistent=not _has_parts(node))
        return KernelCall(
            header="portable/depthwise_conv2d.h",
            function="aboard_depthwise_conv2d_s8",
            params_type="aboard_depthwise_conv2d_s8_t",
            params=params,
            arguments=(
                InputArg(INPUT, "const int8_t *"),
                OutputArg(0, "int8_t *"),
                ConstantArg(PackedConstant("weights", stream)),
                ConstantArg(PackedConstant("constants", constants)),
                ScratchArg(scratch, "int8_t *"),
            ),
            rows=y.rows,
            code_variant=_code_variant(node, target),
            slow_epilogue=params_of_epilogue["fast"] != SINGLE_ROUNDING,
            loops=_loops(node, target),
            # One shared function for every geometry would be larger than instances for a few.
            code_key=repr(params),
        )


def packed(node: Node) -> tuple[Array, Array, Mapping[str, Literal]]:
    """Returns the weights in the kernel's layout, the constants of each channel, and the shared constants."""
    matrix, bias, activation = packing.matrix(node, op.AXIS), packing.bias(node), attributes(node).activation
    single = requantised_once(node, activation, op.AXIS, SINGLE_ROUNDING_SHIFT)
    if single is not None:
        constants = np.stack([single.bias, single.factor, single.constant], 1)
        low, high = activation.range(node.output.quant)
        shared = {"fast": SINGLE_ROUNDING, "zero_point": node.output.quant.zero_point, "low": low, "high": high}
        return single.weights.astype(np.int8), wrap32(constants).astype(np.int32), shared
    result = epilogue(node, matrix, bias, activation, op.AXIS)
    stream = np.concatenate([matrix, result.shift[:, np.newaxis]], 1).astype(np.int8)
    # Sums start at the bias, which the short form doubles.
    bias = result.bias // 2 if result.fast else result.bias
    return stream, np.stack([bias, result.multiplier], 1).astype(np.int32), result.params


def padded_window(node: Node) -> tuple[int, int]:
    """Returns the rows of a window, and the pixels of a row with its padding in all windows."""
    attrs, (height, width) = attributes(node), window(node)
    cols = (node.output.shape[2] - 1) * attrs.strides[1] + reach(width, attrs.dilations[1])
    return reach(height, attrs.dilations[0]), cols


def _buffered(node: Node) -> tuple[int, int]:
    """Returns rows and columns of the line buffer of padded rows; 0 and 0 without padding."""
    return padded_window(node) if attributes(node).padding.any else (0, 0)


def _part(node: Node) -> int:
    """Returns the channels of the operand whose rows are copied together; all without padding."""
    channels = node.input(INPUT).shape[3]
    most = _BUFFER_BYTES // max(math.prod(_buffered(node)), 1)
    if channels <= most or not _buffered(node)[1]:
        return channels
    parts = (n for n in range(_WORD, channels, _WORD) if channels % n == 0 and n <= max(most, _WORD))
    return max(parts, default=channels)


def _has_parts(node: Node) -> bool:
    """True if some channels are copied and computed after others."""
    return _part(node) < node.input(INPUT).shape[3]


def _strip(node: Node) -> int:
    """Returns the rows that are computed of some channels before others: all if the result may lie over the operand.

    Otherwise one row, so that rows of the operand that are no longer needed may be overwritten.
    """
    return node.output.shape[1] if node.input(INPUT).shape == node.output.shape else 1
