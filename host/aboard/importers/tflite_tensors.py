"""Converts tensors of a TFLite file to types of the IR, or reports a wrong element type, shape or quantisation.

Problems are text, `<what>, got <x>, expected <y>. <what to do>`, without the name of the tensor, because many
tensors of a file have the same problem.
"""

from __future__ import annotations

import math
from collections.abc import Iterable

import numpy as np

from aboard import ops
from aboard.importers.tflite_file import FileTensor, Subgraph, type_name
from aboard.ir import Array, DType, Quantization, TensorType

_TYPES = {dtype.value.upper(): dtype for dtype in DType}
_MAX_RANK = 6
_MAX_BYTES = 2**31 - 1

#: Types without quantisation; some converters write one nevertheless.
_UNQUANTIZED = (DType.FLOAT16, DType.FLOAT32, DType.BOOL)

#: Types whose arithmetic uses the scale, which must not be 0.
_SCALED = (DType.INT8, DType.UINT8, DType.INT16)

#: Operators whose weights may be packed as int4.
PACKED_KINDS = ("CONV_2D", "DEPTHWISE_CONV_2D", "FULLY_CONNECTED")


def biases(subgraph: Subgraph) -> frozenset[int]:
    """Returns the numbers of the tensors that operators read only as a bias.

    The importer ignores the quantisation of a bias, as kernels do. By definition, the scale of a bias is the scale of
    the sums (scale of the input times scale of the weights). Many files state a meaningless scale instead.
    """
    as_bias, otherwise = set[int](), set[int]()
    for operator in subgraph.operators:
        bias = ops.tflite_bias(operator.kind)
        for index, number in enumerate(operator.inputs):
            (as_bias if index == bias else otherwise).add(number)
    return frozenset(as_bias - otherwise)


def packed_weights(subgraph: Subgraph) -> frozenset[int]:
    """Returns the numbers of int4 constants that operators with int8 operands read only as weights.

    They are read as int8: TensorFlow Lite Micro unpacks them before it computes with the kernels for int8 weights.
    """
    as_weights, otherwise = set[int](), {*subgraph.inputs, *subgraph.outputs}
    for operator in subgraph.operators:
        otherwise.update(operator.outputs)
        first = next(iter(operator.inputs), -1)
        known = operator.kind in PACKED_KINDS and first >= 0 and type_name(subgraph.tensors[first].type) == "INT8"
        for index, number in enumerate(operator.inputs):
            (as_weights if known and index == 1 else otherwise).add(number)
    found = as_weights - otherwise
    return frozenset(number for number in found if number >= 0 and type_name(subgraph.tensors[number].type) == "INT4")


def unpacked(content: bytes, elements: int) -> bytes | None:
    """Returns int4 values, two in a byte and the first in the low half, as int8; None for another number of bytes."""
    if len(content) != (elements + 1) // 2:
        return None
    packed = np.frombuffer(content, np.int8)
    halves = np.stack([np.left_shift(packed, 4) >> 4, packed >> 4], axis=-1)
    return halves.reshape(-1)[:elements].tobytes()


def problem(tensor: FileTensor, *, computed: bool, bias: bool) -> str | None:
    """Returns why a tensor is unsupported, and advice; None for a supported tensor.

    Args:
        tensor: The tensor of the file.
        computed: True if its values are known only at run time.
        bias: True if operators read it only as a bias.
    """
    if type_name(tensor.type) not in _TYPES:
        return (
            f"element type, got {type_name(tensor.type)}, expected one of {', '.join(sorted(_TYPES))}. "
            "Convert the model to int8 or float32"
        )
    if any(size < (1 if computed else 0) for size in tensor.shape):
        return (
            f"shape, got {list(tensor.shape)}, expected dimensions of at least 1. "
            "Export the model with a fixed input shape"
        )
    if len(tensor.shape) > _MAX_RANK:
        return f"shape of {len(tensor.shape)} dimensions, expected at most {_MAX_RANK}. Reshape it in the model"
    dtype = _TYPES[type_name(tensor.type)]
    if TensorType(tensor.shape, dtype).bytes > _MAX_BYTES:
        return f"shape, got {list(tensor.shape)}, expected less than 2 GB in all. Use a smaller model"
    if tensor.sparse:
        return "sparse constants are not supported. Convert the model without sparsity"
    return None if bias or dtype in _UNQUANTIZED else _quantization_problem(tensor, dtype, computed)


def tensor_type(tensor: FileTensor, *, bias: bool) -> TensorType:
    """Returns the type of a tensor for which `problem` is None."""
    dtype = _TYPES[type_name(tensor.type)]
    quantized = tensor.scales and not bias and dtype not in _UNQUANTIZED
    return TensorType(tensor.shape, dtype, _quantization(tensor) if quantized else None)


def values(content: bytes, tensor_type: TensorType) -> Array:
    """Returns the values of a constant from its buffer, whose size fits the type."""
    stored = np.dtype(np.uint8) if tensor_type.dtype is DType.BOOL else tensor_type.dtype.numpy.newbyteorder("<")
    array = np.frombuffer(content, stored).reshape(tensor_type.shape)
    return (array != 0) if tensor_type.dtype is DType.BOOL else array.astype(tensor_type.dtype.numpy, copy=False)


def _quantization_problem(tensor: FileTensor, dtype: DType, computed: bool) -> str | None:
    if tensor.unknown_quantization:
        return (
            f"quantisation, got {tensor.unknown_quantization}, expected scales and zero points. "
            "Convert the model with one scale for a tensor or a channel"
        )
    count = len(tensor.scales)
    wrong = _scale_problem(tensor.scales, zero_allowed=not computed or dtype not in _SCALED)
    if wrong is not None or not count:
        return wrong
    if dtype in _SCALED and not tensor.zero_points:
        return (
            f"quantisation, got {count} scales without zero points, expected as many of both. Quantise the model again"
        )
    if len(tensor.zero_points) not in (0, 1, count) and len(set(tensor.zero_points)) > 1:
        return (
            f"quantisation, got {count} scales and {len(tensor.zero_points)} zero points, expected as many of both. "
            "Quantise the model again"
        )
    limits = np.iinfo(dtype.value)
    outside = next((point for point in tensor.zero_points if not limits.min <= point <= limits.max), None)
    if outside is not None:
        return f"zero point, got {outside}, expected a value of {dtype.value}. Quantise the model again"
    rank = len(tensor.shape)
    if count > 1 and not (0 <= tensor.axis < rank and tensor.shape[tensor.axis] == count):
        return (
            f"quantisation, got {count} scales along axis {tensor.axis} of shape {list(tensor.shape)}, "
            "expected one for each index of an axis. Quantise the model again"
        )
    return None


def _scale_problem(scales: Iterable[float], *, zero_allowed: bool) -> str | None:
    """Returns the error in the scales as text, or None.

    A constant may have the scale 0: all its values are 0, or no op reads its scale. Ops that divide by the scale refuse
    it.
    """
    wrong = next((s for s in scales if not math.isfinite(s) or s < 0 or (s == 0 and not zero_allowed)), None)
    if wrong is None:
        return None
    return f"scale, got {wrong}, expected a positive number. Quantise the model again"


def _quantization(tensor: FileTensor) -> Quantization:
    count = len(tensor.scales)
    points = tensor.zero_points or (0,)
    zero_points = points if len(points) == count else points[:1] * count
    return Quantization(tensor.scales, zero_points, tensor.axis if count > 1 else None)
