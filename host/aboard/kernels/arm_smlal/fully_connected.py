"""fully_connected for Arm cores with SMLAL but without the DSP extension (Cortex-M3): int8."""

from __future__ import annotations

from collections.abc import Sequence

from typing_extensions import override

from aboard.ir import Node
from aboard.kernels import weights as packing
from aboard.kernels.arm_smlal import dot
from aboard.kernels.contract import (
    ConstantArg,
    Implementation,
    InputArg,
    KernelCall,
    OutputArg,
    PackedConstant,
    UnsupportedNodeError,
    View,
)
from aboard.kernels.portable.fully_connected import shape_params
from aboard.kernels.registry import implements
from aboard.ops import fully_connected as op
from aboard.ops.weighted import INPUT, WEIGHTS, Precision
from aboard.target import Target

#: Channels that are computed at once.
FOUR = 4


@implements
class SmlalS8(Implementation):
    """int8: four channels at once, two products per instruction."""

    op = "fully_connected"
    name = "smlal_s8"
    exact = True
    keys = frozenset({"arm_smlal"})

    @override
    def refuses(self, node: Node, target: Target) -> str | None:
        reason = packing.refusal(node, Precision.INT8, op.AXIS)
        if reason is not None:
            return reason
        if node.input(WEIGHTS).shape[op.AXIS] < FOUR:
            return "is for four channels or more"
        if node.input(WEIGHTS).shape[1] < 2:
            return "is for two inputs or more"
        try:
            dot.matrix_layer(node, op.attributes(node).activation, op.AXIS)
        except UnsupportedNodeError as error:
            return str(error)
        return None

    @override
    def lower(self, node: Node, inputs: Sequence[View | None], outputs: Sequence[View], target: Target) -> KernelCall:
        layer = dot.matrix_layer(node, op.attributes(node).activation, op.AXIS)
        each = packing.differ(node)
        shared = (layer.factor, layer.constant, layer.shift)
        bounds = {name: layer.params[name] for name in ("low", "high")}
        return KernelCall(
            header="arm_smlal/fully_connected.h",
            function="aboard_fully_connected_smlal_each" if each else "aboard_fully_connected_smlal",
            params_type="aboard_fully_connected_smlal_t",
            params={
                **shape_params(node, outputs[0]),
                "single_rounding": layer.params["single_rounding"],
                "clamped": layer.params["clamped"],
                "constants": [0 if each else int(v[0]) for v in shared],
                **bounds,
            },
            arguments=(
                InputArg(INPUT, "const int8_t *"),
                OutputArg(0, "int8_t *"),
                ConstantArg(PackedConstant("weights", dot.matrix(layer, each=each), form="int8")),
            ),
            rows=outputs[0].rows,
            code_variant=f"single_rounding={int(layer.is_single_rounding)}",
            slow_epilogue=not layer.is_single_rounding,
        )
