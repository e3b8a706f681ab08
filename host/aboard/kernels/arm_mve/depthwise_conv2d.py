"""depthwise_conv2d of int8 with Helium."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace

import numpy as np
from typing_extensions import Self, override

from aboard.ir import Array, Node
from aboard.ir.fingerprint import once_for_equal_nodes
from aboard.kernels import weights as packing
from aboard.kernels.arm_mve import depthwise_loops, packed_stripes
from aboard.kernels.arm_mve import depthwise_packed as packed
from aboard.kernels.arm_mve import packed_words as records
from aboard.kernels.arm_mve.epilogue import LANES, EpilogueForm, EpilogueMve, epilogue, refusal
from aboard.kernels.arm_mve.packed_layer import MOST_WHOLE_BYTES, PackedGeometry, Packing
from aboard.kernels.contract import (
    ConstantArg,
    Implementation,
    InputArg,
    KernelCall,
    OutputArg,
    PackedConstant,
    RowWise,
    Scratch,
    ScratchArg,
)
from aboard.kernels.overlap import Reads, distance
from aboard.kernels.registry import implements
from aboard.kernels.select.price import flash_price
from aboard.kernels.view import Literal, View
from aboard.kernels.weights import padded
from aboard.kernels.windowed import sliding_window
from aboard.ops import depthwise_conv2d as op
from aboard.ops.conv2d import attributes, window
from aboard.ops.weighted import INPUT, Precision
from aboard.target import Knob, Target

HEADER = "arm_mve/depthwise_conv2d.h"

#: ABOARD_DEPTHWISE_MVE_BLOCK and ABOARD_DEPTHWISE_MVE_ROWS of the kernel.
BLOCK, ROWS = 16, 16

#: Widest window within the address offset of loads; and most taps, because all are unrolled.
COLS, TAPS = 8, 32

#: Order of a block's channels after widening: every fourth from 0, from 2, from 1 and from 3.
ORDER = np.array([start + step for start in (0, 2, 1, 3) for step in range(0, BLOCK, LANES)])

#: Value of the knob `form` for sixteen channels at once.
_SIXTEEN = "sixteen_channels"

#: Largest pixel that operand and result are aligned to: a larger one would cost the arena more than it saves.
_LARGEST_PIXEL = 256

#: Largest sum of absolute weights whose products with any int8 fit 16 bits.
_MAX_WEIGHTS = 255


def group(matrix: Array) -> int:
    """Returns how many neighbouring taps of weights [channels, taps] can be summed in 16 bits: 1, 2, 3 and so on."""
    sizes = np.abs(matrix.astype(np.int64))
    taps = sizes.shape[1]
    for count in range(taps, 1, -1):
        starts = np.arange(0, taps, count)
        if np.add.reduceat(sizes, starts, axis=1).max() <= _MAX_WEIGHTS:
            return int(count)
    return 1


def pixel_bytes(node: Node, y: View) -> int:
    """Returns the bytes of a pixel in the line buffer: 16, or fewer if a vector holds several pixels."""
    several = y.channels in (1, 2, 4, 8) and attributes(node).strides[1] == 1 and y.pixel_stride == y.channels
    return y.channels if several else BLOCK


def _tiled(values: Array, pixel: int) -> Array:
    """Returns per-channel values [channels, ...], repeated for each pixel of a vector, up to a multiple of a block."""
    return padded(np.concatenate([values] * (BLOCK // pixel)), BLOCK)


@implements
class MveS8(Implementation):
    """int8: sixteen channels at once, sums of neighbouring taps in 16 bits."""

    op = "depthwise_conv2d"
    name = "arm_mve_s8"
    exact = True
    prices_code = True
    keys = frozenset({"arm_mve"})
    strided = True

    @override
    def refuses(self, node: Node, target: Target) -> str | None:
        reason = packing.refusal(node, Precision.INT8, op.AXIS)
        reason = reason or refusal(node, attributes(node).activation, op.AXIS)
        if reason is not None or _chosen(node) is not None:
            return reason
        if _sixteen_at_once(node):
            return None
        if _epilogue(node).form is EpilogueForm.DOUBLE:
            few = f"at most {ROWS} rows, {COLS} columns and {TAPS} taps, without dilation and depth multiplier"
            return f"is for windows of {few}, where a sum is multiplied by 1 or more"
        return (
            f"is for windows of at most {packed.MOST_PARTS} times 4x4 taps, and strides of at most {packed.MOST_STRIDE}"
        )

    @override
    def knobs(self, node: Node, target: Target) -> tuple[Knob, ...]:
        own, found = _chosen(node), _possible(node)
        names = [
            _SIXTEEN if own is None else own.name,
            *([_SIXTEEN] if _sixteen_at_once(node) else []),
            *(g.name for g in found),
        ]
        together = [BLOCK] if own is None or self.in_less_scratch(node) is None else [BLOCK, packed.FEW]
        by_rows = [g for g in found if g.across.number == 0 and g.whole_bytes <= MOST_WHOLE_BYTES]
        parts = int(not by_rows[0].whole) if by_rows else 0
        return (
            Knob("form", tuple(dict.fromkeys(names)), "Sixteen channels at once, or how pixels are packed in words."),
            Knob(
                "in_parts",
                (parts, 1 - parts) if by_rows else (0,),
                "Lines are copied as needed, not all together.",
            ),
            Knob("packed", tuple(together), "Channels whose pixels are packed together; fewer need less scratch."),
        )

    @override
    def in_less_scratch(self, node: Node) -> Self | None:
        """Four channels are packed together instead of sixteen."""
        found, x = self._chosen(node), View.whole(node.input(INPUT).shape, 1)
        if found is None or packed.words(found, x, few=True) != packed.FEW or self._packs_few:
            return None
        if found.packing is Packing.ONE_AXIS and op.depth_multiplier(node) != 1:
            return None
        return self.at(replace(self.tuned, values={**self.tuned.values, "packed": packed.FEW}))

    @property
    def _packs_few(self) -> bool:
        return self.knob("packed", BLOCK) == packed.FEW

    def _chosen(self, node: Node) -> PackedGeometry | None:
        """Returns the geometry of packed pixels; None for sixteen channels at once."""
        form = self.tuned.values.get("form")
        if form == _SIXTEEN:
            return None
        named = (g for g in _possible(node) if g.name == form)
        found = _chosen(node) if form is None else next(named)
        in_parts = self.tuned.values.get("in_parts")
        if found is None or in_parts is None or found.across.number == 1:
            return found
        return replace(found, in_parts=bool(in_parts) or found.whole_bytes > MOST_WHOLE_BYTES)

    @override
    def runs_in_place(self, node: Node) -> tuple[tuple[int, int], ...]:
        """Allowed if the line buffer holds a whole image: a block of channels is copied before results are written."""
        found = self._chosen(node)
        same = node.input(INPUT).shape == node.output.shape
        return ((0, 0),) if found is not None and found.whole and same else ()

    @override
    def overlap(self, node: Node, inputs: Sequence[View | None], outputs: Sequence[View]) -> int | None:
        """Blocks of rows are read and written alternately; or whole images, one block of channels after another."""
        x, y = packing.view(inputs), outputs[0]
        found = self._geometry(node, x, y)
        rows = 1
        if found is not None:
            if found.whole:
                return self._over_pixels(node, x, y)
            rows = found.lines
        below = distance(sliding_window(node), x, y, Reads.ROW)
        return None if below is None else below + (rows - 1) * y.row_stride

    def _over_pixels(self, node: Node, x: View, y: View) -> int | None:
        """Returns 0 if pixels of the result lie exactly over pixels of the operand, None if they may lie across."""
        together = all(view.contiguous and view.pixel_stride == _pixel(node) for view in (x, y))
        return 0 if together else None

    @override
    def alignment(self, node: Node) -> int:
        """Where results are aligned to pixels, those of a block of channels overwrite pixels of that block alone."""
        found = self._chosen(node)
        return max(self.align, _pixel(node)) if found is not None and found.whole else self.align

    @override
    def row_wise(self, node: Node) -> RowWise | None:
        """Sixteen channels at once keep a line buffer; packed pixels are copied again for each stripe."""
        if self._chosen(node) is None:
            return RowWise(keeps=True)
        if self._keeps_rows(node):
            return RowWise(packed_stripes.ROWS, keeps=True, overwrites=True)
        striped = packed.in_stripes(node, View.whole(node.output.shape, 1))
        return None if striped is None else RowWise(striped.lines)

    @override
    def growth(self, node: Node, rows: int) -> float:
        found, striped = self._chosen(node), packed.in_stripes(node, View.whole(node.output.shape, 1))
        if found is None or striped is None:
            return 1.0
        x, result = View.whole(node.input(INPUT).shape, 1), _epilogue(node)
        if self._keeps_rows(node):
            work = packed_stripes.work(found, x, rows, result)
        else:
            words = packed.words(striped, x, few=self._packs_few)
            work = depthwise_loops.of_stripes(node, x, striped, result, words, rows, pairs=False)
        return work / self._loops(node, x, striped, result, pairs=False)

    def _keeps_rows(self, node: Node) -> bool:
        """True if stripes pack columns, and keep the rows that the next stripe reads again."""
        found = self._chosen(node) if self._packs_few else None
        return found is not None and packed_stripes.fits(node, found)

    @override
    def overwrites_rows(self, node: Node) -> tuple[int, ...]:
        """Stripes that pack columns have copied a block of channels before its results are written."""
        same = node.input(INPUT).shape == node.output.shape
        return (INPUT,) if same and self._keeps_rows(node) else super().overwrites_rows(node)

    def _geometry(self, node: Node, x: View, y: View) -> PackedGeometry | None:
        """Returns the geometry of packed pixels for two views; None for sixteen channels at once."""
        found = self._chosen(node)
        if found is None:
            return None
        fitting = packed.in_stripes(node, y) if _in_stripes(x, y) else packed.viewed(node, found, y)
        if fitting is None:
            raise ValueError(f"{node.name}: results lie too far apart, {y}")
        return fitting

    @override
    def lower(self, node: Node, inputs: Sequence[View | None], outputs: Sequence[View], target: Target) -> KernelCall:
        x, y = packing.view(inputs), outputs[0]
        matrix, result = packing.matrix(node, op.AXIS), _epilogue(node)
        found = self._geometry(node, x, y)
        if found is None:
            return _channels_at_once(node, x, y, matrix, result)
        stripes = _in_stripes(x, y)
        chosen = self._chosen(node)
        if chosen is not None and y.stripe_height > 0 and self._keeps_rows(node):
            work = self._loops(node, x, chosen, result, pairs=False)
            return packed_stripes.lowered(node, x, y, records.pack(chosen, matrix, result), result, work)
        price = flash_price(target, self.inference)
        words = packed.words(found, x, few=self._packs_few)
        # Four channels of a column are packed in the run of instructions that computes them.
        few_in_column = words == packed.FEW and found.packing is Packing.ONE_AXIS and packed.may_be_column(found, y)
        column = not stripes and (few_in_column or packed.in_column(node, found, y, result, price))
        pairs = not column and packed.in_pairs(node, found, price)
        words = words if few_in_column or found.packing is not Packing.ONE_AXIS else BLOCK
        wide = records.is_wide(matrix, result)
        params = packed.params(
            node, found, x, y, result, stripes=stripes, column=column, pairs=pairs, words=words, wide=wide
        )
        scratch = packed.scratch_bytes(found, x, stripes=stripes, words=words)
        return KernelCall(
            header=packed.HEADER,
            function=found.function,
            params_type="aboard_depthwise_packed_mve_t",
            params=params,
            arguments=(
                InputArg(INPUT, "const int8_t *"),
                OutputArg(0, "int8_t *"),
                ConstantArg(records.pack(found, matrix, result)),
                ScratchArg(Scratch(scratch, align=BLOCK), "int8_t *"),
            ),
            rows=y.rows,
            slow_epilogue=not result.is_single,
            loops=self._loops(node, x, found, result, pairs=pairs, column=column),
            step_rows=1 if stripes else y.rows,
            # Parameters are immediates in instructions, so layers cannot share code.
            code_key=repr(params),
        )

    def _loops(
        self, node: Node, x: View, found: PackedGeometry, result: EpilogueMve, *, pairs: bool, column: bool = False
    ) -> int:
        """Returns the work that `growth` is a factor of: of the whole image, if the same function computes it."""
        chosen = self._chosen(node)
        whole = found if chosen is None or chosen.function != found.function else chosen
        columns, near = packed.in_columns(whole, x), packed.is_near(whole, x)
        words = packed.words(whole, x, few=self._packs_few)
        return depthwise_loops.of_packed(
            node, x, whole, result, words, column=column, pairs=pairs, columns=columns, near=near
        )


def _pixel(node: Node) -> int:
    """Returns the bytes of a pixel of operand and result if an arena can align both to it, else 0."""
    operand, pixel = node.input(INPUT).shape, node.output.shape[3]
    shrinks = operand[3] == pixel and math.prod(operand[:3]) > math.prod(node.output.shape[:3])
    return pixel if shrinks and pixel <= _LARGEST_PIXEL and pixel & (pixel - 1) == 0 else 0


def _in_stripes(*views: View) -> bool:
    """True if rows are computed in stripes, or rows of the operand or the result are in a rolling buffer."""
    return any(view.stripe_height > 0 or view.buffer_rows < view.rows for view in views)


@once_for_equal_nodes(1 << 12)
def _epilogue(node: Node) -> EpilogueMve:
    matrix = packing.matrix(node, op.AXIS)
    return epilogue(node, matrix, packing.bias(node), attributes(node).activation, op.AXIS)


def _sixteen_at_once(node: Node) -> bool:
    """True if sixteen channels can be computed at once."""
    (height, width), attrs = window(node), attributes(node)
    few_taps = height <= ROWS and width <= COLS and height * width <= TAPS
    return few_taps and attrs.dilations == (1, 1) and op.depth_multiplier(node) == 1


@once_for_equal_nodes(1 << 12)
def _possible(node: Node) -> tuple[PackedGeometry, ...]:
    return tuple(packed.possible(node, _epilogue(node)))


@once_for_equal_nodes(1 << 12)
def _chosen(node: Node) -> PackedGeometry | None:
    return packed.chosen(node, _epilogue(node), alone=not _sixteen_at_once(node))


def _channels_at_once(node: Node, x: View, y: View, matrix: Array, result: EpilogueMve) -> KernelCall:
    """Returns the call that computes sixteen channels of a pixel at once."""
    pixel = pixel_bytes(node, y)
    taps = group(matrix)
    params = _params(node, x, y, pixel, taps, result)
    weights = _tiled(matrix, pixel).reshape(-1, BLOCK, matrix.shape[1]).swapaxes(1, 2)
    tiled = EpilogueMve(result.form, _tiled(result.rows.T, pixel).T, result.params)
    line_buffer = len(weights) * window(node)[0] * (_line_buffer_cols(node) * pixel + BLOCK - pixel)
    return KernelCall(
        header=HEADER,
        function="aboard_depthwise_conv2d_mve",
        params_type="aboard_depthwise_conv2d_mve_t",
        params=params,
        arguments=(
            InputArg(INPUT, "const int8_t *"),
            OutputArg(0, "int8_t *"),
            ConstantArg(PackedConstant("weights", np.ascontiguousarray(weights), align=BLOCK)),
            ConstantArg(PackedConstant("constants", tiled.blocks(BLOCK, ORDER), align=BLOCK)),
            ScratchArg(Scratch(line_buffer, align=BLOCK, persistent=True), "int8_t *"),
        ),
        rows=y.rows,
        slow_epilogue=not result.is_single,
        loops=depthwise_loops.of_sixteen(node, x, pixel, taps, _line_buffer_cols(node), result),
        # Parameters are immediates in instructions, so layers cannot share code.
        code_key=repr(params),
    )


def _line_buffer_cols(node: Node) -> int:
    return (node.output.shape[2] - 1) * attributes(node).strides[1] + window(node)[1]


def _params(node: Node, x: View, y: View, pixel: int, taps: int, result: EpilogueMve) -> dict[str, Literal]:
    attrs = attributes(node)
    height, width = window(node)
    return {
        "in": x.literal(),
        "out": y.literal(),
        "in_height": node.input(INPUT).shape[1],
        "out_height": node.output.shape[1],
        "window_height": height,
        "window_width": width,
        "stride_h": attrs.strides[0],
        "stride_w": attrs.strides[1],
        "pad_top": attrs.padding.top,
        "pad_left": attrs.padding.left,
        "cols": _line_buffer_cols(node),
        "pixel": pixel,
        "group": taps,
        "zero_point": node.input(INPUT).quant.zero_point,
        "epilogue": result.params,
    }
