"""The functions of a model's header that convert real numbers to its inputs, and its outputs to real numbers."""

from __future__ import annotations

import numpy as np

from aboard.ir import DType, Tensor
from aboard.target import Target

_TYPES = (DType.INT8, DType.UINT8, DType.INT16)


def function(name: str, kind: str, index: int, tensor: Tensor, alone: bool, target: Target) -> list[str]:
    """Returns the function of an input or output with one scale; empty for any other tensor.

    Args:
        name: C identifier of the model.
        kind: `input` or `output`.
        index: Number of the tensor.
        tensor: The tensor.
        alone: True if the model has no other of this kind; the function then has a name without a number too.
        target: Decides how ties are rounded.
    """
    quant = tensor.type.quant
    if tensor.dtype not in _TYPES or quant is None or quant.per_channel or kind not in ("input", "output"):
        return []
    prefix, verb = f"{name.upper()}_{kind.upper()}_{index}", "quantize" if kind == "input" else "dequantize"
    full = f"{name}_{verb}_{kind}_{index}"
    lines = _quantize(full, prefix, tensor, target) if kind == "input" else _dequantize(full, prefix, tensor)
    if alone:
        lines += [f"/** {full}, as there is one {kind}. */", f"#define {name}_{verb}_{kind} {full}"]
    return lines


def _quantize(full: str, prefix: str, tensor: Tensor, target: Target) -> list[str]:
    info = np.iinfo(tensor.dtype.value)
    even = int(target.host.attrs["arithmetic"] == "exact")
    ties = "ties to even" if even else "ties away from zero"
    return [
        "/**",
        f" * Converts real numbers to {tensor.dtype.value} of this input: to the nearest, {ties}; what is out of range",
        " * becomes the end of the range, and NaN its lowest value.",
        " *",
        " * @param real    Numbers, in the order of the input.",
        f" * @param values  Where to write, such as the input's address. {prefix}_ELEMENTS is the whole input.",
        " * @param count   How many.",
        " */",
        f"static inline void {full}(const float *real, {tensor.dtype.c} *values, size_t count) {{",
        "    for (size_t i = 0; i < count; ++i) {",
        f"        values[i] = ({tensor.dtype.c})aboard_quantize_real(",
        f"            real[i], {prefix}_SCALE, {prefix}_ZERO_POINT, {int(info.min)}, {int(info.max)}, {even});",
        "    }",
        "}",
    ]


def _dequantize(full: str, prefix: str, tensor: Tensor) -> list[str]:
    return [
        "/**",
        f" * Converts {tensor.dtype.value} of this output to real numbers.",
        " *",
        f" * @param values  Values, such as those at the output's address. {prefix}_ELEMENTS is the whole output.",
        " * @param real    Where to write the numbers.",
        " * @param count   How many.",
        " */",
        f"static inline void {full}(const {tensor.dtype.c} *values, float *real, size_t count) {{",
        "    for (size_t i = 0; i < count; ++i) {",
        f"        real[i] = {prefix}_SCALE * (float)(values[i] - {prefix}_ZERO_POINT);",
        "    }",
        "}",
    ]
