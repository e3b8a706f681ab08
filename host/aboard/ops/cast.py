"""cast: values in another element type, without quantisation."""

from __future__ import annotations

import numpy as np
from typing_extensions import override

from aboard.ir import DType, Node
from aboard.ops.broadcasting import WHOLE, Broadcasting, Numbers
from aboard.ops.registry import register

OPERANDS = (DType.BOOL, DType.INT8, DType.INT16, DType.INT32, DType.UINT32, DType.FLOAT32)
RESULTS = (DType.INT8, DType.INT16, DType.INT32, DType.UINT32, DType.FLOAT32, DType.BOOL)

#: Further types, of operand or result, which TensorFlow Lite Micro does not cast.
_EVERY = (*WHOLE, DType.BOOL, DType.FLOAT32)
_TFLITE = tuple(((operand,), result) for operand in OPERANDS for result in RESULTS)


@register
class Cast(Broadcasting):
    """The same number in another type; scales are not looked at.

    To bool, every number but 0 is true. Integers keep their lowest bits. Floats are cut off to the next integer toward
    0. What 32 bits cannot hold becomes the nearest int32 or uint32, and NaN 0, which the reference leaves undefined.
    """

    name = "cast"
    tflite = ("CAST",)
    signatures = _TFLITE
    plain_signatures = tuple(
        ((operand,), result) for operand in _EVERY for result in _EVERY if ((operand,), result) not in _TFLITE
    )

    @override
    def compute(self, node: Node, *operands: Numbers) -> Numbers:
        (x,) = operands
        result = node.output.dtype
        if result is DType.BOOL:
            return np.asarray(x != 0)
        if not node.input(0).dtype.is_float or result.is_float:
            return x
        if result in (DType.INT64, DType.UINT64):
            return _cut_off_wide(x)
        info = np.iinfo(np.uint32 if result is DType.UINT32 else np.int32)
        bounded = np.clip(x.astype(np.float64), float(info.min), float(info.max))
        return np.nan_to_num(bounded, nan=0.0).astype(np.int64)


def _cut_off_wide(x: Numbers) -> Numbers:
    """Returns the int64 next to numbers toward 0; float32 has no number between the largest int64 and 2^63."""
    inside = (x < 2.0**63) & (x >= -(2.0**63))
    limit = np.where(x > 0, np.iinfo(np.int64).max, np.where(x < 0, np.iinfo(np.int64).min, 0))
    return np.where(inside, np.where(inside, x, 0).astype(np.int64), limit)
