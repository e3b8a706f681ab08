"""Products of matrices for cores with the DSP extension (Cortex-M4, M7, M33): int8."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from typing_extensions import override

from aboard.ir import DType, Node
from aboard.kernels.contract import KernelCall, Scratch, ScratchArg
from aboard.kernels.portable.batch_matmul import BatchMatmulPortable, extents_of
from aboard.kernels.registry import implements
from aboard.kernels.view import View
from aboard.ops.batch_matmul import attributes
from aboard.target import Target

#: ABOARD_MATMUL_DSP_GROUP of `arm_dsp/batch_matmul.h`, and the bytes of ABOARD_MATMUL_DSP_WORDS.
_GROUP, _GROUP_BYTES = 4, 32


@implements
class BatchMatmulDsp(BatchMatmulPortable):
    """Four columns at once, packed for all rows."""

    name = "dsp_s8"
    keys = frozenset({"arm_dsp"})

    @override
    def refuses(self, node: Node, target: Target) -> str | None:
        """Refuses other element types."""
        return super().refuses(node, target) or (None if node.output.dtype is DType.INT8 else "is for int8")

    @override
    def lower(self, node: Node, inputs: Sequence[View | None], outputs: Sequence[View], target: Target) -> KernelCall:
        call = super().lower(node, inputs, outputs, target)
        depth = extents_of(node).depth
        columns = ScratchArg(Scratch(_GROUP_BYTES * -(-depth // _GROUP)), "uint32_t *")
        row = ScratchArg(Scratch(depth if attributes(node).adj_x else 0), "int8_t *")
        return replace(
            call,
            header="arm_dsp/batch_matmul.h",
            function="aboard_batch_matmul_dsp",
            arguments=(*call.arguments, columns, row),
        )
