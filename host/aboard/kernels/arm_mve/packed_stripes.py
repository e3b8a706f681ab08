"""depthwise_conv2d of int8 with Helium in stripes of eight rows, for images of few columns: `arm_mve/packed_stripes.h`.

Columns are packed as for the whole image (`depthwise_packed.in_columns`), so that a stripe wastes no results, and four
channels at once. The rows that a stripe shares with the next one are kept, and a stripe may overwrite its operand.
"""

from __future__ import annotations

from aboard.ir import Node
from aboard.kernels.arm_mve import loops
from aboard.kernels.arm_mve.epilogue import HIGH, LOW, EpilogueForm, EpilogueMve
from aboard.kernels.arm_mve.packed_layer import PackedGeometry, Packing
from aboard.kernels.contract import (
    ConstantArg,
    InputArg,
    KernelCall,
    OutputArg,
    PackedConstant,
    Scratch,
    ScratchArg,
)
from aboard.kernels.view import Literal, View
from aboard.ops.conv2d import attributes, window
from aboard.ops.depthwise_conv2d import depth_multiplier
from aboard.ops.weighted import INPUT

HEADER, FUNCTION = "arm_mve/packed_stripes.h", "aboard_depthwise_stripes_mve"

#: ABOARD_DEPTHWISE_STRIPES_ROWS, _CHANNELS and _STRIP, and bytes of a vector.
ROWS, CHANNELS, _STRIP, _VECTOR = 8, 4, 160, 16

#: Most columns with padding before them, most columns of the result, and most bytes from a column to another.
_COLUMNS, _RESULTS, _MOST_APART = 7, 6, 508

#: Largest offset of a result.
_MAX_SCATTER = 0xFFFF

#: Instructions of a block of channels, of four of its rows, and of each of their strips and columns; of a channel; of
#: eight results of two columns, and of a single one.
_BLOCK, _FOUR_ROWS, _WORDS, _CHANNEL, _GROUP, _SINGLE = 33, 4, 4, 18, 22, 24

#: What eight results take more than with a single rounding.
_SECOND = {EpilogueForm.SINGLE: 0, EpilogueForm.DOUBLE_RIGHT: 7, EpilogueForm.PRODUCTS: 4}


def fits(node: Node, found: PackedGeometry) -> bool:
    """True if a layer can be computed so, with tensors that contain nothing else.

    Args:
        node: A depthwise convolution.
        found: The geometry of its pixels for the whole image.
    """
    across, shape = found.across, node.input(INPUT).shape
    columns = across.number == 1 and found.packing is Packing.FOUR
    few = across.pad + across.inputs <= _COLUMNS and across.outputs <= _RESULTS and found.along.taps > 1
    near = (across.inputs - 1) * shape[3] <= _MOST_APART and node.output.type.elements <= _MAX_SCATTER
    whole = shape[0] == 1 and shape[3] % CHANNELS == 0 and depth_multiplier(node) == 1
    return columns and few and near and whole and node.output.shape[1] > ROWS


def work(found: PackedGeometry, x: View, rows: int, result: EpilogueMve) -> int:
    """Returns the work of a layer in stripes of some rows, in the unit of `KernelCall.loops`."""
    whole, last = divmod(found.along.outputs, rows)
    stripes = [(rows, whole)] + ([(last, 1)] if last else [])
    return loops.UNIT * sum(count * _stripe(found, x, height, result) for height, count in stripes)


def _stripe(found: PackedGeometry, x: View, rows: int, result: EpilogueMve) -> int:
    """Returns the instructions of a stripe of some rows; higher ones are cut."""
    if rows > ROWS:
        return _stripe(found, x, ROWS, result) + _stripe(found, x, rows - ROWS, result)
    pairs, single = divmod(found.across.outputs, 2)
    each = 3 * ((result.params["low"] != LOW) + (result.params["high"] != HIGH)) + _SECOND[result.form]
    # Of five and six rows, two strips share the group of the last ones.
    more = 0 if rows <= 4 else pairs - (pairs > 1) if rows <= 6 else pairs
    groups = (pairs + more) * (_GROUP + each) + single * (_SINGLE + each)
    vectors = -(-(rows + found.along.taps - 1) // 4)
    four_rows = _FOUR_ROWS + x.cols + _WORDS * (pairs + single)
    block = _BLOCK + 2 * x.cols + vectors * four_rows + CHANNELS * (_CHANNEL + groups)
    return x.channels // CHANNELS * block


def lowered(node: Node, x: View, y: View, records: PackedConstant, result: EpilogueMve, whole_image: int) -> KernelCall:
    """Returns the call of a layer that `fits`.

    Args:
        node: A depthwise convolution.
        x: View of its operand, which has pixels without gaps.
        y: View of its result, likewise.
        records: Its weights and constants.
        result: The epilogue of its sums.
        whole_image: Work of the loops for the whole image, which growth is a factor of.
    """
    taps, padding = window(node)[0], attributes(node).padding
    params: dict[str, Literal] = {
        "in": x.literal(),
        "out": y.literal(),
        "taps": taps,
        "pad_top": padding.top,
        "pad_left": padding.left,
        "zero_point": node.input(INPUT).quant.zero_point,
        "epilogue": result.params,
    }
    return KernelCall(
        header=HEADER,
        function=FUNCTION,
        params_type="aboard_depthwise_stripes_mve_t",
        params=params,
        arguments=(
            InputArg(INPUT, "const int8_t *"),
            OutputArg(0, "int8_t *"),
            ConstantArg(records),
            ScratchArg(Scratch((taps - 1) * x.cols * x.pixel_stride, persistent=True), "int8_t *"),
            ScratchArg(Scratch((y.cols + 1) // 2 * _STRIP, align=_VECTOR), "int8_t *"),
        ),
        rows=y.rows,
        slow_epilogue=not result.is_single,
        loops=whole_image,
        # Parameters are immediates in instructions, so layers cannot share code.
        code_key=repr(params),
    )
