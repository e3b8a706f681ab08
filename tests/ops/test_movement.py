"""Operators that are chains of moves, against tflite-micro."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import aboard
from aboard.errors import ModelError
from aboard.importers import load
from aboard.ir import DType
from aboard.ops.movement import TYPES
from support import moves, oracle
from support.examples import examples
from support.moves import Case

Shape = tuple[int, ...]


#: Types that tflite-micro does not take, as ONNX files have them.
NOT_OF_REFERENCE = {"REVERSE_V2": {np.uint32, np.uint64}}


def types(kind: str) -> st.SearchStrategy[type]:
    known = {np.dtype(dtype.value).type for dtype in TYPES[kind]} - NOT_OF_REFERENCE.get(kind, set())
    return st.sampled_from(sorted(known, key=lambda dtype: np.dtype(dtype).name))


def shapes(most: int = 4) -> st.SearchStrategy[Shape]:
    return st.lists(st.integers(1, 4), min_size=1, max_size=most).map(tuple)


@st.composite
def pack(draw: st.DrawFn) -> Case:
    shape, count = draw(shapes()), draw(st.integers(1, 4))
    axis = draw(st.integers(-len(shape) - 1, len(shape)))
    result = list(shape)
    result.insert(axis % (len(shape) + 1), count)
    return Case("PACK", [shape] * count, [result], {"Axis": axis, "ValuesCount": count}, draw(types("PACK")))


@st.composite
def unpack(draw: st.DrawFn) -> Case:
    shape = draw(shapes())
    axis = draw(st.integers(-len(shape), len(shape) - 1))
    result = [size for index, size in enumerate(shape) if index != axis % len(shape)]
    options = {"Axis": axis, "Num": shape[axis]}
    return Case("UNPACK", [shape], [result] * shape[axis], options, draw(types("UNPACK")))


@st.composite
def cut(draw: st.DrawFn) -> Case:
    shape = draw(shapes(5))
    begins = [draw(st.integers(0, extent - 1)) for extent in shape]
    counts = [draw(st.integers(1, extent - begin)) for extent, begin in zip(shape, begins, strict=True)]
    to_the_end = [b + c == extent and draw(st.booleans()) for b, c, extent in zip(begins, counts, shape, strict=True)]
    sizes = [-1 if end else count for end, count in zip(to_the_end, counts, strict=True)]
    return Case("SLICE", [shape, begins, sizes], [counts], {}, draw(types("SLICE")))


@st.composite
def reverse(draw: st.DrawFn) -> Case:
    shape = draw(shapes())
    first = draw(st.integers(0, len(shape) - 1))
    last = draw(st.integers(first, len(shape) - 1))
    axes = [axis - draw(st.sampled_from([0, len(shape)])) for axis in draw(st.permutations(range(first, last + 1)))]
    return Case("REVERSE_V2", [shape, axes], [shape], {}, draw(types("REVERSE_V2")))


@st.composite
def broadcast(draw: st.DrawFn) -> Case:
    shape = draw(shapes(5))
    rank = draw(st.integers(1, len(shape)))
    operand = tuple(draw(st.sampled_from([1, extent])) for extent in shape[-rank:])
    return Case("BROADCAST_TO", [operand, list(shape)], [shape], {}, draw(types("BROADCAST_TO")))


@st.composite
def fill(draw: st.DrawFn) -> Case:
    shape = draw(shapes())
    return Case("FILL", [list(shape), ()], [shape], {}, draw(types("FILL")))


@st.composite
def zeros_like(draw: st.DrawFn) -> Case:
    shape = draw(shapes())
    return Case("ZEROS_LIKE", [shape], [shape], {}, draw(types("ZEROS_LIKE")))


@st.composite
def tile(draw: st.DrawFn) -> Case:
    shape = draw(shapes())
    counts = [draw(st.integers(1, 3)) for _ in shape]
    result = [size * count for size, count in zip(shape, counts, strict=True)]
    return Case("TILE", [shape, counts], [result], {}, draw(st.sampled_from([np.int8, np.float32, np.int32])))


@st.composite
def depth(draw: st.DrawFn, kind: str) -> Case:
    batch, height, width, channels, block = (draw(st.integers(1, 3)) for _ in range(5))
    image = (batch, height * block, width * block, channels)
    deep = (batch, height, width, channels * block * block)
    before, after = (image, deep) if kind == "SPACE_TO_DEPTH" else (deep, image)
    return Case(kind, [before], [after], {"BlockSize": block}, draw(types(kind)))


@st.composite
def batches(draw: st.DrawFn, kind: str, *, padded: bool) -> Case:
    count, channels, spatial = draw(st.integers(1, 2)), draw(st.integers(1, 3)), draw(st.integers(1, 2))
    blocks, small = ([draw(st.integers(1, 3)) for _ in range(spatial)] for _ in range(2))
    pads = []
    for whole in (block * size for block, size in zip(blocks, small, strict=True)):
        before = draw(st.integers(0, whole - 1)) if padded else 0
        pads.append([before, draw(st.integers(0, whole - 1 - before)) if padded else 0])
    inner = [b * size - sum(pair) for b, size, pair in zip(blocks, small, pads, strict=True)]
    image, spread = (count, *inner, channels), (math.prod(blocks) * count, *small, channels)
    before, after = (image, spread) if kind == "SPACE_TO_BATCH_ND" else (spread, image)
    return Case(kind, [before, blocks, pads], [after], {}, draw(types(kind)))


@st.composite
def mirror(draw: st.DrawFn) -> Case:
    shape, mode = draw(shapes()), draw(st.integers(0, 1))
    pads = [[draw(st.integers(0, extent - 1 + mode)) for _ in range(2)] for extent in shape]
    result = [extent + sum(pair) for extent, pair in zip(shape, pads, strict=True)]
    return Case("MIRROR_PAD", [shape, pads], [result], {"Mode": mode}, draw(st.sampled_from([np.int8, np.float32])))


KINDS = (
    pack(),
    unpack(),
    cut(),
    reverse(),
    broadcast(),
    mirror(),
    fill(),
    zeros_like(),
    depth("SPACE_TO_DEPTH"),
    depth("DEPTH_TO_SPACE"),
    batches("SPACE_TO_BATCH_ND", padded=False),
    batches("BATCH_TO_SPACE_ND", padded=True),
)


@settings(max_examples=examples(60), deadline=None)
@given(st.one_of(*KINDS))
def test_meaning(case: Case) -> None:
    moves.check_meaning(case)


@settings(max_examples=2, deadline=None)
@given(st.tuples(*KINDS))
def test_moves(cases: tuple[Case, ...]) -> None:
    moves.check(*cases)


@settings(max_examples=2, deadline=None)
@given(st.tuples(*(tile(), batches("SPACE_TO_BATCH_ND", padded=True)) * 2))
def test_moves_that_the_micro_interpreter_lacks_or_pads_with_memory_it_never_wrote(cases: tuple[Case, ...]) -> None:
    moves.check(*cases, reference=oracle.litert_ref)


@pytest.mark.parametrize("dtype", sorted(NOT_OF_REFERENCE["REVERSE_V2"], key=str))
def test_types_that_the_reference_does_not_reverse(dtype: type) -> None:
    case = Case("REVERSE_V2", [(2, 3), [1]], [(2, 3)], {}, dtype)
    (x,) = case.feed()
    assert x.dtype == dtype
    moves.check(case, reference=lambda model, given: [given[:, ::-1]])


def steps(*cases: Case) -> list[str]:
    """The ops that need code."""
    module = aboard.compile(moves.model(*cases), target="c -runtime=host", name="model")
    return [record.op for record in module.manifest.nodes]


def test_what_views_express_needs_no_code() -> None:
    assert steps(Case("UNPACK", [(3, 4, 2)], [(4, 2)] * 3, {"Axis": 0, "Num": 3})) == []
    assert steps(Case("PACK", [(4, 2)] * 3, [(3, 4, 2)], {"Axis": 0, "ValuesCount": 3})) == []
    assert steps(Case("SLICE", [(6, 2), [2, 0], [3, 2]], [(3, 2)])) == []
    assert steps(Case("SPACE_TO_DEPTH", [(1, 4, 4, 3)], [(1, 2, 2, 12)], {"BlockSize": 2})) == ["transpose"]


def test_more_parts_than_a_kernel_has() -> None:
    moves.check(
        Case("PACK", [(2, 3)] * 20, [(2, 20, 3)], {"Axis": 1, "ValuesCount": 20}),
        Case("UNPACK", [(2, 20, 3)], [(2, 3)] * 20, {"Axis": 1, "Num": 20}),
    )


REFUSED = [
    (Case("PACK", [(2,), (3,)], [(2, 2)]), "operand x0_1, got int8[3] q(0.25, 3), expected int8[2]"),
    (Case("PACK", [(2,)], [(1, 2)], {"Axis": 2}), "axis, got 2, expected a number in [-2, 1]"),
    (Case("UNPACK", [(2, 2)], [(2,)]), "results, got 1 for axis 0 of (2, 2), expected 2"),
    (Case("SLICE", [(4,), [1, 1], [2]], [(2,)]), "begin and size, got [1, 1] and [2] for shape (4,)"),
    (Case("SLICE", [(4,), [3], [2]], [(2,)]), "begin and size, got [3] and [2], expected a part of shape (4,)"),
    (Case("REVERSE_V2", [(2, 2, 2), [0, 2]], [(2, 2, 2)]), "axes, got [0, 2], expected neighbouring axes"),
    (Case("BROADCAST_TO", [(2,), [3]], [(3,)]), "shape, got [3] for an operand of (2,)"),
    (Case("TILE", [(2,), [1, 2]], [(1, 2)]), "counts, got [1, 2] for shape (2,)"),
    (Case("MIRROR_PAD", [(3,), [[3, 0]]], [(6,)]), "paddings, got [3, 0] for shape (3,), expected a pair"),
    (Case("FILL", [[2], (1,)], [(2,)]), "value, got shape (1,), expected a scalar"),
    (Case("SPACE_TO_DEPTH", [(1, 3, 2, 1)], [(1, 1, 1, 4)], {"BlockSize": 2}), "got an operand of (1, 3, 2, 1)"),
    (Case("DEPTH_TO_SPACE", [(1, 1, 1, 3)], [(1, 2, 2, 1)], {"BlockSize": 2}), "the last a multiple of 4"),
    (Case("SPACE_TO_BATCH_ND", [(1, 4, 1), [2], [0, 0]], [(1, 2, 1)]), "result shape, got (1, 2, 1), expected (2,"),
    (Case("SPACE_TO_BATCH_ND", [(1, 3, 1), [2], [0, 0]], [(2, 2, 1)]), "blocks of [2], got [3] with padding"),
    (Case("SPACE_TO_BATCH_ND", [(1, 3), [2], [0, 0]], [(2, 2)]), "got [2] and [0, 0] for an operand of (1, 3)"),
    (Case("BATCH_TO_SPACE_ND", [(3, 3, 1), [2], [0, 0]], [(2, 2, 1)]), "expected batches that they divide"),
]  # fmt: skip


@pytest.mark.parametrize(("case", "message"), REFUSED, ids=lambda value: getattr(value, "kind", ""))
def test_refuses_what_makes_no_sense(case: Case, message: str) -> None:
    with pytest.raises(ModelError) as caught:
        load(moves.model(case), name="model")
    assert message in str(caught.value)


@pytest.mark.parametrize(
    ("kind", "dtype"),
    [("PACK", np.bool_), ("UNPACK", np.int64), ("SLICE", np.int64), ("FILL", np.int16), ("MIRROR_PAD", np.int16)],
)
def test_refuses_types_that_the_reference_refuses(kind: str, dtype: type) -> None:
    operands = {"SLICE": [(2,), [0], [2]], "FILL": [[2], ()], "MIRROR_PAD": [(2,), [[0, 0]]]}.get(kind, [(2,)])
    with pytest.raises(ModelError) as caught:
        load(moves.model(Case(kind, operands, [(2,)], {}, dtype)), name="model")
    assert f"got {np.dtype(dtype).name}, expected one of " in str(caught.value)
    assert "TensorFlow Lite Micro computes this operator in no other type" in str(caught.value)
    assert DType(np.dtype(dtype).name) not in TYPES.get(kind, ())
