"""cast: values in another element type, without quantisation."""

from __future__ import annotations

import numpy as np
from typing_extensions import override

from aboard.ir import DType, Node
from aboard.ops.broadcasting import Broadcasting, Numbers
from aboard.ops.registry import register

OPERANDS = (DType.BOOL, DType.INT8, DType.INT16, DType.INT32, DType.UINT32, DType.FLOAT32)
RESULTS = (DType.INT8, DType.INT16, DType.INT32, DType.UINT32, DType.FLOAT32)


@register
class Cast(Broadcasting):
    """The same number in another type; scales are not looked at.

    Integers keep their lowest bits. Floats are cut off to the next integer toward 0. What 32 bits cannot hold becomes
    the nearest int32 or uint32, and NaN 0, which the reference leaves undefined.
    """

    name = "cast"
    tflite = ("CAST",)
    signatures = tuple(((operand,), result) for operand in OPERANDS for result in RESULTS)

    @override
    def compute(self, node: Node, *operands: Numbers) -> Numbers:
        (x,) = operands
        if not node.input(0).dtype.is_float or node.output.dtype.is_float:
            return x
        info = np.iinfo(np.uint32 if node.output.dtype is DType.UINT32 else np.int32)
        bounded = np.clip(x.astype(np.float64), float(info.min), float(info.max))
        return np.nan_to_num(bounded, nan=0.0).astype(np.int64)
