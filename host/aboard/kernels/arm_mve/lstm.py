"""lstm of int8 and int16 with Helium: four units at once."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from typing_extensions import override

from aboard.ir import Array, Node
from aboard.ir.numerics import wrap32
from aboard.kernels.arm_mve.conv2d import reach
from aboard.kernels.arm_mve.loops import CHUNK
from aboard.kernels.contract import ConstantArg, KernelCall, PackedConstant, Scratch, ScratchArg
from aboard.kernels.portable.lstm import (
    LARGEST_S16,
    PortableS8,
    PortableS16,
    by_unit,
    folded_bias,
    parts,
    short_multiplier,
    short_sums_fit,
    sums_refusal,
)
from aboard.kernels.registry import implements
from aboard.kernels.view import Literal, View
from aboard.kernels.weights import filled, padded
from aboard.ops import sigmoid_wide
from aboard.ops.lstm import extents, scaling
from aboard.ops.lstm_steps import GATES, INPUT_WEIGHTS, RECURRENT_WEIGHTS
from aboard.target import Target

#: Units of a block, and gates whose sums are computed at once.
_UNITS, _PAIR = 4, 2

#: Bytes of the sums of a pair of gates of a block, and of those of all gates.
_SUMS_OF_PAIR, _SUMS = (4 * 2 * gates * _UNITS for gates in (_PAIR, len(GATES)))

#: Values of int16 that one instruction takes.
CHUNK_S16 = 8

#: Instructions of int16 of a chunk of four gates, and of a unit beside them; counted on Cortex-M55 in QEMU.
_PER_CHUNK_S16, _PER_UNIT_S16 = 12, 104

#: Instructions of a chunk of weights, and of a block of units beside them; counted on Cortex-M55 in QEMU.
_PER_CHUNK, _PER_BLOCK = 34, 323


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
                ConstantArg(_table()),
                ScratchArg(Scratch(_SUMS_OF_PAIR + copied, align=CHUNK), "int32_t *"),
            ),
            rows=outputs[0].rows,
            step_rows=outputs[0].rows,
            # Parameters are immediates in instructions, so layers cannot share code.
            code_key=repr(params),
        )


@implements
class MveS16(PortableS16):
    """int16 with int8 weights."""

    name = "arm_mve_s16"
    keys = frozenset({"arm_mve"})

    @override
    def refuses(self, node: Node, target: Target) -> str | None:
        return super().refuses(node, target) or sums_refusal(node, LARGEST_S16, short_sums_fit)

    @override
    def formula(self, node: Node) -> float | None:
        sizes = extents(node)
        units = sizes.batch * sizes.steps * sizes.units
        return units * (_PER_CHUNK_S16 * sum(_chunks(node, CHUNK_S16)) + _PER_UNIT_S16)

    @override
    def lower(self, node: Node, inputs: Sequence[View | None], outputs: Sequence[View], target: Target) -> KernelCall:
        sizes, found, chunks = extents(node), scaling(node), _chunks(node, CHUNK_S16)
        taken = zip(chunks, (sizes.inputs, sizes.units), strict=True)
        copied = sum(2 * CHUNK_S16 * count for count, taps in taken if taps % CHUNK_S16)
        short = {
            name: [{"multiplier": short_multiplier(scale), "shift": 0} for scale in scales]
            for name, scales in (("input", found.input), ("recurrent", found.recurrent))
        }
        params: dict[str, Literal] = {
            "layer": {**self.params(node), **short},
            "input_chunks": chunks[0],
            "hidden_chunks": chunks[1],
        }
        return KernelCall(
            header="arm_mve/lstm_s16.h",
            function="aboard_lstm_mve_s16",
            params_type="aboard_lstm_mve_s16_t",
            params=params,
            arguments=(
                *self.tensors(node),
                ConstantArg(PackedConstant("weights", _weights_s16(node), align=CHUNK_S16)),
                ConstantArg(PackedConstant("bias", _bias_s16(node), align=CHUNK)),
                ConstantArg(_table()),
                ScratchArg(Scratch(_SUMS + copied, align=CHUNK), "int32_t *"),
            ),
            rows=outputs[0].rows,
            step_rows=outputs[0].rows,
            # Parameters are immediates in instructions, so layers cannot share code.
            code_key=repr(params),
        )


def _chunks(node: Node, values: int = CHUNK) -> tuple[int, int]:
    """Returns the chunks of a row of the input and of a hidden state."""
    sizes = extents(node)
    return -(-sizes.inputs // values), -(-sizes.units // values)


def _table() -> PackedConstant:
    return PackedConstant("table", np.append(sigmoid_wide.TABLE, sigmoid_wide.TABLE[-1]).astype(np.uint16))


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


def _weights_s16(node: Node) -> Array:
    """Returns [units, bytes]: of each unit chunks of the input's weights, then of the hidden state's."""
    found = []
    for weights, _ in parts(node):
        full = filled(np.moveaxis(weights, 2, 0).astype(np.int64), CHUNK_S16).astype(np.int8)
        chunks = full.reshape(-1, CHUNK_S16, *full.shape[1:]).transpose(2, 0, 3, 1)
        found.append(filled(chunks.reshape(len(chunks), -1).astype(np.int64), _UNITS).astype(np.int8))
    return np.ascontiguousarray(np.concatenate(found, 1))


def _bias_s16(node: Node) -> Array:
    """Returns [blocks of units, gates, 2: input and hidden state, units]."""
    blocks = filled(folded_bias(node), _UNITS).reshape(-1, _UNITS, 2, len(GATES)).transpose(0, 3, 2, 1)
    return np.ascontiguousarray(blocks.astype(np.int32))
