"""The shape to which two shapes broadcast, on any core."""

from __future__ import annotations

from collections.abc import Sequence

from typing_extensions import override

from aboard.ir import Node
from aboard.kernels.contract import Implementation, InputArg, KernelCall, OutputArg
from aboard.kernels.registry import implements
from aboard.kernels.view import View
from aboard.target import Target


@implements
class BroadcastArgsPortable(Implementation):
    """One loop over the axes."""

    op = "broadcast_args"
    name = "portable"

    @override
    def lower(self, node: Node, inputs: Sequence[View | None], outputs: Sequence[View], target: Target) -> KernelCall:
        ctype, bits = node.output.dtype.c, 8 * node.output.dtype.bytes
        (one,), (other,) = node.input(0).shape, node.input(1).shape
        return KernelCall(
            header="portable/broadcast_args.h",
            function=f"aboard_broadcast_args_s{bits}",
            params_type="aboard_broadcast_args_t",
            params={"one": one, "other": other},
            arguments=(InputArg(0, f"const {ctype} *"), InputArg(1, f"const {ctype} *"), OutputArg(0, f"{ctype} *")),
            rows=outputs[0].rows,
        )
