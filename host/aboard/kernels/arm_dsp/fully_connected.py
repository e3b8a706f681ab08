"""fully_connected for cores with the DSP extension (Cortex-M4, M7, M33): int8."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from typing_extensions import override

from aboard.ir import Array, Node
from aboard.ir.numerics import wrap32
from aboard.kernels import loops
from aboard.kernels import weights as packing
from aboard.kernels.arm_dsp import dot
from aboard.kernels.contract import (
    ConstantArg,
    Implementation,
    InputArg,
    KernelCall,
    OutputArg,
    PackedConstant,
    Scratch,
    ScratchArg,
    UnsupportedNodeError,
)
from aboard.kernels.portable.fully_connected import shape_params
from aboard.kernels.registry import implements
from aboard.kernels.requantisation import RequantisedLayer, requantised_alike
from aboard.kernels.view import View
from aboard.ops import fully_connected as op
from aboard.ops.weighted import INPUT, WEIGHTS, Precision
from aboard.target import Knob, Target

#: ABOARD_DSP_WIDE and ABOARD_DSP_WIDE_SHIFT of `arm_dsp/fully_connected.h`.
WIDE, LINE_SHIFT = 4, 2

#: Largest number of inputs that are widened into scratch, two bytes each; more are widened again per block of channels.
MOST_STAGED = 256


@implements
class DspS8(Implementation):
    """int8: four channels at once, weights of two channels in a halfword."""

    op = "fully_connected"
    name = "dsp_s8"
    exact = True
    keys = frozenset({"arm_dsp"})

    @override
    def refuses(self, node: Node, target: Target) -> str | None:
        reason = packing.refusal(node, Precision.INT8, op.AXIS)
        if reason is not None:
            return reason
        if node.input(WEIGHTS).shape[op.AXIS] == 1:
            return "is for two channels or more"
        if not dot.fits_swar(packing.matrix(node, op.AXIS)):
            return "has weights of -128"
        try:
            _layer(node)
        except UnsupportedNodeError as error:
            return str(error)
        return None

    @override
    def knobs(self, node: Node, target: Target) -> tuple[Knob, ...]:
        own = _direct(node)
        both = node.input(WEIGHTS).shape[1] % dot.TAP_GROUP == 0
        return (Knob("direct", (int(own), int(not own)) if both else (0,), "Inputs are widened for each block."),)

    @override
    def lower(self, node: Node, inputs: Sequence[View | None], outputs: Sequence[View], target: Target) -> KernelCall:
        layer, each = _layer(node)
        factor, constant, shift = (0 if each else int(v[0]) for v in (layer.factor, layer.constant, layer.shift))
        third = 256 * constant + 128 if layer.is_single_rounding and not each else shift
        direct = self.knob("direct", int(_direct(node))) == 1
        groups = -(-layer.weights.shape[1] // dot.TAP_GROUP)
        return KernelCall(
            header="arm_dsp/fully_connected.h",
            function="aboard_fully_connected_dsp_each" if each else "aboard_fully_connected_dsp",
            params_type="aboard_fully_connected_dsp_t",
            params={
                **shape_params(node, outputs[0]),
                "direct": int(direct),
                **layer.params,
                "constants": [factor, constant, third],
            },
            arguments=(
                InputArg(INPUT, "const int8_t *"),
                OutputArg(0, "int8_t *"),
                ConstantArg(PackedConstant("weights", pack(layer, each=each), form=dot.PAIRED)),
                ScratchArg(Scratch(0 if direct else 8 * groups), "uint32_t *"),
            ),
            rows=outputs[0].rows,
            code_variant=f"direct={int(direct)} single_rounding={int(layer.is_single_rounding)}",
            slow_epilogue=not layer.is_single_rounding,
            loops=loops.of_matrix(node, WIDE, widened=not direct),
        )


def _direct(node: Node) -> bool:
    """True if inputs are widened again for each block of channels by choice, as scratch for all would be large."""
    width = node.input(WEIGHTS).shape[1]
    return width > MOST_STAGED and width % dot.TAP_GROUP == 0


def pack(layer: RequantisedLayer, *, each: bool) -> Array:
    """Returns the words of `aboard_dsp_wide_single`: [blocks of four channels, words].

    Args:
        layer: The layer.
        each: True if the constants of each channel follow the weights of its block.
    """
    words = dot.swar_words(packing.filled(layer.weights, WIDE))
    mixed = words.reshape(-1, 2, words.shape[1]).swapaxes(1, 2).reshape(len(words) // 2, -1)
    bias = packing.filled(layer.bias, WIDE).reshape(-1, 2)
    raw = wrap32(np.stack([bias[:, 0], bias[:, 0] + 256 * bias[:, 1]], 1)).reshape(-1, WIDE)
    parts = [raw.astype(np.int32).view(np.uint32), mixed]
    return np.ascontiguousarray(np.concatenate([*parts, _constants(layer)] if each else parts, 1))


def _constants(layer: RequantisedLayer) -> Array:
    """Returns ABOARD_DSP_WIDE_EACH words of each block."""
    columns = (
        [layer.factor, layer.constant] if layer.is_single_rounding else [layer.factor, layer.constant, layer.shift]
    )
    constants = packing.filled(np.stack(columns, 1), WIDE)
    if layer.is_single_rounding:
        # Sums of odd channels are 256 times as large.
        constants[1::2, 1] = 256 * constants[1::2, 1] + 128
    return wrap32(constants).astype(np.int32).view(np.uint32).reshape(-1, WIDE * len(columns))


def _layer(node: Node) -> tuple[RequantisedLayer, bool]:
    return requantised_alike(node, op.attributes(node).activation, op.AXIS, LINE_SHIFT)
