"""lstm of int8 for cores with the DSP extension: the products of a unit's four gates are computed at once."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from typing_extensions import override

from aboard.ir import Array, DType, Node
from aboard.ir.numerics import Int64
from aboard.kernels.arm_dsp import four_channels
from aboard.kernels.arm_dsp.dot import TAP_GROUP
from aboard.kernels.contract import ConstantArg, KernelCall, PackedConstant, Scratch, ScratchArg, View
from aboard.kernels.portable.lstm import LstmKernel, by_unit, extent_params, folded_bias
from aboard.kernels.registry import implements
from aboard.ops import sigmoid_wide
from aboard.ops.lstm import extents, scaling
from aboard.ops.lstm_steps import GATES, HIDDEN, INPUT_WEIGHTS, RECURRENT_WEIGHTS
from aboard.target import Target

#: Largest product of two gates, or of a gate and a cell state.
_LARGEST_PRODUCT = 32768 * 32767


@implements
class DspS8(LstmKernel):
    """int8."""

    name = "dsp_s8"
    keys = frozenset({"arm_dsp"})
    dtype = DType.INT8

    @override
    def refuses(self, node: Node, target: Target) -> str | None:
        reason = super().refuses(node, target)
        if reason is not None:
            return reason
        found = scaling(node)
        for scales, (weights, bias) in zip((found.input, found.recurrent), _parts(node), strict=True):
            for gate, scale in enumerate(scales):
                largest = four_channels.largest_sum(weights[:, gate], bias[:, gate])
                if not four_channels.fits(scale, largest):
                    return "sums of gates may exceed 31 bits"
        products = (found.forget, found.update, found.output)
        if not all(four_channels.fits(scale, _LARGEST_PRODUCT) for scale in products):
            return "products of gates may exceed 31 bits"
        return None

    @override
    def lower(self, node: Node, inputs: Sequence[View | None], outputs: Sequence[View], target: Target) -> KernelCall:
        found, sizes = scaling(node), extents(node)
        groups = sum(-(-taps // TAP_GROUP) for taps in (sizes.inputs, sizes.units))
        table = PackedConstant("table", sigmoid_wide.TABLE.astype(np.uint16))
        return KernelCall(
            header="arm_dsp/lstm.h",
            function="aboard_lstm_dsp",
            params_type="aboard_lstm_dsp_t",
            params={
                "extents": extent_params(node),
                "input": [four_channels.scale_params(scale) for scale in found.input],
                "recurrent": [four_channels.scale_params(scale) for scale in found.recurrent],
                "forget": four_channels.scale_params(found.forget),
                "update": four_channels.scale_params(found.update),
                "output": four_channels.scale_params(found.output),
                "cell_multiplier": found.cell.multiplier,
                "cell_shift": found.cell.shift,
                "clip": found.clip,
                "zero_point": node.input(HIDDEN).quant.zero_point,
            },
            arguments=(
                *self.tensors(node),
                ConstantArg(PackedConstant("weights", _packed(node))),
                ConstantArg(table),
                ScratchArg(Scratch(8 * groups), "uint32_t *"),
            ),
            rows=outputs[0].rows,
            step_rows=outputs[0].rows,
        )


def _parts(node: Node) -> list[tuple[Array, Int64]]:
    """Returns for input and hidden state the weights, [units, gates, taps], and starts of sums, [units, gates]."""
    bias = folded_bias(node)
    gates = len(GATES)
    weights = [by_unit(node, first).swapaxes(1, 2) for first in (INPUT_WEIGHTS, RECURRENT_WEIGHTS)]
    return [(weights[0], bias[:, :gates]), (weights[1], bias[:, gates:])]


def _packed(node: Node) -> Array:
    """Returns the words of all units: those of the input's products, then those of the hidden state's."""
    parts = [
        four_channels.blocks(weights.reshape(-1, weights.shape[2]), bias.reshape(-1)) for weights, bias in _parts(node)
    ]
    return np.ascontiguousarray(np.concatenate(parts, 1))
