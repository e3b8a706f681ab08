"""circular_buffer on any core."""

from __future__ import annotations

from collections.abc import Sequence

from typing_extensions import override

from aboard.ir import Node
from aboard.kernels.contract import Implementation, InputArg, KernelCall, OutputArg
from aboard.kernels.registry import implements
from aboard.kernels.view import View
from aboard.target import Target


@implements
class CircularBufferPortable(Implementation):
    """One move within the state, which is the result's memory where that is possible."""

    op = "circular_buffer"
    name = "portable_s8"
    in_place = ((0, 1),)

    @override
    def lower(self, node: Node, inputs: Sequence[View | None], outputs: Sequence[View], target: Target) -> KernelCall:
        slot = node.input(0).type.elements
        return KernelCall(
            header="portable/circular_buffer.h",
            function="aboard_circular_buffer_s8",
            params_type="aboard_circular_buffer_t",
            params={"slot": slot, "kept": node.output.type.elements - slot},
            arguments=(InputArg(0, "const int8_t *"), InputArg(1, "const int8_t *"), OutputArg(0, "int8_t *")),
            rows=outputs[0].rows,
            step_rows=outputs[0].rows,
        )
