"""fully_connected for Arm cores with MLA but without SIMD (Cortex-M3): int8, all channels in one call."""

from __future__ import annotations

from collections.abc import Sequence

from typing_extensions import override

from aboard.ir import Node
from aboard.kernels import loops
from aboard.kernels import weights as packing
from aboard.kernels.arm_mla import dot
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
from aboard.kernels.requantisation import RequantisedLayer, requantised_alike
from aboard.kernels.view import View
from aboard.ops import fully_connected as op
from aboard.ops.weighted import Precision
from aboard.target import Target


@implements
class MlaRowsS8(Implementation):
    """int8: as `mla_s8`, with the loop over channels and the roundings in assembly."""

    op = "fully_connected"
    name = "mla_rows_s8"
    exact = True
    keys = frozenset({"arm_mla"})

    @override
    def refuses(self, node: Node, target: Target) -> str | None:
        reason = packing.refusal(node, Precision.INT8, op.AXIS)
        if reason is not None:
            return reason
        try:
            _layer(node)
        except UnsupportedNodeError as error:
            return str(error)
        return None

    @override
    def lower(self, node: Node, inputs: Sequence[View | None], outputs: Sequence[View], target: Target) -> KernelCall:
        layer, each = _layer(node)
        constants = {name: 0 if each else int(getattr(layer, name)[0]) for name in ("factor", "constant", "shift")}
        return KernelCall(
            header="arm_mla/fully_connected_rows.h",
            function="aboard_fully_connected_mla_rows",
            params_type="aboard_fully_connected_mla_rows_t",
            params={**shape_params(node, outputs[0]), **layer.params, "each": int(each), **constants},
            arguments=(
                InputArg(0, "const int8_t *"),
                OutputArg(0, "int8_t *"),
                ConstantArg(PackedConstant("weights", dot.rows(layer, each=each), form="int8")),
            ),
            rows=outputs[0].rows,
            code_variant=f"each={int(each)} single_rounding={int(layer.is_single_rounding)}",
            slow_epilogue=not layer.is_single_rounding,
            loops=loops.of_matrix(node, dot.BLOCK),
        )


def _layer(node: Node) -> tuple[RequantisedLayer, bool]:
    return requantised_alike(node, op.attributes(node).activation, op.AXIS, dot.SINGLE_SHIFT, swar=False, half=0)
