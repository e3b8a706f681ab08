"""Products of matrices for cores with the DSP extension (Cortex-M4, M7, M33): int8."""

from __future__ import annotations

import math
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

#: ABOARD_MATMUL_DSP_COLUMNS and _GROUP of `arm_dsp/batch_matmul.h`, and the bytes of ABOARD_MATMUL_DSP_WORDS.
_COLUMNS, _GROUP, _GROUP_BYTES = 4, 4, 32

#: Instructions of four columns and of a row: a group of elements, an element of a row stored by columns, and the rest.
_PACKED_GROUP, _PACKED, _ROW_GROUP, _GATHERED, _ROW = 96, 80, 21, 4, 80


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
        found, gathered = extents_of(node), extents_of(node).depth if attributes(node).adj_x else 0
        groups, blocks = -(-found.depth // _GROUP), math.prod(found.batches) * -(-found.cols // _COLUMNS)
        columns = ScratchArg(Scratch(_GROUP_BYTES * groups), "uint32_t *")
        row = ScratchArg(Scratch(gathered), "int8_t *")
        of_row = _ROW + _ROW_GROUP * groups + _GATHERED * gathered
        return replace(
            call,
            header="arm_dsp/batch_matmul.h",
            function="aboard_batch_matmul_dsp",
            arguments=(*call.arguments, columns, row),
            loops=blocks * (_PACKED + _PACKED_GROUP * groups + found.rows * of_row),
        )
