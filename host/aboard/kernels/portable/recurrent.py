"""recurrent on any core."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from typing_extensions import override

from aboard.ir import Array, Node
from aboard.kernels.contract import (
    Argument,
    ConstantArg,
    Implementation,
    InputArg,
    KernelCall,
    OutputArg,
    PackedConstant,
    Scratch,
    ScratchArg,
)
from aboard.kernels.registry import implements
from aboard.kernels.view import View
from aboard.ops.recurrent import BIAS, CELL, HIDDEN, PEEPHOLES, RECURRENT, WEIGHTS, Cell, X, attributes
from aboard.target import Target

#: Instructions of a product, and of a gate of a unit in a step beside its products; read off the loops for Cortex-M4.
_PER_PRODUCT, _PER_GATE = 3, 60

#: Rows of weights whose sums are computed at once.
_BLOCK = 4


@implements
class RecurrentF32(Implementation):
    """One sample and step after the other."""

    op, name = "recurrent", "portable_f32"

    @override
    def refuses(self, node: Node, target: Target) -> str | None:
        constants = [node.optional_input(index) for index in (WEIGHTS, RECURRENT, BIAS, PEEPHOLES)]
        varying = next((each for each in constants if each is not None and not each.is_constant), None)
        if varying is None:
            return None
        return f"{varying.name} is computed at run time, weights and bias must be constants"

    @override
    def formula(self, node: Node) -> float | None:
        steps, batch, inputs = node.input(X).shape
        rows, units = node.input(RECURRENT).shape
        return steps * batch * rows * (_PER_PRODUCT * (inputs + units) + _PER_GATE)

    @override
    def lower(self, node: Node, inputs: Sequence[View | None], outputs: Sequence[View], target: Target) -> KernelCall:
        attrs, (steps, batch, extent) = attributes(node), node.input(X).shape
        units, lstm = node.input(RECURRENT).shape[1], attrs.cell is Cell.LSTM
        bias = packed_bias(node)
        return KernelCall(
            header="portable/recurrent.h",
            function="aboard_recurrent_f32" if lstm else "aboard_recurrent_without_cell_f32",
            params_type="aboard_recurrent_t",
            params={
                "steps": steps,
                "batches": batch,
                "inputs": extent,
                "units": units,
                "cell": attrs.cell.value,
                "function": [
                    {"number": function.value, "alpha": alpha, "beta": beta}
                    for function, alpha, beta in zip(attrs.functions, attrs.alpha, attrs.beta, strict=True)
                ],
                "is_reverse": int(attrs.is_reverse),
                "resets_product": int(attrs.resets_product),
                "is_coupled": int(attrs.is_coupled),
                "has_peepholes": int(node.optional_input(PEEPHOLES) is not None),
                "clip": attrs.clip,
            },
            arguments=(
                InputArg(X, "const float *"),
                ConstantArg(PackedConstant("weights", packed_weights(node, WEIGHTS))),
                ConstantArg(PackedConstant("recurrent", packed_weights(node, RECURRENT))),
                ConstantArg(PackedConstant("bias", bias)),
                *([_peepholes(node)] if lstm else []),
                *(InputArg(index, "const float *") for index in ((HIDDEN, CELL) if lstm else (HIDDEN,))),
                *(OutputArg(index, "float *") for index in range(len(outputs))),
                ScratchArg(Scratch(bias.nbytes), "float *"),
            ),
            rows=outputs[0].rows,
            step_rows=outputs[0].rows,
        )


def _values(node: Node, index: int) -> Array:
    return np.asarray(node.input(index).data)


def _parts(node: Node, rows: Array) -> list[Array]:
    """Cuts the rows of all gates into those of one block: the candidate of a GRU is apart."""
    units = node.input(RECURRENT).shape[1]
    return [rows[: 2 * units], rows[2 * units :]] if attributes(node).cell is Cell.GRU else [rows]


def _filled(rows: Array) -> Array:
    """Adds rows of zeros up to a multiple of the block."""
    missing = -len(rows) % _BLOCK
    return np.pad(rows, [(0, missing)] + [(0, 0)] * (rows.ndim - 1))


def packed_weights(node: Node, index: int) -> Array:
    """Returns weights as [blocks of rows][columns][4 rows], part by part."""
    blocks = [
        _filled(part).reshape(-1, _BLOCK, part.shape[1]).transpose(0, 2, 1)
        for part in _parts(node, _values(node, index))
    ]
    return np.ascontiguousarray(np.concatenate(blocks))


def packed_bias(node: Node) -> Array:
    """Returns what the sums of a step start with; for a GRU also those of the candidate's part of the hidden state."""
    first, second = np.split(_values(node, BIAS).astype(np.float64), 2)
    parts = _parts(node, first + second)
    if attributes(node).cell is Cell.GRU:
        parts = [parts[0], _parts(node, first)[1], _parts(node, second)[1]]
    return np.concatenate([_filled(part) for part in parts]).astype(np.float32)


def _peepholes(node: Node) -> Argument:
    """Returns the peepholes; a number that is not read where there are none."""
    if node.optional_input(PEEPHOLES) is None:
        return ConstantArg(PackedConstant("peepholes", np.zeros(1, np.float32)))
    return InputArg(PEEPHOLES, "const float *")
