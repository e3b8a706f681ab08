"""Conditions of the layers that compute elements one by one; each returns why the NPU does not take a node.

Vela rounds some multipliers and tables in its own way. Where the results of a layer depend on few values, all of them
are compared, and a layer with one that differs is not taken.
"""

from __future__ import annotations

from dataclasses import replace
from functools import lru_cache
from typing import cast

import numpy as np

from aboard import ops
from aboard.ir import DType, Node
from aboard.ir.numerics import multiply_by_quantized_multiplier, quantize_multiplier
from aboard.ops.relu import LeakyReluAttributes
from aboard_ethos_u.conditions import common

WORDS = (DType.INT8, DType.INT16)
#: Largest scale of a result by that of an operand; Vela refuses some that are larger.
_COARSER = 2.0**16
#: Largest scale of the operand of a hard swish, and smallest slope of a leaky rectifier in steps of both scales. Beyond
#: them Vela's table differs from the reference.
_SWISH, _SLOPE = 2.0**9, 2.0**-24


def arithmetic(node: Node) -> str | None:
    """Takes two operands of one element type, int8 or int16; one may be constant, and each may be repeated."""
    types = {tensor.dtype for tensor in (node.input(0), node.input(1), node.output)}
    if len(types) != 1:
        return f"element types, got {', '.join(sorted(t.value for t in types))}, expected one"
    if any(tensor.type.quant is None or tensor.quant.per_channel for tensor in node.operands):
        return "quantisation of an operand, expected one scale and zero point"
    return common(node, WORDS)


def total(node: Node) -> str | None:
    """Takes sums and differences whose result is not much coarser than the operands."""
    return arithmetic(node) or _coarser(node)


def _coarser(node: Node) -> str | None:
    least = min(tensor.quant.scale for tensor in node.operands)
    if node.output.quant.scale > least * _COARSER:
        return f"scale of the result, got {node.output.quant.scale:g}, expected at most {least * _COARSER:g}"
    return None


def product(node: Node) -> str | None:
    """Refuses products of which Vela's multiplier, which is of float32, makes others than the reference's."""
    problem = arithmetic(node)
    if problem is not None:
        return problem
    first, second, result = node.input(0).quant, node.input(1).quant, node.output.quant
    exact = quantize_multiplier(first.scale * second.scale / result.scale)
    given = quantize_multiplier(float(np.float32(np.float32(first.scale * second.scale) / np.float32(result.scale))))
    if given == exact:
        return None
    if node.output.dtype is not DType.INT8:
        return "Vela's multiplier, which is of float32, differs from the reference's"
    count = _wrong_products(exact, given, (first.zero_point, second.zero_point, result.zero_point))
    return f"{count} products differ from the reference" if count else None


@lru_cache(maxsize=1024)
def _wrong_products(exact: tuple[int, int], given: tuple[int, int], zero_points: tuple[int, int, int]) -> int:
    every = np.arange(-128, 128, dtype=np.int64)
    products = np.unique(np.multiply.outer(every - zero_points[0], every - zero_points[1]))
    expected, got = (
        np.clip(multiply_by_quantized_multiplier(products, *multiplier) + zero_points[2], -128, 127)
        for multiplier in (exact, given)
    )
    return int((got != expected).sum())


def clamp(node: Node) -> str | None:
    """Takes activations that keep scale and zero point: the reference only clamps, Vela would rescale."""
    if node.input(0).type.quant != node.output.type.quant:
        return "the activation changes scale or zero point"
    return common(node)


def swish(node: Node) -> str | None:
    """Takes scales for which Vela's table is the reference's."""
    problem = common(node)
    if problem is None and node.input(0).quant.scale > _SWISH:
        return f"scale of the operand, got {node.input(0).quant.scale:g}, expected at most {_SWISH:g}"
    return problem or _coarser(node)


def leaky(node: Node) -> str | None:
    """Takes slopes that Vela's table and the reference round to the same."""
    problem = common(node)
    if problem is not None:
        return problem
    slope = cast(LeakyReluAttributes, node.attrs).alpha
    steps = abs(slope) * node.input(0).quant.scale / node.output.quant.scale
    if slope and steps < _SLOPE:
        return f"slope, got {slope:g}, expected 0 or a step of at least {_SLOPE:g} in the result, got {steps:g}"
    return None


def curve(node: Node) -> str | None:
    """Refuses a curve whose rounded real values, which are Vela's table, differ from the reference's fixed point."""
    problem = common(node)
    if problem is not None:
        return problem
    before, after = node.input(0).quant, node.output.quant
    every = np.arange(-128, 128, dtype=np.int8).reshape(1, -1)
    given = replace(node.input(0), type=replace(node.input(0).type, shape=every.shape))
    taken = replace(node.output, type=replace(node.output.type, shape=every.shape))
    (table,) = ops.get(node.op).evaluate(replace(node, inputs=[given], outputs=[taken]), [every])
    real = (every.astype(np.float64) - before.zero_point) * before.scale
    curve = np.tanh(real) if node.op == "tanh" else (1 + np.tanh(real / 2)) / 2
    rounded = np.floor(curve / after.scale + 0.5) + after.zero_point
    count = int((np.clip(rounded, -128, 127) != table).sum())
    return f"{count} of 256 values in Vela's table differ from the reference" if count else None
