"""Real numbers and what stores them: the values of a tensor, and the float32 form of an operator."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import TypeAlias

import numpy as np
import numpy.typing as npt

from aboard.errors import VerifyError
from aboard.ir import Array, Attributes, DType, Node, Quantization, Tensor, TensorType
from aboard.ops import pad, registry
from aboard.ops.weighted import BIAS, INPUT, WEIGHTS, channel_scales

Reals: TypeAlias = npt.NDArray[np.float64]


def real_bias(node: Node) -> Reals | None:
    """Returns the real numbers of a layer's bias, whose scale is that of the products; None without such a bias."""
    axis = registry.get(node.op).weights_axis
    bias = None if axis is None else node.optional_input(BIAS)
    if axis is None or bias is None or bias.data is None or bias.data.dtype.kind != "i":
        return None
    operand, weights = node.input(INPUT), node.input(WEIGHTS)
    if not is_quantised(operand) or not is_quantised(weights):
        return None
    scales = np.array(channel_scales(node, axis)) * operand.quant.scale
    return np.asarray(bias.data.astype(np.float64) * scales.reshape(-1)[: bias.data.size].reshape(bias.data.shape))


def real_node(node: Node, constants: Sequence[Reals | None]) -> Node | None:
    """Returns a node with float32 tensors in place of quantised ones; None if its op does not compute with them.

    Args:
        node: The node.
        constants: The real numbers of its constant operands, None for the others.
    """
    bias = BIAS if real_bias(node) is not None else None
    inputs = [
        None if tensor is None else _real_tensor(tensor, constant, number == bias or _stands_for_reals(tensor))
        for number, (tensor, constant) in enumerate(zip(node.inputs, constants, strict=True))
    ]
    outputs = [_real_tensor(tensor, None, _stands_for_reals(tensor)) for tensor in node.outputs]
    made = Node(node.op, node.name, inputs, outputs, _real_attributes(node), node.sources)
    op = registry.get(node.op)
    try:
        op.verify(made)
        fits = [each.shape for each in op.infer(made)] == [tensor.shape for tensor in outputs]
    except VerifyError:
        return None
    return made if fits else None


def _real_tensor(tensor: Tensor, constant: Reals | None, stands_for_reals: bool) -> Tensor:
    if not stands_for_reals and constant is None:
        return tensor
    dtype = DType.FLOAT32 if stands_for_reals else tensor.dtype
    data = None if constant is None else constant.astype(dtype.numpy)
    return Tensor(tensor.name, TensorType(tensor.shape, dtype), data, tensor.source)


def _real_attributes(node: Node) -> Attributes:
    attrs = replace(node.attrs, rounding=Attributes().rounding)
    operand = node.optional_input(INPUT)
    if isinstance(attrs, pad.PadAttributes) and operand is not None and is_quantised(operand):
        quant = operand.quant
        return replace(attrs, value=float((attrs.value - quant.zero_point) * quant.scale))
    return attrs


def is_quantised(tensor: Tensor) -> bool:
    """True if integers with a scale are stored."""
    return tensor.type.quant is not None and tensor.dtype.numpy.kind in "iu"


def _stands_for_reals(tensor: Tensor) -> bool:
    return is_quantised(tensor) or tensor.dtype is DType.FLOAT16


def _columns(numbers: Sequence[float] | Sequence[int], quant: Quantization, rank: int) -> Reals:
    """Returns scales or zero points in a shape that broadcasts along the tensor."""
    if len(numbers) == 1:
        return np.array(numbers[0], np.float64)
    shape = [1] * rank
    shape[quant.axis or 0] = -1
    return np.array(numbers, np.float64).reshape(shape)


def to_real(values: Array, tensor: Tensor) -> Reals:
    """Returns the real numbers that the stored values of a tensor stand for."""
    found = values.astype(np.float64)
    if not is_quantised(tensor):
        return found
    quant = tensor.quant
    points = _columns(quant.zero_points, quant, found.ndim)
    return np.asarray((found - points) * _columns(quant.scales, quant, found.ndim))


def to_stored(values: Reals, tensor: Tensor) -> Array:
    """Returns real numbers as a tensor stores them: the nearest integers, within the range of the type."""
    if not is_quantised(tensor):
        return values.astype(tensor.dtype.numpy)
    info, quant = np.iinfo(tensor.dtype.value), tensor.quant
    steps = values / _columns(quant.scales, quant, values.ndim)
    nearest = np.rint(np.nan_to_num(steps)) + _columns(quant.zero_points, quant, values.ndim)
    return np.asarray(np.clip(nearest, info.min, info.max).astype(tensor.dtype.numpy))
