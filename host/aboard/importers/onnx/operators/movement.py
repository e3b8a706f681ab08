"""Operators that move elements."""

from __future__ import annotations

import math

from aboard.importers.onnx.builder import Builder
from aboard.importers.onnx.operator import Operator, reads
from aboard.ir import Tensor


@reads("Reshape")
def reshape(source: Operator, make: Builder) -> Tensor:
    """0 keeps an extent unless `allowzero` is set; -1 is what is left."""
    tensor, given = source.input(0), source.integers(1)
    keeps = not source.options.get("allowzero", 0)
    shape = [
        tensor.shape[axis] if size == 0 and keeps and axis < len(tensor.shape) else size
        for axis, size in enumerate(given)
    ]
    if shape.count(-1) == 1:
        rest = -math.prod(shape)
        shape[shape.index(-1)] = tensor.type.elements // rest if rest else 0
    if math.prod(shape) != tensor.type.elements or min(shape, default=1) < 1:
        raise source.unsupported(f"shape, got {given} for an operand of {list(tensor.shape)}. Export the model again")
    return make.reshape(tensor, shape)


@reads("Transpose")
def transpose(source: Operator, make: Builder) -> Tensor:
    """Axes in the order of `perm`; reversed without it."""
    tensor = source.input(0)
    rank = len(tensor.shape)
    order = [int(axis) for axis in source.options.get("perm") or reversed(range(rank))]
    if sorted(order) != list(range(rank)):
        raise source.unsupported(f"perm, got {order}, expected each of {rank} axes once. Export the model again")
    return make.transpose(tensor, order)


@reads("Flatten")
def flatten(source: Operator, make: Builder) -> Tensor:
    """A matrix: axes before `axis`, and the others."""
    tensor = source.input(0)
    rank = len(tensor.shape)
    given = int(source.options["axis"])
    axis = rank if given == rank else source.axis(given, rank)
    return make.reshape(tensor, (math.prod(tensor.shape[:axis]), math.prod(tensor.shape[axis:])))
