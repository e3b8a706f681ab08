"""squared_distance in portable C."""

from __future__ import annotations

import math
from collections.abc import Sequence

from typing_extensions import override

from aboard import ops
from aboard.ir import Node
from aboard.kernels.contract import Implementation, InputArg, KernelCall, OutputArg
from aboard.kernels.registry import implements
from aboard.kernels.view import View
from aboard.target import Target

#: Instructions of a feature of a point, and of a point (Cortex-M4, QEMU).
_FEATURE, _POINT = 6, 8


@implements
class SquaredDistancePortable(Implementation):
    """One point after the other."""

    op, name = "squared_distance", "portable_distance_f32"

    @override
    def formula(self, node: Node) -> float | None:
        return _FEATURE * ops.get(node.op).macs(node) + _POINT * node.output.type.elements

    @override
    def lower(self, node: Node, inputs: Sequence[View | None], outputs: Sequence[View], target: Target) -> KernelCall:
        points, features = node.input(1).shape
        return KernelCall(
            header="portable/squared_distance.h",
            function="aboard_squared_distance_f32",
            params_type="aboard_squared_distance_f32_t",
            params={"samples": math.prod(node.input(0).shape[:-1]), "features": features, "points": points},
            arguments=(InputArg(0, "const float *"), InputArg(1, "const float *"), OutputArg(0, "float *")),
            rows=outputs[0].rows,
            step_rows=outputs[0].rows,
        )
