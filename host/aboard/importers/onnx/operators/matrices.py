"""Products of matrices."""

from __future__ import annotations

import math

import numpy as np

from aboard.importers.onnx.builder import Builder
from aboard.importers.onnx.operator import Operator, reads
from aboard.ir import DType, Tensor
from aboard.ops.activation import Activation
from aboard.ops.batch_matmul import BatchMatmulAttributes
from aboard.ops.fully_connected import FullyConnectedAttributes
from aboard.ops.reduction import ReductionAttributes

#: Axes that kernels of products take: `batch_matmul`, and for integers `mul` with one more.
_MOST_AXES = 5


@reads("MatMul")
def matmul(source: Operator, make: Builder) -> Tensor:
    """By numpy's rules: vectors become matrices, and axes before the last two are broadcast."""
    return product(source, make, source.input(0), source.input(1))


def product(source: Operator, make: Builder, a: Tensor, b: Tensor) -> Tensor:
    """Returns the product of two tensors of one type, as `MatMul` defines it.

    Raises:
        ModelError: They have no axes, their extents do not fit, or no kernel computes the type.
    """
    left, right = a.shape, b.shape
    if not _fit(left, right) or a.dtype is not b.dtype:
        raise source.unsupported(f"operands, got {a.type} and {b.type}, expected matrices that fit. Export again")
    first = make.reshape(a, (1, *left)) if len(left) == 1 else a
    second = make.reshape(b, (*right, 1)) if len(right) == 1 else b
    if a.dtype.is_float and len(second.shape) == 2 and make.is_weights(second):
        weights = make.transpose(second, (1, 0))
        attrs = FullyConnectedAttributes(Activation.NONE, keep_dims=True)
        made = make.op("fully_connected", [first, weights], attrs)
    else:
        made = _batches(make, first, second)
    shape = list(made.shape)
    if len(right) == 1:
        shape.pop()
    if len(left) == 1:
        shape.pop(-1 if len(right) == 1 else -2)
    return make.reshape(made, shape)


def _fit(left: tuple[int, ...], right: tuple[int, ...]) -> bool:
    """True for shapes that numpy multiplies."""
    if not left or not right or left[-1] != right[max(len(right) - 2, 0)]:
        return False
    return _broadcast(left[:-2], right[:-2]) is not None


def _broadcast(*shapes: tuple[int, ...]) -> tuple[int, ...] | None:
    try:
        return np.broadcast_shapes(*shapes)
    except ValueError:
        return None


def _batches(make: Builder, a: Tensor, b: Tensor) -> Tensor:
    """Returns the products of matrices of each batch."""
    shape = (*np.broadcast_shapes(a.shape[:-2], b.shape[:-2]), a.shape[-2], b.shape[-1])
    if math.prod(b.shape[:-2]) == 1:
        a = make.reshape(a, (math.prod(a.shape[:-1]), a.shape[-1]))
        b = make.reshape(b, b.shape[-2:])
    a, b = _few_axes(make, a, b)
    made = make.op("batch_matmul", [a, b], BatchMatmulAttributes()) if a.dtype.is_float else _integers(make, a, b)
    return make.reshape(made, shape)


def _few_axes(make: Builder, a: Tensor, b: Tensor) -> tuple[Tensor, Tensor]:
    """Gives two operands as many axes; those of batches become one where kernels take fewer."""
    batches = np.broadcast_shapes(a.shape[:-2], b.shape[:-2])
    rank, count = len(batches) + 2, math.prod(batches)
    made = []
    for each in (a, b):
        wide = make.reshape(each, (1,) * (rank - len(each.shape)) + each.shape)
        if rank > _MOST_AXES:
            if math.prod(wide.shape[:-2]) not in (1, count):
                wide = make.broadcast(wide, (*batches, *wide.shape[-2:]))
            wide = make.reshape(wide, (math.prod(wide.shape[:-2]), *wide.shape[-2:]))
        made.append(wide)
    return made[0], made[1]


def _integers(make: Builder, a: Tensor, b: Tensor) -> Tensor:
    """Returns the product of integers without quantisation, which wraps: all products, then their sums."""
    left, right = make.reshape(a, (*a.shape, 1)), make.reshape(b, (*b.shape[:-2], 1, *b.shape[-2:]))
    products = make.op("mul", [left, right])
    return make.op("sum", [products], ReductionAttributes((len(products.shape) - 2,), False))


@reads("Gemm")
def gemm(source: Operator, make: Builder) -> Tensor:
    """Alpha * A * B + beta * C; C is broadcast to the product."""
    a, b, c = source.input(0), source.input(1), source.optional(2)
    if len(a.shape) != 2 or len(b.shape) != 2:
        raise source.unsupported(f"shapes, got {a.shape} and {b.shape}, expected two matrices. Export the model again")
    a = make.transpose(a, (1, 0)) if source.options["transA"] else a
    weights = b if source.options["transB"] else make.transpose(b, (1, 0))
    rows, cols = a.shape[0], weights.shape[0]
    if a.shape[1] != weights.shape[1] or (c is not None and _broadcast(c.shape, (rows, cols)) != (rows, cols)):
        shapes = [each.shape for each in source.inputs if each is not None]
        raise source.unsupported(f"shapes, got {shapes}, expected matrices that fit. Export the model again")
    if not a.dtype.is_float or not _is_layer(make, weights, c, float(source.options["alpha"])):
        return _product_and_sum(source, make, a, weights, c)
    alpha, beta = (np.float32(source.options[name]) for name in ("alpha", "beta"))
    if weights.data is not None and alpha != 1:
        weights = make.array(weights.data.astype(np.float32) * alpha)
    inputs = [a, weights]
    if c is not None and c.data is not None:
        inputs.append(make.array(np.broadcast_to(c.data.reshape(-1), cols).astype(np.float32) * beta))
    return make.op("fully_connected", inputs, FullyConnectedAttributes(), DType.FLOAT32)


def _is_layer(make: Builder, weights: Tensor, c: Tensor | None, alpha: float) -> bool:
    """True for weights that a factor can be folded into, and a constant for each column, or none."""
    if c is not None and (
        c.data is None or c.type.elements not in (1, weights.shape[0]) or c.shape[:-1] not in ((), (1,))
    ):
        return False
    return weights.data is not None or (make.is_weights(weights) and alpha == 1)


def _product_and_sum(source: Operator, make: Builder, a: Tensor, weights: Tensor, c: Tensor | None) -> Tensor:
    total = _scaled(source, make, product(source, make, a, make.transpose(weights, (1, 0))), "alpha")
    return total if c is None else make.op("add", [total, _scaled(source, make, c, "beta")])


def _scaled(source: Operator, make: Builder, x: Tensor, name: str) -> Tensor:
    factor = float(source.options[name])
    if factor == 1:
        return x
    if not x.dtype.is_float and not factor.is_integer():
        raise source.unsupported(f"{name}, got {factor:g} for {x.dtype.value}, expected an integer. Export in float32")
    return make.op("mul", [x, make.scalar(factor, x.dtype)])
