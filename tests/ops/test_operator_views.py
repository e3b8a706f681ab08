"""Kernels of operators of some elements through any view, in any split of rows and in place: as `evaluate`."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from aboard.ir import DType, Node, Quantization, Tensor, TensorType
from aboard.kernels import View, of
from aboard.kernels.contract import Implementation, KernelCall
from aboard.ops import get
from aboard.ops.broadcasting import Broadcasting
from aboard.target import Target
from support import kernel_call, operator_draws
from support.element_models import seeds

TARGET = Target("c -runtime=host")
QUANTISED = (DType.INT8, DType.INT16)
BROADCAST = (
    *("maximum", "minimum", "squared_difference", "prelu", "div", "floor_div", "floor_mod", "cast", "select"),
    *("equal", "not_equal", "greater", "greater_equal", "less", "less_equal"),
    *("logical_and", "logical_or", "logical_not"),
)
UNARY = ("abs", "neg", "square", "sqrt", "rsqrt", "exp", "log", "sin", "cos", "ceil", "floor", "round", "elu")
RESULTS = {"log_softmax": (1 / 16, 127), "l2_normalization": (1 / 128, 0)}
INT32 = (((DType.INT32,) * 2, DType.INT32),)
WIDE = [
    (a, b) for a in (*QUANTISED, DType.INT32) for b in (*QUANTISED, DType.INT32) if DType.INT32 in (a, b) and a != b
]


def tensor_type(op: str, shape: Sequence[int], dtype: DType, *, result: bool = False) -> TensorType:
    scaled = dtype in QUANTISED or (dtype is DType.INT32 and op == "quantize")
    if not scaled:
        return TensorType(tuple(shape), dtype)
    scale, zero_point = (0.5 if result and op == "squared_difference" else 0.07), 3
    if result and op in RESULTS:
        scale, zero_point = RESULTS[op]
    return TensorType(tuple(shape), dtype, Quantization((scale,), (zero_point if dtype is DType.INT8 else 0,)))


def signatures(op: str) -> Sequence[tuple[tuple[DType, ...], DType]]:
    """Returns the element types of operands and result that nodes of an op are made of."""
    if op in ("add", "sub", "mul"):
        return INT32
    if op == "quantize":
        return [((before,), after) for before, after in WIDE]
    if op == "add_n":
        return [((dtype,) * 3, dtype) for dtype in (DType.INT8, DType.FLOAT32)]
    meaning = get(op)
    if isinstance(meaning, Broadcasting):
        return meaning.signatures
    return [((dtype,), dtype) for dtype in meaning.types]  # type: ignore[attr-defined]


def nodes(rng: np.random.Generator) -> Iterator[Node]:
    """Yields a node for each op and each of its signatures, with shapes drawn anew."""
    for op in (*BROADCAST, *UNARY, *RESULTS, "add_n", "add", "sub", "mul", "quantize"):
        for operands, result in signatures(op):
            extents = operator_draws.shapes(rng, len(operands))
            if not isinstance(get(op), Broadcasting):
                extents = [extents[0]] * len(operands)
            types = [tensor_type(op, *each) for each in zip(extents, operands, strict=True)]
            inputs: list[Tensor | None] = [Tensor(f"x{index}", each) for index, each in enumerate(types)]
            output = Tensor("y", tensor_type(op, np.broadcast_shapes(*extents), result, result=True))
            made = Node(op, op, inputs, [output], get(op).attributes())
            get(op).verify(made)
            yield made


@dataclass(frozen=True)
class Placement:
    """A call with the memory of its operands and result.

    Attributes:
        node: What is computed.
        call: How.
        operands: Where the operands are.
        result: Where the result goes; one of the operands in place.
        expected: What it must be.
    """

    node: Node
    call: KernelCall
    operands: list[kernel_call.Placed]
    result: kernel_call.Placed
    expected: np.ndarray


def values(rng: np.random.Generator, op: str, tensor: Tensor) -> np.ndarray:
    dtype = tensor.dtype.numpy
    if dtype.kind == "f":
        x = (rng.standard_normal(tensor.shape) * 3).astype(dtype)
        return np.abs(x) + np.float32(0.1) if op in ("sqrt", "rsqrt", "log", "floor_div") else x
    return (
        rng.integers(0, 2, tensor.shape).astype(bool)
        if dtype.kind == "b"
        else rng.integers(-99, 99, tensor.shape).astype(dtype)
    )


def view(rng: np.random.Generator, tensor: Tensor) -> View:
    """Draws a view with gaps between pixels and rows, or without."""
    size = tensor.dtype.bytes
    stored = View.whole(tensor.shape, size)
    if rng.random() < 0.3:
        return stored
    pixel = stored.pixel_stride + size * int(rng.integers(0, 4))
    row = pixel * stored.cols + size * int(rng.integers(0, 4))
    return View(
        stored.rows, stored.cols, stored.channels, row, pixel, stored.rows, size, size * int(rng.integers(0, 4))
    )


def placed(rng: np.random.Generator, node: Node, kernel: Implementation) -> Placement:
    given = [values(rng, node.op, tensor) for tensor in node.operands]
    (expected,) = get(node.op).evaluate(node, given)
    assert kernel.strided
    assert kernel.by_rows
    operands = [kernel_call.Placed.of(x, view(rng, t)) for x, t in zip(given, node.operands, strict=True)]
    result = kernel_call.Placed.of(np.zeros(expected.shape, expected.dtype), view(rng, node.output))
    possible = [index for _, index in kernel.runs_in_place(node) if node.input(index).shape == node.output.shape]
    if possible and rng.random() < 0.5:
        result = operands[int(rng.choice(possible))]
    call = kernel.lower(node, [p.view for p in operands], [result.view], TARGET)
    assert isinstance(call, KernelCall)
    return Placement(node, call, operands, result, expected)


@settings(max_examples=1, deadline=None)
@given(seeds, st.integers(1, 3))
def test_every_kernel(seed: int, step: int) -> None:
    rng = np.random.default_rng(seed)
    made = [
        placed(rng, node, kernel)
        for node in nodes(rng)
        for kernel in of(node.op)
        if "portable" in kernel.keys and kernel.refuses(node, TARGET) is None
    ]
    assert len(made) > 100
    with kernel_call.library([each.call for each in made], ("-O0", "-fsanitize=undefined")) as run:
        for number, each in enumerate(made):
            for first in range(0, each.call.rows, step):
                run(number, each.operands, [each.result], first, min(first + step, each.call.rows))
            got = each.result.values(each.expected.shape, each.expected.dtype)
            where = f"{each.node.op} {[t.type for t in each.node.operands]}: {each.call.function}"
            if got.dtype == np.float32:
                np.testing.assert_allclose(got, each.expected, rtol=1e-5, atol=1e-6, err_msg=where)
            else:
                np.testing.assert_array_equal(got, each.expected, err_msg=where)
            assert each.result.gaps_are_untouched(), where
