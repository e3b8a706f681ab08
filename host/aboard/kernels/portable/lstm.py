"""lstm in portable C: int8 and int16 with a cell state of int16, and float32."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np
from typing_extensions import override

from aboard.ir import Array, DType, Node
from aboard.ir.numerics import Int64, reduced_multiplier, wrap32
from aboard.kernels.contract import (
    Argument,
    ConstantArg,
    Implementation,
    InputArg,
    KernelCall,
    OutputArg,
    PackedConstant,
)
from aboard.kernels.portable.epilogue_s16 import CHUNK
from aboard.kernels.registry import implements
from aboard.kernels.view import Literal, View
from aboard.ops import sigmoid_wide
from aboard.ops.lstm import attributes, extents, scaling
from aboard.ops.lstm_steps import BIASES, CELL, GATES, HIDDEN, INPUT, INPUT_WEIGHTS, RECURRENT_WEIGHTS
from aboard.target import Target

#: Largest absolute value of int16.
LARGEST_S16 = 32768

#: Instructions of a product, and of a unit in a step beside its products; read off the loops for Cortex-M4.
_PER_PRODUCT, _PER_UNIT = 3, 400


class LstmKernel(Implementation):
    """The common part of the kernels of lstm.

    Attributes:
        dtype: Element type of input and result.
    """

    op = "lstm"
    in_place = ((1, HIDDEN), (2, CELL))
    dtype: DType

    @override
    def refuses(self, node: Node, target: Target) -> str | None:
        if node.input(INPUT).dtype is not self.dtype:
            return f"is for {self.dtype.value}"
        varying = next((t for t in node.inputs[INPUT_WEIGHTS:HIDDEN] if t is not None and not t.is_constant), None)
        if varying is None:
            return None
        return f"{varying.name} is computed at run time, weights and bias must be constants"

    @override
    def formula(self, node: Node) -> float | None:
        sizes = extents(node)
        products = len(GATES) * (sizes.inputs + sizes.units)
        return sizes.batch * sizes.steps * sizes.units * (_PER_PRODUCT * products + _PER_UNIT)

    @override
    def overlap(self, node: Node, inputs: Sequence[View | None], outputs: Sequence[View]) -> int | None:
        x, y, sizes = inputs[INPUT], outputs[0], extents(node)
        in_order = sizes.batch == 1 or not attributes(node).time_major
        if x is None or not (in_order and x.contiguous and y.contiguous):
            return None
        # A step reads its row of the input until its row of the result is written, and the result of the step before.
        read, written = (size * y.element_bytes for size in (sizes.inputs, sizes.units))
        last = sizes.batch * sizes.steps - 1
        return max(written, (last + 1) * written - last * read)

    def tensors(self, node: Node) -> tuple[Argument, ...]:
        """Returns the arguments for operands and results that vary."""
        types = [node.input(index).dtype for index in (INPUT, HIDDEN, CELL)]
        x, hidden, cell = ("float *" if dtype.is_float else f"{dtype.value}_t *" for dtype in types)
        return (
            InputArg(INPUT, f"const {x}"),
            InputArg(HIDDEN, f"const {hidden}"),
            InputArg(CELL, f"const {cell}"),
            OutputArg(0, x),
            OutputArg(1, hidden),
            OutputArg(2, cell),
        )

    def arguments(self, node: Node, bias: Array) -> tuple[Argument, ...]:
        """Returns the arguments but the table."""
        return (
            *self.tensors(node),
            ConstantArg(PackedConstant("weights", by_unit(node, INPUT_WEIGHTS))),
            ConstantArg(PackedConstant("recurrent", by_unit(node, RECURRENT_WEIGHTS))),
            ConstantArg(PackedConstant("bias", bias, align=8 if bias.dtype == np.int64 else 4)),
        )


def by_unit(node: Node, first: int) -> Array:
    """Returns weights or biases of the gates as [units, ..., gates]."""
    values = [node.input(first + gate).data for gate in range(len(GATES))]
    return np.ascontiguousarray(np.stack([np.asarray(value) for value in values], axis=-1))


def extent_params(node: Node) -> dict[str, Literal]:
    """Returns the fields of `aboard_lstm_extents_t`."""
    sizes = extents(node)
    time_major = attributes(node).time_major
    return {
        "batches": sizes.batch,
        "steps": sizes.steps,
        "inputs": sizes.inputs,
        "units": sizes.units,
        "batch_rows": 1 if time_major else sizes.steps,
        "step_rows": sizes.batch if time_major else 1,
    }


def folded_bias(node: Node) -> Int64:
    """Returns the starts of the sums of each unit: of the input's products of each gate, then of the hidden state's."""
    parts = [by_unit(node, BIASES).astype(np.int64), np.int64(0)]
    for number, (operand, first) in enumerate(((INPUT, INPUT_WEIGHTS), (HIDDEN, RECURRENT_WEIGHTS))):
        zero_point = node.input(operand).quant.zero_point
        parts[number] = parts[number] - zero_point * by_unit(node, first).astype(np.int64).sum(1)
    return np.concatenate(parts, axis=1)


def short_multiplier(scale: tuple[int, int]) -> int:
    """Returns m such that (x * m + 2^31) >> 32 rescales sums of 32 bits as TFLite does for int16; 0 without one."""
    multiplier, right = int(reduced_multiplier(scale[0])), 15 - scale[1]
    found = multiplier << max(32 - right, 0)
    return found if right <= 32 and found < 1 << 31 else 0


def parts(node: Node) -> list[tuple[Array, Int64]]:
    """Returns for input and hidden state the weights, [units, gates, taps], and starts of sums, [units, gates]."""
    bias, gates = folded_bias(node), len(GATES)
    weights = [by_unit(node, first).swapaxes(1, 2) for first in (INPUT_WEIGHTS, RECURRENT_WEIGHTS)]
    return [(weights[0], bias[:, :gates]), (weights[1], bias[:, gates:])]


def sums_refusal(node: Node, largest: int, fits: Callable[[tuple[int, int], int], bool]) -> str | None:
    """Returns why sums of gates do not fit words, or None.

    Args:
        node: The node.
        largest: Largest absolute value of an input or hidden state.
        fits: Whether a scale takes sums of an absolute value of at most a number.
    """
    found = scaling(node)
    for scales, (weights, bias) in zip((found.input, found.recurrent), parts(node), strict=True):
        sums = largest * np.abs(weights.astype(np.int64)).sum(2) + np.abs(bias)
        if not all(fits(scale, int(most)) for scale, most in zip(scales, sums.max(0), strict=True)):
            return "sums of gates may exceed 31 bits"
    return None


def short_sums_fit(scale: tuple[int, int], largest: int) -> bool:
    """Returns whether sums of at most `largest` are words that `short_multiplier` rescales."""
    return largest < 1 << 31 and short_multiplier(scale) > 0


class _Quantised(LstmKernel):
    function: str
    wide: bool

    @override
    def lower(self, node: Node, inputs: Sequence[View | None], outputs: Sequence[View], target: Target) -> KernelCall:
        bias = folded_bias(node)
        table = sigmoid_wide.TABLE.astype(np.uint16)
        return KernelCall(
            header="portable/lstm.h",
            function=self.function,
            params_type="aboard_lstm_t",
            params=self.params(node),
            arguments=(
                *self.arguments(node, bias if self.wide else wrap32(bias).astype(np.int32)),
                ConstantArg(PackedConstant("table", table)),
            ),
            rows=outputs[0].rows,
            step_rows=outputs[0].rows,
        )

    def params(self, node: Node) -> dict[str, Literal]:
        """Returns the fields of `aboard_lstm_t`."""
        found = scaling(node)
        gates = [[self._of_sums(scale) for scale in scales] for scales in (found.input, found.recurrent)]
        return {
            "extents": extent_params(node),
            "input": gates[0],
            "recurrent": gates[1],
            "forget": _literal(found.forget),
            "update": _literal(found.update),
            "output": _literal(found.output),
            "cell_multiplier": found.cell.multiplier,
            "cell_shift": found.cell.shift,
            "clip": found.clip,
            "zero_point": node.input(HIDDEN).quant.zero_point,
            "chunk": CHUNK,
        }

    def _of_sums(self, scale: tuple[int, int]) -> dict[str, Literal]:
        multiplier, shift = scale
        return _literal((int(reduced_multiplier(multiplier)), 15 - shift) if self.wide else scale)


def _literal(scale: tuple[int, int]) -> dict[str, Literal]:
    return {"multiplier": scale[0], "shift": scale[1]}


@implements
class PortableS8(_Quantised):
    """int8."""

    name = "portable_s8"
    dtype = DType.INT8
    function = "aboard_lstm_s8"
    wide = False


@implements
class PortableS16(_Quantised):
    """int16 with int8 weights."""

    name = "portable_s16"
    dtype = DType.INT16
    function = "aboard_lstm_s16"
    wide = True


@implements
class PortableF32(LstmKernel):
    """float32."""

    name = "portable_f32"
    dtype = DType.FLOAT32

    @override
    def lower(self, node: Node, inputs: Sequence[View | None], outputs: Sequence[View], target: Target) -> KernelCall:
        return KernelCall(
            header="portable/lstm.h",
            function="aboard_lstm_f32",
            params_type="aboard_lstm_f32_t",
            params={"extents": extent_params(node), "clip": attributes(node).cell_clip},
            arguments=self.arguments(node, by_unit(node, BIASES)),
            rows=outputs[0].rows,
            step_rows=outputs[0].rows,
        )
