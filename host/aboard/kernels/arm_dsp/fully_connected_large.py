"""fully_connected with the DSP extension (Cortex-M4, M7, M33) for sums of any size, and for few channels: int8."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Sequence
from typing import ClassVar

import numpy as np
from typing_extensions import override

from aboard.ir import Array, Node
from aboard.kernels import loops
from aboard.kernels import weights as packing
from aboard.kernels.arm_dsp import dot, large_sums
from aboard.kernels.arm_dsp.fully_connected import MOST_STAGED, DspS8
from aboard.kernels.contract import (
    ConstantArg,
    Implementation,
    InputArg,
    KernelCall,
    OutputArg,
    PackedConstant,
    UnsupportedNodeError,
)
from aboard.kernels.portable.fully_connected import shape_params
from aboard.kernels.registry import implements
from aboard.kernels.requantisation import RequantisedLayer
from aboard.kernels.view import View
from aboard.ops import fully_connected as op
from aboard.ops.weighted import INPUT, WEIGHTS, Precision
from aboard.target import Target


class _Dsp(Implementation):
    op = "fully_connected"
    exact = True
    keys = frozenset({"arm_dsp"})
    function: ClassVar[str]
    block: ClassVar[int]

    @abstractmethod
    def pack(self, layer: RequantisedLayer) -> Array:
        """Returns the weights and constants of a layer."""

    @override
    def refuses(self, node: Node, target: Target) -> str | None:
        reason = packing.refusal(node, Precision.INT8, op.AXIS)
        if reason is not None:
            return reason
        try:
            _layer(node)
        except UnsupportedNodeError as error:
            return str(error)
        return self._narrower(node, target)

    @abstractmethod
    def _narrower(self, node: Node, target: Target) -> str | None:
        """Returns why another kernel is for a node, or None."""

    @override
    def lower(self, node: Node, inputs: Sequence[View | None], outputs: Sequence[View], target: Target) -> KernelCall:
        layer = _layer(node)
        return KernelCall(
            header="arm_dsp/fully_connected_large.h",
            function=self.function,
            params_type="aboard_fully_connected_large_dsp_t",
            params={**shape_params(node, outputs[0]), **layer.params},
            arguments=(
                InputArg(INPUT, "const int8_t *"),
                OutputArg(0, "int8_t *"),
                ConstantArg(PackedConstant("weights", self.pack(layer), form=dot.PAIRED)),
            ),
            rows=outputs[0].rows,
            code_variant=f"single_rounding={int(layer.is_single_rounding)}",
            slow_epilogue=not layer.is_single_rounding,
            loops=loops.of_matrix(node, self.block),
        )


@implements
class DspLargeS8(_Dsp):
    """int8: four channels at once, sums of any size."""

    name = "dsp_large_s8"
    function = "aboard_fully_connected_large_dsp"
    block = large_sums.CHANNELS

    @override
    def pack(self, layer: RequantisedLayer) -> Array:
        """Returns whole blocks of four channels, then a single last channel, if there is one."""
        count = len(layer.bias)
        single = count % large_sums.CHANNELS == 1
        blocked = layer.part(0, count - single)
        parts = [large_sums.blocks(blocked)] if len(blocked.bias) else []
        return np.concatenate([*parts, *([large_sums.channel(layer.part(count - 1, count))] if single else [])])

    @override
    def _narrower(self, node: Node, target: Target) -> str | None:
        if node.input(WEIGHTS).shape[op.AXIS] == 1:
            return "is for two channels or more"
        if not dot.fits_swar(packing.matrix(node, op.AXIS)):
            return "has weights of -128"
        # DspS8 widens samples that are no whole tap groups into scratch, which one or two blocks do not pay for.
        # Of short samples what is around the products of a block costs more.
        inputs = node.input(WEIGHTS).shape[1]
        if (inputs > MOST_STAGED and inputs % dot.TAP_GROUP) or DspS8().refuses(node, target):
            return None
        return f"is for sums that {DspS8.name} cannot take, and for long samples of no whole tap groups"


@implements
class DspOneS8(_Dsp):
    """int8: one to three channels, one after another, whose weights are as they are."""

    name = "dsp_one_s8"
    function = "aboard_fully_connected_one_dsp"
    block = 1

    @override
    def pack(self, layer: RequantisedLayer) -> Array:
        return np.concatenate([large_sums.channel(part) for part in layer.split(len(layer.bias))])

    @override
    def _narrower(self, node: Node, target: Target) -> str | None:
        few = node.input(WEIGHTS).shape[op.AXIS] < large_sums.CHANNELS
        return None if few else f"is for less than {large_sums.CHANNELS} channels"


def _layer(node: Node) -> RequantisedLayer:
    return large_sums.layer(node, op.attributes(node).activation, op.AXIS)
