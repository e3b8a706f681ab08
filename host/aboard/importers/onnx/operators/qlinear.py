"""QLinear operators: layers whose operands and results are 8-bit integers, with scales and zero points as operands.

They are read as the layer between DequantizeLinear and QuantizeLinear, which a pass makes an integer layer. Products
with weights that have zero points, or that are computed, are exact sums which are rescaled in float32.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from aboard.importers.onnx.builder import Builder
from aboard.importers.onnx.operator import Operator, readers, reads
from aboard.importers.onnx.operators.integers import BYTES, matrix_sums, window_sums
from aboard.importers.onnx.operators.quantisation import dequantize, quantize
from aboard.ir import DType, Tensor

#: Operands of QLinearConv and QLinearMatMul.
_X, _WEIGHTS, _RESULT, _BIAS = (0, 1, 2), (3, 4, 5), (6, 7), 8


@reads("QLinearMatMul")
def qlinear_matmul(source: Operator, make: Builder) -> Tensor:
    """Products of real numbers, rounded to steps of the result."""
    if not _symmetric(source):
        return _rescaled(source, make, matrix_sums(source, make, (0, 2), (3, 5)), None)
    x, weights = _real(source, make, _X), _real(source, make, _WEIGHTS, axis=-1)
    return _steps(source, make, _layer(source, make, "MatMul", [x, weights]), _RESULT)


@reads("QLinearConv")
def qlinear_conv(source: Operator, make: Builder) -> Tensor:
    """Convolution of real numbers with a bias in steps of both scales, rounded to steps of the result."""
    bias = None if source.optional(_BIAS) is None else source.constant(_BIAS)
    if not _symmetric(source):
        total = window_sums(source, make, (0, 2), (3, 5))
        if bias is not None:
            shaped = bias.reshape(-1, *[1] * (len(total.shape) - 2))
            total = make.op("add", [total, make.array(shaped, DType.INT32)])
        return _rescaled(source, make, total, 1)
    inputs: list[Tensor | None] = [_real(source, make, _X), _real(source, make, _WEIGHTS, axis=0)]
    if bias is not None:
        scales = source.constant(1).reshape(-1).astype(np.float64) * source.constant(4).reshape(-1).astype(np.float64)
        inputs.append(make.array((bias.astype(np.float64) * scales).astype(np.float32)))
    return _steps(source, make, _layer(source, make, "Conv", inputs), _RESULT)


@reads("com.microsoft.QGemm")
def qgemm(source: Operator, make: Builder) -> Tensor:
    """Products of real numbers and a bias in steps of both scales; real numbers without a scale of the result.

    Raises:
        ModelError: The bias is computed at run time.
    """
    options = {"alpha": 1.0, "transA": 0, "transB": 0, **source.options}
    axis = 0 if options["transB"] else 1
    inputs: list[Tensor | None] = [_real(source, make, _X), _real(source, make, _WEIGHTS, axis=axis)]
    if source.optional(6) is not None:
        scales = source.constant(1).reshape(-1).astype(np.float64) * source.constant(4).reshape(-1).astype(np.float64)
        bias = source.constant(6).astype(np.float64) * scales * float(options["alpha"])
        inputs.append(make.array(bias.astype(np.float32)))
    made = _layer(source, make, "Gemm", inputs, {**options, "beta": 1.0})
    return made if source.optional(7) is None else _steps(source, make, made, (7, 8))


def _symmetric(source: Operator) -> bool:
    """True for constant weights whose zero points stand for signed integers without zero points."""
    if source.input(3).data is None or source.constant(4).ndim > 1:
        return False
    zero = 128 if source.input(3).dtype is DType.UINT8 else 0
    return bool(np.all(source.constant(5) == zero))


@reads("com.microsoft.QLinearAdd", "com.microsoft.QLinearMul")
def arithmetic(source: Operator, make: Builder) -> Tensor:
    """Two operands, each with its scale and zero point."""
    operands = [_real(source, make, place) for place in ((0, 1, 2), (3, 4, 5))]
    return _steps(source, make, _layer(source, make, _plain(source), operands), (6, 7))


@reads("com.microsoft.QLinearLeakyRelu", "com.microsoft.QLinearSigmoid")
def activation(source: Operator, make: Builder) -> Tensor:
    """One operand with its scale and zero point."""
    defaults = {"alpha": 0.01} if source.kind.endswith("LeakyRelu") else {}
    made = _layer(source, make, _plain(source), [_real(source, make, _X)], defaults)
    return _steps(source, make, made, (3, 4))


@reads("com.microsoft.QLinearGlobalAveragePool")
def global_pool(source: Operator, make: Builder) -> Tensor:
    """Means of the pixels.

    Raises:
        ModelError: Channels are last.
    """
    return _pooled(source, make, "GlobalAveragePool")


@reads("com.microsoft.QLinearAveragePool")
def average_pool(source: Operator, make: Builder) -> Tensor:
    """Means of windows.

    Raises:
        ModelError: Channels are last.
    """
    return _pooled(source, make, "AveragePool", {"auto_pad": "NOTSET", "ceil_mode": 0, "count_include_pad": 0})


def _pooled(source: Operator, make: Builder, kind: str, defaults: dict[str, Any] | None = None) -> Tensor:
    if source.options.get("channels_last", 0):
        raise source.unsupported("channels_last, got 1, expected 0. Quantise with QuantizeLinear and DequantizeLinear")
    return _steps(source, make, _layer(source, make, kind, [_real(source, make, _X)], defaults), (3, 4))


@reads("com.microsoft.QLinearSoftmax")
def softmax(source: Operator, make: Builder) -> Tensor:
    """Over one axis; with `opset` below 13, over all axes from one on."""
    options = {"axis": -1, **source.options}
    inner = dataclasses.replace(
        source,
        kind="Softmax",
        inputs=[_real(source, make, _X)],
        options=options,
        since=13 if int(source.options.get("opset", 13)) >= 13 else 1,
    )
    return _steps(source, make, _one(readers()["Softmax"](inner, make)), (3, 4))


@reads("com.microsoft.QLinearConcat")
def concat(source: Operator, make: Builder) -> Tensor:
    """Operands with scale and zero point each, behind those of the result."""
    places = [(first, first + 1, first + 2) for first in range(2, len(source.inputs), 3)]
    return _steps(source, make, _layer(source, make, "Concat", [_real(source, make, each) for each in places]), (0, 1))


def _plain(source: Operator) -> str:
    return source.kind.removeprefix("QLinear")


def _layer(
    source: Operator,
    make: Builder,
    kind: str,
    inputs: Sequence[Tensor | None],
    defaults: Mapping[str, Any] | None = None,
) -> Tensor:
    """Adds the operator of real numbers with the attributes of the node."""
    options = {**(defaults or {}), **source.options}
    return _one(readers()[kind](dataclasses.replace(source, kind=kind, inputs=list(inputs), options=options), make))


def _one(made: Tensor | Sequence[Tensor | None]) -> Tensor:
    """Returns the only result of a reader."""
    return made if isinstance(made, Tensor) else next(each for each in made if each is not None)


def _real(source: Operator, make: Builder, place: Sequence[int], axis: int = 0) -> Tensor:
    """Returns the real numbers of an operand; `place` has the indices of operand, scales and zero points."""
    inputs = [source.optional(index) for index in place]
    return _one(dequantize(dataclasses.replace(source, inputs=inputs, options={"axis": axis}), make))


def _steps(source: Operator, make: Builder, real: Tensor, place: Sequence[int]) -> Tensor:
    """Returns real numbers in steps of the result; `place` has the indices of its scale and zero point."""
    inputs = [real, *(source.optional(index) for index in place)]
    return _one(quantize(dataclasses.replace(source, inputs=inputs, options={}), make))


def _rescaled(source: Operator, make: Builder, total: Tensor, axis: int | None) -> Tensor:
    """Returns sums in steps of the result: rounded to the nearest, ties to even, and saturated.

    Args:
        source: The node.
        make: Makes the nodes.
        total: The sums, int32.
        axis: Of the result that several scales of the second operand belong to; None for the last.
    """
    first, second, result = (source.constant(index).astype(np.float32) for index in (1, 4, 6))
    zero = source.constant(7)
    if first.size != 1 or result.size != 1 or zero.size != 1 or source.input(7).dtype not in BYTES:
        raise source.unsupported(
            f"{first.size} scales of the input, {result.size} of the result and {zero.size} zero points of "
            f"{zero.dtype.name}, expected one each, and int8 or uint8. Quantise activations per tensor"
        )
    factor = first.reshape(-1) * second / result.reshape(-1)
    if axis is not None and second.size > 1:
        factor = factor.reshape(-1, *[1] * (len(total.shape) - 1 - axis))
    elif second.size == 1:
        factor = factor.reshape(())
    steps = make.op("round", [make.op("mul", [make.cast(total, DType.FLOAT32), make.array(factor)])])
    # Whole steps times the scale, divided by it, are whole again after rounding.
    return _steps(source, make, make.op("mul", [steps, make.scalar(float(result.reshape(-1)[0]))]), _RESULT)
