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


@reads("MatMul")
def matmul(source: Operator, make: Builder) -> Tensor:
    """By numpy's rules: vectors become matrices, and axes before the last two are broadcast."""
    return product(source, make, source.input(0), source.input(1))


def product(source: Operator, make: Builder, a: Tensor, b: Tensor) -> Tensor:
    """Returns the product of two tensors of float32, as `MatMul` defines it.

    Raises:
        ModelError: They have no axes, or their extents do not fit.
    """
    left, right = a.shape, b.shape
    if not left or not right or left[-1] != right[max(len(right) - 2, 0)]:
        raise source.unsupported(f"shapes, got {left} and {right}, expected matrices that fit. Export the model again")
    first = make.reshape(a, (1, *left)) if len(left) == 1 else a
    second = make.reshape(b, (*right, 1)) if len(right) == 1 else b
    if len(second.shape) == 2 and make.is_weights(second) and a.dtype is DType.FLOAT32:
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


def _batches(make: Builder, a: Tensor, b: Tensor) -> Tensor:
    rank = max(len(a.shape), len(b.shape))
    wide = [make.reshape(each, (1,) * (rank - len(each.shape)) + each.shape) for each in (a, b)]
    return make.op("batch_matmul", wide, BatchMatmulAttributes())


@reads("Gemm")
def gemm(source: Operator, make: Builder) -> Tensor:
    """Alpha * A * B + beta * C; C is broadcast to the product."""
    a, b, c = source.input(0), source.input(1), source.optional(2)
    alpha, beta = (np.float32(source.options[name]) for name in ("alpha", "beta"))
    a = make.transpose(a, (1, 0)) if source.options["transA"] else a
    weights = b if source.options["transB"] else make.transpose(b, (1, 0))
    if len(a.shape) != 2 or len(b.shape) != 2 or a.shape[1] != weights.shape[1]:
        raise source.unsupported(f"shapes, got {a.shape} and {b.shape}, expected matrices that fit. Export again")
    outputs = weights.shape[0]
    bias_fits = c is None or (c.type.elements in (1, outputs) and math.prod(c.shape[:-1]) == 1)
    if not bias_fits or not _is_plain(make, weights, float(alpha)) or (c is not None and c.data is None):
        total = product(source, make, a, make.transpose(weights, (1, 0)))
        scaled = total if alpha == 1 else make.op("mul", [total, make.scalar(float(alpha))])
        if c is None:
            return scaled
        summand = c if beta == 1 else make.op("mul", [c, make.scalar(float(beta))])
        return make.op("add", [scaled, summand])
    if weights.data is not None and alpha != 1:
        weights = make.array(weights.data.astype(np.float32) * alpha)
    inputs = [a, weights]
    if c is not None and c.data is not None:
        inputs.append(make.array(np.broadcast_to(c.data.reshape(-1), outputs).astype(np.float32) * beta))
    return make.op("fully_connected", inputs, FullyConnectedAttributes(), DType.FLOAT32)


def _is_plain(make: Builder, weights: Tensor, alpha: float) -> bool:
    """True for weights that a factor can be folded into."""
    return weights.data is not None or (make.is_weights(weights) and alpha == 1)


@reads("Einsum")
def einsum(source: Operator, make: Builder) -> Tensor:
    """Sums of products over letters: operands are multiplied one after the other, letters that no other needs summed.

    Raises:
        ModelError: A letter stands twice in one operand, or the equation does not fit.
    """
    operands = [source.input(index) for index in range(len(source.inputs))]
    terms, result = _equation(source, operands)
    current, letters = operands[0], terms[0]
    for place, (operand, own) in enumerate(zip(operands[1:], terms[1:], strict=True), 1):
        needed = set("".join(terms[place + 1 :])) | set(result)
        current, letters = _pair(make, (current, letters), (operand, own), needed)
    left = [letter for letter in letters if letter in result]
    current = _summed(make, current, letters, set(result))
    return make.transpose(current, [left.index(letter) for letter in result])


def _equation(source: Operator, operands: list[Tensor]) -> tuple[list[str], str]:
    equation = str(source.options["equation"]).replace(" ", "")
    left, arrow, result = equation.partition("->")
    terms = left.split(",")
    most = max((len(o.shape) - len(t.replace("...", "")) for o, t in zip(operands, terms, strict=False)), default=0)
    unused = [letter for letter in "ABCDEFGHIJKLMNOPQRSTUVWXYZ" if letter not in equation][: max(most, 0)]
    if arrow == "":
        once = sorted(each for each in set(left.replace(",", "").replace(".", "")) if left.count(each) == 1)
        result = ("..." if "..." in left else "") + "".join(once)
    wide = []
    for operand, term in zip(operands, terms, strict=False):
        extra = len(operand.shape) - len(term.replace("...", ""))
        wide.append(term.replace("...", "".join(unused[len(unused) - extra :]) if extra else ""))
    result = result.replace("...", "".join(unused))
    fits = len(terms) == len(operands) and all(
        len(term) == len(operand.shape) == len(set(term)) for term, operand in zip(wide, operands, strict=True)
    )
    if not fits:
        shapes = [operand.shape for operand in operands]
        raise source.unsupported(
            f"equation, got {equation} for shapes {shapes}, expected a letter for each axis, none twice in an operand. "
            "Export the model without diagonals"
        )
    return wide, result


def _summed(make: Builder, x: Tensor, letters: str, needed: set[str]) -> Tensor:
    axes = tuple(axis for axis, letter in enumerate(letters) if letter not in needed)
    return make.op("sum", [x], ReductionAttributes(axes, False)) if axes else x


def _pair(make: Builder, a: tuple[Tensor, str], b: tuple[Tensor, str], needed: set[str]) -> tuple[Tensor, str]:
    """Returns the product of two operands, without the letters that nothing needs."""
    (x, first), (y, second) = a, b
    x, first = _summed(make, x, first, needed | set(second)), "".join(c for c in first if c in needed | set(second))
    y, second = _summed(make, y, second, needed | set(first)), "".join(c for c in second if c in needed | set(first))
    common = [letter for letter in first if letter in second]
    batch = "".join(letter for letter in common if letter in needed)
    inner = "".join(letter for letter in common if letter not in needed)
    rows = "".join(letter for letter in first if letter not in common)
    cols = "".join(letter for letter in second if letter not in common)
    sizes = dict(zip(first, x.shape, strict=True))
    sizes |= {c: max(n, sizes.get(c, 1)) for c, n in zip(second, y.shape, strict=True)}
    left = _ordered(make, x, first, batch + rows + inner, sizes)
    right = _ordered(make, y, second, batch + inner + cols, sizes)
    count = [math.prod(sizes[c] for c in part) for part in (batch, rows, inner, cols)]
    product_of = make.op(
        "batch_matmul",
        [make.reshape(left, (count[0], count[1], count[2])), make.reshape(right, (count[0], count[2], count[3]))],
        BatchMatmulAttributes(),
    )
    letters = batch + rows + cols
    return make.reshape(product_of, [sizes[c] for c in letters]), letters


def _ordered(make: Builder, x: Tensor, letters: str, wanted: str, sizes: dict[str, int]) -> Tensor:
    moved = make.transpose(x, [letters.index(c) for c in wanted])
    return make.broadcast(moved, [sizes[c] for c in wanted])
