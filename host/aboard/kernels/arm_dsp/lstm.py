"""lstm of int8 and int16 for cores with the DSP extension: the products of a unit's four gates are computed at once."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Sequence

import numpy as np
from typing_extensions import override

from aboard.ir import Array, DType, Node
from aboard.kernels.arm_dsp import four_channels
from aboard.kernels.arm_dsp.dot import TAP_GROUP
from aboard.kernels.contract import ConstantArg, KernelCall, PackedConstant, Scratch, ScratchArg
from aboard.kernels.portable.lstm import (
    LARGEST_S16,
    LstmKernel,
    extent_params,
    parts,
    short_multiplier,
    short_sums_fit,
    sums_refusal,
)
from aboard.kernels.registry import implements
from aboard.kernels.view import Literal, View
from aboard.kernels.weights import filled
from aboard.ops import sigmoid_wide
from aboard.ops.lstm import extents, scaling
from aboard.ops.lstm_steps import HIDDEN
from aboard.target import Target

#: Largest product of two gates, or of a gate and a cell state.
_LARGEST_PRODUCT = 32768 * 32767

#: Order of the taps of a group from which SXTB16 extracts neighbours.
_NEIGHBOURS = [0, 2, 1, 3]


class _Dsp(LstmKernel):
    """The common part.

    Attributes:
        header: Path of the header.
        function: C function; its parameters are of type `<function>_t`.
        largest: Largest absolute value of an input or hidden state.
    """

    keys = frozenset({"arm_dsp"})
    header: str
    function: str
    largest: int

    @override
    def refuses(self, node: Node, target: Target) -> str | None:
        reason = super().refuses(node, target)
        if reason is not None:
            return reason
        reason = sums_refusal(node, self.largest, self.fits)
        if reason is not None:
            return reason
        found = scaling(node)
        products = (found.forget, found.update, found.output)
        if not all(four_channels.fits(scale, _LARGEST_PRODUCT) for scale in products):
            return "products of gates may exceed 31 bits"
        return None

    @abstractmethod
    def fits(self, scale: tuple[int, int], largest: int) -> bool:
        """Returns whether sums of an absolute value of at most `largest` can be rescaled."""

    @abstractmethod
    def scale(self, scale: tuple[int, int]) -> Literal:
        """Returns the parameter that rescales the sums of a gate."""

    def packed(self, node: Node) -> Array:
        """Returns the words of all units: those of the input's products, then those of the hidden state's."""
        words = [four_channels.blocks(self.ordered(weights), bias.reshape(-1)) for weights, bias in parts(node)]
        return np.ascontiguousarray(np.concatenate(words, 1))

    def ordered(self, weights: Array) -> Array:
        """Returns weights, [units, gates, taps], as [channels, taps] in the order in which the core multiplies."""
        return weights.reshape(-1, weights.shape[2])

    @override
    def lower(self, node: Node, inputs: Sequence[View | None], outputs: Sequence[View], target: Target) -> KernelCall:
        found, sizes = scaling(node), extents(node)
        groups = sum(-(-taps // TAP_GROUP) for taps in (sizes.inputs, sizes.units))
        table = PackedConstant("table", sigmoid_wide.TABLE.astype(np.uint16))
        return KernelCall(
            header=self.header,
            function=self.function,
            params_type=f"{self.function}_t",
            params={
                "extents": extent_params(node),
                "input": [self.scale(scale) for scale in found.input],
                "recurrent": [self.scale(scale) for scale in found.recurrent],
                "cell": _cell_params(node),
            },
            arguments=(
                *self.tensors(node),
                ConstantArg(PackedConstant("weights", self.packed(node))),
                ConstantArg(table),
                ScratchArg(Scratch(8 * groups), "uint32_t *"),
            ),
            rows=outputs[0].rows,
            step_rows=outputs[0].rows,
        )


@implements
class DspS8(_Dsp):
    """int8."""

    name = "dsp_s8"
    dtype = DType.INT8
    header = "arm_dsp/lstm.h"
    function = "aboard_lstm_dsp"
    largest = 128

    @override
    def fits(self, scale: tuple[int, int], largest: int) -> bool:
        return four_channels.fits(scale, largest)

    @override
    def scale(self, scale: tuple[int, int]) -> Literal:
        return four_channels.scale_params(scale)


@implements
class DspS16(_Dsp):
    """int16 with int8 weights."""

    name = "dsp_s16"
    dtype = DType.INT16
    header = "arm_dsp/lstm_s16.h"
    function = "aboard_lstm_dsp_s16"
    largest = LARGEST_S16

    @override
    def fits(self, scale: tuple[int, int], largest: int) -> bool:
        return short_sums_fit(scale, largest)

    @override
    def scale(self, scale: tuple[int, int]) -> Literal:
        return short_multiplier(scale)

    @override
    def ordered(self, weights: Array) -> Array:
        full: Array = filled(super().ordered(weights).T, TAP_GROUP).T
        groups: Array = full.reshape(len(full), -1, TAP_GROUP)[..., _NEIGHBOURS]
        return np.ascontiguousarray(groups).reshape(len(full), -1)


def _cell_params(node: Node) -> dict[str, Literal]:
    """Returns the fields of `aboard_lstm_dsp_cell_t`."""
    found = scaling(node)
    return {
        "forget": four_channels.scale_params(found.forget),
        "update": four_channels.scale_params(found.update),
        "output": four_channels.scale_params(found.output),
        "multiplier": found.cell.multiplier,
        "shift": found.cell.shift,
        "clip": found.clip,
        "zero_point": node.input(HIDDEN).quant.zero_point,
    }
