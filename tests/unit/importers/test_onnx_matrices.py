"""MatMul, Gemm and Einsum of ONNX beside numpy, and what is refused."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from support.examples import examples
from support.onnx_models import check, model, node, refusal, unchecked


def whole_numbers(seed: int, shape: tuple[int, ...], dtype: type) -> np.ndarray:
    """Returns small integers, whose products and sums are exact in any type."""
    return np.random.default_rng(seed).integers(-3, 4, shape).astype(dtype)


@st.composite
def shapes(draw: st.DrawFn) -> tuple[tuple[int, ...], tuple[int, ...]]:
    """Draws two shapes that numpy multiplies."""
    rows, depth, cols = (draw(st.integers(1, 4)) for _ in range(3))
    batches = draw(st.lists(st.integers(1, 3), max_size=4))
    left, right = (
        tuple(draw(st.sampled_from([1, extent])) for extent in batches[draw(st.integers(0, len(batches))) :])
        for _ in range(2)
    )
    vectors = draw(st.sampled_from(["", "left", "right"]))
    first = (depth,) if vectors == "left" else (*left, rows, depth)
    second = (depth,) if vectors == "right" else (*right, depth, cols)
    return first, second


@given(shapes(), st.sampled_from([np.float32, np.int32]), st.booleans(), st.integers(0, 99))
@settings(max_examples=examples(200), deadline=None)
def test_products_of_any_rank(pair, dtype, is_constant, seed):
    a, b = (whole_numbers(seed, shape, dtype) for shape in pair)
    feed = {"a": a} if is_constant else {"a": a, "b": b}
    data = model([node("MatMul", "a b")], feed, {"b": b} if is_constant else {})
    check(data, feed, wanted=[np.asarray(np.matmul(a, b))])


@pytest.mark.parametrize("pair", [((3, 1, 2, 3), (2, 3, 4)), ((2, 1, 2, 1, 2, 3), (2, 1, 2, 3, 2)), ((3,), (2, 3, 4))])
@pytest.mark.parametrize("dtype", [np.float32, np.int32])
def test_products_as_c(pair, dtype):
    feed = {name: whole_numbers(3, shape, dtype) for name, shape in zip("ab", pair, strict=True)}
    check(model([node("MatMul", "a b")], feed), feed, wanted=[np.matmul(feed["a"], feed["b"])], compiled=True)


TERMS = st.sampled_from([None, (), (1,), (4,), (1, 4), (3, 1), (3, 4)])


@given(
    st.booleans(),
    st.booleans(),
    TERMS,
    st.sampled_from([(1.0, 1.0), (0.5, 0.25)]),
    st.sampled_from(["", "b", "c", "bc"]),
    st.integers(0, 99),
)
@settings(max_examples=examples(200), deadline=None)
def test_any_gemm(trans_a, trans_b, term, factors, fixed, seed):
    alpha, beta = factors
    feed = {"a": whole_numbers(seed, (2, 3) if trans_a else (3, 2), np.float32)}
    feed["b"] = whole_numbers(seed + 1, (4, 2) if trans_b else (2, 4), np.float32)
    if term is not None:
        feed["c"] = whole_numbers(seed + 2, term, np.float32)
    constants = {name: feed.pop(name) for name in fixed if name in feed}
    names = "a b c" if term is not None else "a b"
    nodes = [node("Gemm", names, transA=int(trans_a), transB=int(trans_b), alpha=alpha, beta=beta)]
    check(model(nodes, feed, constants), feed)


EQUATIONS: list[tuple[str, list[tuple[int, ...]]]] = [
    ("ij->ji", [(2, 3)]),
    ("ij->", [(2, 3)]),
    ("ii", [(3, 3)]),
    ("bii->bi", [(2, 3, 3)]),
    ("iji->j", [(3, 2, 3)]),
    ("iii->i", [(3, 3, 3)]),
    ("i,j->ij", [(5,), (4,)]),
    ("i,i", [(5,), (5,)]),
    ("ij,jk", [(2, 3), (3, 4)]),
    ("ij,jk,kl->il", [(2, 3), (3, 4), (4, 5)]),
    ("bhqd,bhkd->bhqk", [(1, 2, 3, 4), (1, 2, 5, 4)]),
    ("...ij,...jk->...ik", [(2, 2, 3, 4), (2, 2, 4, 5)]),
    ("b...,b...->...", [(2, 3), (2, 3)]),
    ("ab,cd->dcab", [(2, 3), (4, 5)]),
    ("nchw,nwhu->nchu", [(1, 2, 3, 4), (1, 4, 3, 5)]),
    ("ii,ij->j", [(3, 3), (3, 2)]),
]


@pytest.mark.parametrize(("equation", "extents"), EQUATIONS, ids=[equation for equation, _ in EQUATIONS])
def test_equations(equation, extents):
    feed = {f"x{place}": whole_numbers(place, shape, np.float32) for place, shape in enumerate(extents)}
    data = model([node("Einsum", " ".join(feed), equation=equation)], feed)
    check(data, feed, wanted=[np.asarray(np.einsum(equation, *feed.values()))])


def test_equations_as_c():
    feed = {"a": whole_numbers(0, (2, 3, 3), np.float32), "b": whole_numbers(1, (2, 3, 4), np.float32)}
    data = model([node("Einsum", "a b", equation="bii,bij->bj")], feed)
    check(data, feed, wanted=[np.einsum("bii,bij->bj", *feed.values())], compiled=True)


def shaped(kind: str, *extents: tuple[int, ...], **attributes: Any) -> bytes:
    """Returns a model of one node whose operands need not fit."""
    feed = {f"x{place}": np.zeros(shape, np.float32) for place, shape in enumerate(extents)}
    return unchecked([node(kind, " ".join(feed), **attributes)], feed, "y")


@pytest.mark.parametrize(
    ("data", "message"),
    [
        (
            shaped("MatMul", (2, 3), (4, 5)),
            "operands, got float32[2x3] and float32[4x5], expected matrices",
        ),
        (shaped("MatMul", (2, 2, 3), (3, 3, 5)), "operands, got float32[2x2x3] and float32[3x3x5], expected mat"),
        (shaped("MatMul", (), (3,)), "operands, got float32[] and float32[3], expected matrices that fit"),
        (shaped("Gemm", (2, 3, 4), (4, 5)), "shapes, got (2, 3, 4) and (4, 5), expected two matrices"),
        (shaped("Gemm", (2, 3), (4, 5)), "shapes, got [(2, 3), (4, 5)], expected matrices that fit"),
        (shaped("Gemm", (2, 3), (3, 5), (4,)), "shapes, got [(2, 3), (3, 5), (4,)], expected matrices that fit"),
        (shaped("Gemm", (2, 3), (3, 5), (1, 2, 5)), "expected matrices that fit"),
        (shaped("Einsum", (2, 3), equation="ij->ik"), "equation, got ij->ik for shapes [(2, 3)], expected a letter"),
        (shaped("Einsum", (2, 3), equation="ij->ii"), "in the result each letter at most once"),
        (shaped("Einsum", (2, 3), equation="ij,jk"), "equation, got ij,jk for shapes [(2, 3)], expected a letter"),
        (shaped("Einsum", (2, 3), equation="i......j"), "expected a letter for each axis"),
        (shaped("Einsum", (2,), equation="...ij"), "expected a letter for each axis"),
        (shaped("Einsum", (2, 3), equation="i1->"), "expected a letter for each axis"),
        (
            shaped("Einsum", (2, 3), (4, 5), equation="ij,jk"),
            "extents of one letter of ij,jk, got 3 and 4, expe",
        ),
    ],
)
def test_operands_that_do_not_fit(data, message):
    assert message in refusal(data)


def test_gemm_of_integers_by_a_fraction():
    feed = {name: np.ones((2, 2), np.int32) for name in "ab"}
    assert "alpha, got 0.5 for int32, expected an integer" in refusal(model([node("Gemm", "a b", alpha=0.5)], feed))
    check(model([node("Gemm", "a b", alpha=3.0)], feed), feed, wanted=[np.full((2, 2), 6, np.int32)])
