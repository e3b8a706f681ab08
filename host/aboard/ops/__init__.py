"""Ops: the definition of each operation. One op, or one family of ops, per file; `registry` finds them all."""

from aboard.ops.registry import (
    Op,
    SourceNode,
    from_tflite,
    get,
    names,
    of_tflite,
    register,
    require,
    rows_of,
    tflite_bias,
    tflite_kinds,
    tflite_types,
    tflite_updates,
)
from aboard.ops.sharing import Share

__all__ = [
    "Op",
    "Share",
    "SourceNode",
    "from_tflite",
    "get",
    "names",
    "of_tflite",
    "register",
    "require",
    "rows_of",
    "tflite_bias",
    "tflite_kinds",
    "tflite_types",
    "tflite_updates",
]
