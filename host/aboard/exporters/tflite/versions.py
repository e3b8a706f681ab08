"""The version of each operator for its element types (`lite/tools/versioning/op_version.cc` of TensorFlow)."""

from __future__ import annotations

from aboard.ir import DType

#: Versions for float32, int8 and int16. Operators that are missing have version 1, and 2 for int8.
_VERSIONS = {
    "ADD": (1, 2, 3),
    "AVERAGE_POOL_2D": (1, 2, 3),
    "BATCH_MATMUL": (1, 2, 3),
    "CONCATENATION": (1, 2, 3),
    "CONV_2D": (1, 3, 4),
    "DEPTHWISE_CONV_2D": (1, 3, 5),
    "DEQUANTIZE": (1, 2, 3),
    "ELU": (1, 1, 1),
    "FULLY_CONNECTED": (6, 6, 7),
    "GATHER": (1, 2, 4),
    "HARD_SWISH": (1, 1, 1),
    "LEAKY_RELU": (1, 1, 2),
    "LOGISTIC": (1, 2, 3),
    "MAXIMUM": (1, 2, 3),
    "MAX_POOL_2D": (1, 2, 3),
    "MEAN": (1, 2, 3),
    "MINIMUM": (1, 2, 3),
    "MUL": (1, 2, 4),
    "PAD": (1, 2, 2),
    "PRELU": (1, 1, 1),
    "QUANTIZE": (1, 2, 2),
    "REDUCE_MAX": (1, 2, 3),
    "REDUCE_MIN": (1, 2, 3),
    "RESHAPE": (1, 1, 1),
    "RESIZE_BILINEAR": (3, 3, 4),
    "RESIZE_NEAREST_NEIGHBOR": (3, 3, 4),
    "SELECT_V2": (1, 1, 1),
    "SOFTMAX": (1, 2, 3),
    "SPLIT_V": (1, 2, 2),
    "STRIDED_SLICE": (1, 2, 4),
    "SUB": (1, 2, 3),
    "TANH": (1, 2, 3),
    "TRANSPOSE": (1, 2, 4),
}

_OTHERS = (1, 2, 2)


def version(kind: str, dtype: DType) -> int:
    """Returns the version of an operator whose first tensor of numbers has an element type."""
    of_float, of_int8, of_int16 = _VERSIONS.get(kind, _OTHERS)
    return {DType.INT8: of_int8, DType.INT16: of_int16}.get(dtype, of_float)
