"""Functions of one real number on any core; those of int8 are tables (`kernels.lookup`)."""

from __future__ import annotations

from collections.abc import Mapping

from aboard.ir import DType, Node
from aboard.kernels.portable.elements import Elements
from aboard.kernels.registry import implement
from aboard.kernels.view import Literal
from aboard.ops.functions import is_plain
from aboard.ops.rescaling import scaling


def _rescaled(node: Node) -> Mapping[str, Literal]:
    """Returns how magnitudes of int16 are rescaled: not at all where there is no quantisation."""
    multiplier, shift = (1 << 30, 1) if is_plain(node) else scaling(node.input(0), node.output)
    return {"multiplier": multiplier, "shift": shift, "high": 32768 if is_plain(node) else 32767}


_FLOAT32 = ((DType.FLOAT32, DType.FLOAT32),)
_NAMES = ("abs", "neg", "square", "sqrt", "rsqrt", "exp", "log", "sin", "cos", "ceil", "floor", "round", "elu")

_CIRCULAR = ("acos", "acosh", "asin", "asinh", "atan", "atanh", "cosh", "sinh", "tan")
_SPECIAL = (*_CIRCULAR, "erf", "gelu", "gelu_tanh", "mish", "sign", "softplus")
_TESTS = ((DType.FLOAT32, DType.BOOL),)

implement(Elements, [{"op": op, "name": "portable_f32", "header": "functions.h", "types": _FLOAT32} for op in _NAMES])
implement(Elements, [{"op": op, "name": "portable_f32", "header": "special.h", "types": _FLOAT32} for op in _SPECIAL])
implement(Elements, [{"op": op, "name": "portable_f32", "header": "special.h", "types": _TESTS} for op in ("is_nan",)])
implement(
    Elements,
    [
        {
            "op": "abs",
            "name": "portable_s16",
            "header": "functions.h",
            "types": ((DType.INT16, DType.INT16),),
            "params_type": "abs_s16",
            "fields": staticmethod(_rescaled),
        }
    ],
)
