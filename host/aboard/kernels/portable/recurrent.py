"""recurrent on any core."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from typing_extensions import override

from aboard.ir import Node
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
    View,
)
from aboard.kernels.registry import implements
from aboard.ops.recurrent import BIAS, CELL, HIDDEN, PEEPHOLES, RECURRENT, WEIGHTS, Cell, X, attributes
from aboard.target import Target

#: Instructions of a product, and of a gate of a unit in a step beside its products; read off the loops for Cortex-M4.
_PER_PRODUCT, _PER_GATE = 5, 60


@implements
class RecurrentF32(Implementation):
    """One sample and step after the other."""

    op, name = "recurrent", "portable_f32"

    @override
    def formula(self, node: Node) -> float | None:
        steps, batch, inputs = node.input(X).shape
        rows, units = node.input(RECURRENT).shape
        return steps * batch * rows * (_PER_PRODUCT * (inputs + units) + _PER_GATE)

    @override
    def lower(self, node: Node, inputs: Sequence[View | None], outputs: Sequence[View], target: Target) -> KernelCall:
        attrs, (steps, batch, extent) = attributes(node), node.input(X).shape
        units, lstm = node.input(RECURRENT).shape[1], attrs.cell is Cell.LSTM
        scratch = Scratch((attrs.cell.value + 1) * units * 4)
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
                "function": [function.value for function in attrs.functions],
                "is_reverse": int(attrs.is_reverse),
                "resets_product": int(attrs.resets_product),
                "has_peepholes": int(node.optional_input(PEEPHOLES) is not None),
                "clip": attrs.clip,
            },
            arguments=(
                *(InputArg(index, "const float *") for index in (X, WEIGHTS, RECURRENT, BIAS)),
                *([_peepholes(node)] if lstm else []),
                *(InputArg(index, "const float *") for index in ((HIDDEN, CELL) if lstm else (HIDDEN,))),
                *(OutputArg(index, "float *") for index in range(len(outputs))),
                ScratchArg(scratch, "float *"),
            ),
            rows=outputs[0].rows,
            step_rows=outputs[0].rows,
        )


def _peepholes(node: Node) -> Argument:
    """Returns the peepholes; a number that is not read where there are none."""
    if node.optional_input(PEEPHOLES) is None:
        return ConstantArg(PackedConstant("peepholes", np.zeros(1, np.float32)))
    return InputArg(PEEPHOLES, "const float *")
