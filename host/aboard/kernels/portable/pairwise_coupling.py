"""pairwise_coupling in portable C."""

from __future__ import annotations

import math
from collections.abc import Sequence

from typing_extensions import override

from aboard.ir import Node
from aboard.kernels.contract import Implementation, InputArg, KernelCall, OutputArg, Scratch, ScratchArg
from aboard.kernels.registry import implements
from aboard.kernels.view import View
from aboard.ops.pairwise_coupling import ERROR, MOST_ITERATIONS, attributes
from aboard.target import Target

#: Instructions of an element of the matrix in an iteration (Cortex-M4, QEMU), and usual iterations.
_ELEMENT, _ITERATIONS = 45, 5


@implements
class PairwiseCouplingPortable(Implementation):
    """Iterations on a matrix of all pairs of classes, in scratch memory."""

    op, name = "pairwise_coupling", "portable_coupling_f32"

    @override
    def formula(self, node: Node) -> float | None:
        count = attributes(node).classes
        return math.prod(node.input(0).shape[:-1]) * _ITERATIONS * _ELEMENT * count * count

    @override
    def lower(self, node: Node, inputs: Sequence[View | None], outputs: Sequence[View], target: Target) -> KernelCall:
        count = attributes(node).classes
        return KernelCall(
            header="portable/pairwise_coupling.h",
            function="aboard_pairwise_coupling_f32",
            params_type="aboard_pairwise_coupling_f32_t",
            params={
                "samples": math.prod(node.input(0).shape[:-1]),
                "classes": count,
                "iterations": MOST_ITERATIONS,
                "error": ERROR,
            },
            arguments=(
                InputArg(0, "const float *"),
                OutputArg(0, "float *"),
                ScratchArg(Scratch(4 * count * (count + 1)), "float *"),
            ),
            rows=outputs[0].rows,
            step_rows=outputs[0].rows,
        )
