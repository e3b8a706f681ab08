"""lstm of int8 with Helium: four units at once."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from typing_extensions import override

from aboard.ir import Array, Node
from aboard.ir.numerics import wrap32
from aboard.kernels.arm_mve.conv2d import CHUNK, reach
from aboard.kernels.contract import ConstantArg, KernelCall, Literal, PackedConstant, Scratch, ScratchArg, View
from aboard.kernels.portable.lstm import PortableS8, by_unit, folded_bias
from aboard.kernels.registry import implements
from aboard.kernels.weights import filled, padded
from aboard.ops import sigmoid_wide
from aboard.ops.lstm import extents
from aboard.ops.lstm_steps import GATES, INPUT_WEIGHTS, RECURRENT_WEIGHTS
from aboard.target import Target

#: Units of a block, and gates whose sums are computed at once.
_UNITS, _PAIR = 4, 2

#: Bytes of a block's sums.
_SUMS = 4 * 2 * len(GATES) * _UNITS

#: Instructions of a chunk of weights, and of a block of units beside them; counted on Cortex-M55 in QEMU.
_PER_CHUNK, _PER_BLOCK = 34, 330


@implements
class MveS8(PortableS8):
    """int8."""

    name = "arm_mve_s8"
    keys = frozenset({"arm_mve"})

    @override
    def formula(self, node: Node) -> float | None:
        sizes = extents(node)
        blocks = sizes.batch * sizes.steps * -(-sizes.units // _UNITS)
        return blocks * (_PER_CHUNK * sum(_chunks(node)) + _PER_BLOCK)

    @override
    def lower(self, node: Node, inputs: Sequence[View | None], outputs: Sequence[View], target: Target) -> KernelCall:
        sizes, chunks = extents(node), _chunks(node)
        parts = zip(chunks, (sizes.inputs, sizes.units), strict=True)
        copied = sum(CHUNK * count for count, taps in parts if taps % CHUNK)
        table = np.append(sigmoid_wide.TABLE, sigmoid_wide.TABLE[-1]).astype(np.uint16)
        params: dict[str, Literal] = {
            "layer": self.params(node),
            "input": reach(1, chunks[0], 0),
            "hidden": reach(1, chunks[1], 0),
        }
        return KernelCall(
            header="arm_mve/lstm.h",
            function="aboard_lstm_mve",
            params_type="aboard_lstm_mve_t",
            params=params,
            arguments=(
                *self.tensors(node),
                ConstantArg(PackedConstant("weights", _weights(node), align=CHUNK)),
                ConstantArg(PackedConstant("bias", _bias(node), align=CHUNK)),
                ConstantArg(PackedConstant("table", table)),
                ScratchArg(Scratch(_SUMS + copied, align=CHUNK), "int32_t *"),
            ),
            rows=outputs[0].rows,
            step_rows=outputs[0].rows,
            # Parameters are immediates in instructions, so layers cannot share code.
            code_key=repr(params),
        )


def _chunks(node: Node) -> tuple[int, int]:
    """Returns the chunks of a row of the input and of a hidden state."""
    sizes = extents(node)
    return -(-sizes.inputs // CHUNK), -(-sizes.units // CHUNK)


def _weights(node: Node) -> Array:
    """Returns [blocks of units, pairs of gates, bytes]: of a pair chunks of the input's, then of the hidden state's."""
    parts = []
    for first in (INPUT_WEIGHTS, RECURRENT_WEIGHTS):
        taps = padded(np.moveaxis(by_unit(node, first), 1, 0), CHUNK)
        units = padded(taps.swapaxes(0, 1), _UNITS)
        shape = (-1, _UNITS, units.shape[1] // CHUNK, CHUNK, len(GATES) // _PAIR, _PAIR)
        blocks = units.reshape(shape).transpose(0, 4, 2, 5, 1, 3)
        parts.append(blocks.reshape(*blocks.shape[:2], -1))
    return np.ascontiguousarray(np.concatenate(parts, 2))


def _bias(node: Node) -> Array:
    """Returns [blocks of units, pairs of gates, 2: input and hidden state, gates of a pair, units]."""
    found = filled(folded_bias(node), _UNITS)
    blocks = found.reshape(-1, _UNITS, 2, len(GATES) // _PAIR, _PAIR).transpose(0, 3, 2, 4, 1)
    return np.ascontiguousarray(wrap32(blocks).astype(np.int32))
