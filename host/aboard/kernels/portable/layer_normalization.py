"""layer_normalization on any core."""

from __future__ import annotations

from collections.abc import Sequence

from typing_extensions import override

from aboard.ir import Node
from aboard.kernels.contract import Implementation, InputArg, KernelCall, OutputArg
from aboard.kernels.portable.elementwise import present
from aboard.kernels.registry import implements
from aboard.kernels.view import View
from aboard.ops.layer_normalization import attributes
from aboard.target import Target


@implements
class LayerNormalizationF32(Implementation):
    """Three passes over each pixel."""

    op, name = "layer_normalization", "portable_f32"
    in_place = ((0, 0),)
    strided = True
    by_rows = True

    @override
    def lower(self, node: Node, inputs: Sequence[View | None], outputs: Sequence[View], target: Target) -> KernelCall:
        source, result, attrs = present(inputs)[0], outputs[0], attributes(node)
        return KernelCall(
            header="portable/layer_normalization.h",
            function="aboard_layer_normalization_f32",
            params_type="aboard_layer_normalization_t",
            params={
                "in": source.literal(),
                "out": result.literal(),
                "epsilon": attrs.epsilon,
                "is_centred": int(attrs.is_centred),
            },
            arguments=(*(InputArg(index, "const float *") for index in range(3)), OutputArg(0, "float *")),
            rows=result.rows,
        )
