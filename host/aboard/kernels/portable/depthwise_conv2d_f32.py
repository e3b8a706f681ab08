"""depthwise_conv2d in portable C: float32, and float32 with int8 weights."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from typing_extensions import override

from aboard.ir import Node
from aboard.kernels import weights as packing
from aboard.kernels.contract import ConstantArg, InputArg, KernelCall, OutputArg, PackedConstant
from aboard.kernels.portable.depthwise_conv2d import params_of_shape
from aboard.kernels.registry import implements
from aboard.kernels.view import View
from aboard.kernels.windowed import Windowed
from aboard.ops import depthwise_conv2d as op
from aboard.ops.conv2d import attributes
from aboard.ops.weighted import INPUT, Precision
from aboard.target import Target


class _PortableFloat(Windowed):
    """Both float forms: channel by channel, no scratch."""

    op = "depthwise_conv2d"
    by_rows = True
    form: Precision

    function: str

    @override
    def refuses(self, node: Node, target: Target) -> str | None:
        return packing.refusal(node, self.form, op.AXIS)

    @override
    def lower(self, node: Node, inputs: Sequence[View | None], outputs: Sequence[View], target: Target) -> KernelCall:
        x, y = packing.view(inputs), outputs[0]
        constants = np.ascontiguousarray(packing.float_constants(node, op.AXIS).T)
        return KernelCall(
            header="portable/depthwise_conv2d_f32.h",
            function=self.function,
            params_type="aboard_depthwise_conv2d_f32_t",
            params={
                "shape": params_of_shape(node, x, y),
                **packing.float_clamp(attributes(node).activation),
            },
            arguments=(
                InputArg(INPUT, "const float *"),
                OutputArg(0, "float *"),
                ConstantArg(PackedConstant("weights", np.ascontiguousarray(packing.matrix(node, op.AXIS)))),
                ConstantArg(PackedConstant("constants", constants)),
            ),
            rows=y.rows,
        )


@implements
class PortableF32(_PortableFloat):
    """float32 throughout."""

    name = "portable_f32"
    form = Precision.FLOAT
    function = "aboard_depthwise_conv2d_f32"


@implements
class PortableF32W8(_PortableFloat):
    """float32 with int8 weights, which stay int8 in flash."""

    name = "portable_f32_w8"
    form = Precision.HYBRID
    function = "aboard_depthwise_conv2d_f32_w8"
