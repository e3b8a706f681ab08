"""Elementwise operators of ONNX against the standard's reference evaluator."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from onnx import helper

from support.examples import examples
from support.onnx_models import check, model, node, refusal

WHOLE = ["int8", "uint8", "int16", "int32", "uint32", "int64", "uint64"]
SIGNED = ["int8", "int16", "int32", "int64", "float32"]
REAL = ["float32"]

#: Operators with one operand: element types, and the interval of float32 that the function is defined on.
UNARY: dict[str, tuple[list[str], float, float]] = {
    **dict.fromkeys(["Abs", "Neg", "Sign"], (SIGNED, -4, 4)),
    **dict.fromkeys(
        [
            "Atan",
            "Ceil",
            "Cos",
            "Cosh",
            "Erf",
            "Exp",
            "Floor",
            "Round",
            "Sin",
            "Sinh",
            "Asinh",
            "Sigmoid",
            "Tanh",
            "Softplus",
            "Softsign",
            "Mish",
            "HardSwish",
            "Relu",
        ],
        (REAL, -6, 6),
    ),
    **dict.fromkeys(["Acos", "Asin", "Atanh", "Tan"], (REAL, -0.99, 0.99)),
    **dict.fromkeys(["Log", "Sqrt", "Reciprocal"], (REAL, 0.01, 50)),
    "Acosh": (REAL, 1, 50),
    "Not": (["bool"], 0, 1),
    "BitwiseNot": (WHOLE, 0, 0),
    "Identity": ([*WHOLE, "bool", "float32"], -4, 4),
}

#: Operators with attributes, of float32.
ACTIVATIONS: list[tuple[str, dict[str, float | str]]] = [
    ("Elu", {"alpha": 0.7}),
    ("Elu", {}),
    ("Selu", {}),
    ("Selu", {"alpha": 2.0, "gamma": 3.0}),
    ("Celu", {"alpha": 2.0}),
    ("Gelu", {}),
    ("Gelu", {"approximate": "tanh"}),
    ("HardSigmoid", {}),
    ("HardSigmoid", {"alpha": 0.5, "beta": 0.6}),
    ("LeakyRelu", {"alpha": 0.1}),
    ("ThresholdedRelu", {"alpha": 1.5}),
    ("Shrink", {"lambd": 1.5, "bias": 0.5}),
    ("Swish", {}),
    ("Swish", {"alpha": 1.5}),
]

ARITHMETIC = ["Add", "Sub", "Mul", "Div", "Max", "Min", "Sum"]
LOGIC = ["And", "Or", "Xor"]
COMPARISONS = ["Equal", "Greater", "GreaterOrEqual", "Less", "LessOrEqual"]
BITS = ["BitwiseAnd", "BitwiseOr", "BitwiseXor"]


def values(rng: np.random.Generator, shape: tuple[int, ...], kind: str, low: float = -6, high: float = 6) -> np.ndarray:
    """Returns elements: float32 of an interval, ties of roundings among them, or any integers."""
    dtype = np.dtype(kind)
    if dtype.kind == "f":
        drawn = rng.uniform(low, high, shape)
        return np.where(rng.random(shape) < 0.2, np.clip(np.round(2 * drawn) / 2, low, high), drawn).astype(dtype)
    if dtype.kind == "b":
        return rng.random(shape) < 0.5
    info = np.iinfo(dtype)
    small = rng.integers(max(info.min, -7), 8, shape).astype(dtype)
    return np.where(rng.random(shape) < 0.5, small, rng.integers(info.min, info.max, shape, dtype, endpoint=True))


@st.composite
def shapes(draw, count: int) -> list[tuple[int, ...]]:
    """Returns shapes that are broadcast together."""
    whole = draw(st.lists(st.integers(1, 4), min_size=1, max_size=5))
    found = []
    for _ in range(count):
        cut = draw(st.integers(0, len(whole)))
        found.append(tuple(draw(st.sampled_from([size, 1])) for size in whole[cut:]))
    return found


@given(st.sampled_from(sorted(UNARY)), st.data())
@settings(max_examples=examples(300), deadline=None)
def test_one_operand(kind: str, data: st.DataObject) -> None:
    types, low, high = UNARY[kind]
    dtype = data.draw(st.sampled_from(types))
    rng = np.random.default_rng(data.draw(st.integers(0, 1000)))
    # The evaluator fails on scalars for some kinds.
    feed = {"x": values(rng, data.draw(shapes(1))[0] or (1,), dtype, low, high)}
    check(model([node(kind, "x")], feed), feed)


@pytest.mark.parametrize(("kind", "attributes"), ACTIVATIONS, ids=str)
def test_activations(kind: str, attributes: dict[str, float | str]) -> None:
    feed = {"x": np.linspace(-9, 9, 73, dtype=np.float32).reshape(1, 73)}
    check(model([node(kind, "x", **attributes)], feed, opset=24), feed)


@given(st.sampled_from([*ARITHMETIC, *COMPARISONS, *LOGIC, *BITS]), st.data())
@settings(max_examples=examples(400), deadline=None)
def test_two_operands(kind: str, data: st.DataObject) -> None:
    dtype = data.draw(st.sampled_from(_types(kind)))
    a, b = data.draw(shapes(2))
    rng = np.random.default_rng(data.draw(st.integers(0, 1000)))
    feed = {"a": values(rng, a, dtype), "b": values(rng, b, dtype)}
    wanted = None
    if kind == "Div":
        feed["b"] = np.where(feed["b"] == 0, feed["b"].dtype.type(3), feed["b"])
        wanted = [_quotient(feed["a"], feed["b"])]
    check(model([node(kind, "a b")], feed), feed, wanted=wanted)


def _types(kind: str) -> list[str]:
    if kind in LOGIC:
        return ["bool"]
    if kind in BITS:
        return WHOLE
    return REAL if kind == "Sum" else [*WHOLE, "float32"]


def _quotient(a: np.ndarray, b: np.ndarray) -> np.ndarray:
    """Returns quotients, cut off toward 0; the reference evaluator takes those of numpy, which are rounded down."""
    if a.dtype.kind == "f":
        return a / b
    with np.errstate(all="ignore"):
        exact = [abs(int(x)) // abs(int(y)) * (1 if (x < 0) == (y < 0) else -1) for x, y in np.broadcast(a, b)]
        shape = np.broadcast_shapes(a.shape, b.shape)
        return np.array([each & 0xFFFFFFFFFFFFFFFF for each in exact], np.uint64).astype(a.dtype).reshape(shape)


@pytest.mark.parametrize("kind", ["Max", "Min", "Sum", "Mean"])
@pytest.mark.parametrize("count", [1, 2, 4])
def test_any_number_of_operands(kind: str, count: int) -> None:
    rng = np.random.default_rng(count)
    drawn = [(3, 1, 4), (2, 1), (4,), ()][:count]
    feed = {f"x{index}": values(rng, shape, "float32") for index, shape in enumerate(drawn)}
    # The reference evaluator adds in the memory of the first operand, also where the sum is larger.
    wanted = [np.asarray(sum(feed.values()), np.float32) / np.float32(count)] if kind == "Mean" else None
    check(model([node(kind, " ".join(feed))], feed), feed, wanted=wanted)


@pytest.mark.parametrize("kind", ["Max", "Min", "Clip", "Relu"])
def test_not_a_number_stays(kind: str) -> None:
    """As numpy and PyTorch define these functions."""
    feed = {"x": np.array([np.nan, 1, -1, np.nan, np.inf, -np.inf], np.float32)}
    constants = {}
    if kind == "Clip":
        constants = {"low": np.array(-0.5, np.float32), "high": np.array(0.5, np.float32)}
    elif kind != "Relu":
        feed["other"] = np.array([1, np.nan, 2, np.nan, np.nan, 0], np.float32)
    check(model([node(kind, " ".join([*feed, *constants]))], feed, constants), feed, compiled=True)
    if kind in ("Max", "Min"):
        constants = {"other": feed.pop("other")}
        check(model([node(kind, "x other")], feed, constants), feed)
        check(model([node(kind, "x other")], feed, {"other": np.zeros(6, np.float32)}), feed)


@given(st.sampled_from([*WHOLE, "float32"]), st.booleans(), st.integers(0, 1000))
@settings(max_examples=examples(60), deadline=None)
def test_remainders(dtype: str, fmod: bool, seed: int) -> None:
    rng = np.random.default_rng(seed)
    feed = {"a": values(rng, (3, 5), dtype), "b": values(rng, (5,), dtype)}
    feed["b"] = np.where(feed["b"] == 0, feed["b"].dtype.type(3), feed["b"])
    check(model([node("Mod", "a b", fmod=int(fmod or dtype == "float32"))], feed), feed)


@given(st.sampled_from(["int32", "int64", "float32"]), st.sampled_from([*WHOLE, "float32"]), st.integers(0, 1000))
@settings(max_examples=examples(60), deadline=None)
def test_powers(base: str, exponent: str, seed: int) -> None:
    rng = np.random.default_rng(seed)
    a = rng.integers(1, 6, (4, 3)).astype(base)
    feed = {"a": a, "b": rng.integers(0, 6, 3).astype(exponent)}
    check(model([node("Pow", "a b")], feed), feed)


@pytest.mark.parametrize("exponent", [0.0, 0.5, 1.0, 2.0, 3.0, 4.0, 7.0, -1.0, 1.7])
def test_constant_exponents(exponent: float) -> None:
    feed = {"a": np.linspace(0.1, 3, 12, dtype=np.float32).reshape(3, 4)}
    check(model([node("Pow", "a b")], feed, {"b": np.array(exponent, np.float32)}), feed)


@given(st.sampled_from([*WHOLE, "bool", "float32"]), st.sampled_from([*WHOLE, "bool", "float32"]), st.integers(0, 99))
@settings(max_examples=examples(120), deadline=None)
def test_casts(before: str, after: str, seed: int) -> None:
    rng = np.random.default_rng(seed)
    x = values(rng, (4, 5), before, 0, 100)
    to = model_type(after)
    check(model([node("Cast", "x", to=to)], {"x": x}), {"x": x}, wanted=[x.astype(after)])
    like = {"like": np.zeros(1, after)}
    check(model([node("CastLike", "x like")], {"x": x}, like), {"x": x}, wanted=[x.astype(after)])


def model_type(name: str) -> int:
    """Returns the number that the format has for a type."""
    return int(helper.np_dtype_to_tensor_dtype(np.dtype(name)))


@given(st.sampled_from([*WHOLE, "bool", "float32"]), shapes(3), st.integers(0, 99))
@settings(max_examples=examples(60), deadline=None)
def test_where(dtype: str, drawn: list[tuple[int, ...]], seed: int) -> None:
    rng = np.random.default_rng(seed)
    feed = {"c": values(rng, drawn[0], "bool"), "a": values(rng, drawn[1], dtype), "b": values(rng, drawn[2], dtype)}
    check(model([node("Where", "c a b")], feed), feed)


@pytest.mark.parametrize("direction", ["LEFT", "RIGHT"])
@pytest.mark.parametrize("dtype", WHOLE)
def test_shifts(direction: str, dtype: str) -> None:
    """Of signed integers from version 28 on; by too many bits and by less than none, too."""
    info = np.iinfo(dtype)
    counts = np.arange(max(-2, info.min), info.bits + 3).astype(dtype)
    feed = {"a": values(np.random.default_rng(1), (5, 1), dtype), "b": counts}
    shift = node("BitShift", "a b", direction=direction)
    check(model([shift], feed, opset=28), feed, compiled=dtype in ("int8", "uint32", "int64"))


@pytest.mark.parametrize(
    ("before", "after"),
    [("float32", "int32"), ("uint32", "float32"), ("int8", "uint8"), ("uint64", "int64"), ("int16", "int16")],
)
def test_bits_as_another_type(before: str, after: str) -> None:
    x = values(np.random.default_rng(2), (3, 7), before)
    check(model([node("BitCast", "x", to=model_type(after))], {"x": x}, opset=26), {"x": x}, compiled=before != after)


@pytest.mark.parametrize(("dtype", "threshold"), [("float32", 0.5), ("int32", 1.5), ("int64", -2.0)])
def test_binarizer(dtype: str, threshold: float) -> None:
    x = np.arange(-4, 5).astype(dtype)
    data = model([node("Binarizer", "x", domain="ai.onnx.ml", threshold=threshold)], {"x": x})
    check(data, {"x": x}, wanted=[(x > threshold).astype(dtype)])


def test_gated_activation() -> None:
    rng = np.random.default_rng(3)
    feed = {"a": values(rng, (2, 9), "float32"), "b": values(rng, (2, 9), "float32")}
    wanted = [feed["a"] / (1 + np.exp(-1.5 * feed["a"])) * feed["b"]]
    check(model([node("SwiGLU", "a b", alpha=1.5)], feed, opset=28), feed, wanted=wanted)


@pytest.mark.parametrize(("low", "high"), [(0, None), (0, 6), (-1, 2), (None, 3), (0, np.inf), (2, -2), (None, None)])
def test_clip(low: float | None, high: float | None) -> None:
    feed = {"x": np.linspace(-9, 9, 37, dtype=np.float32)}
    limits = {name: value for name, value in (("low", low), ("high", high)) if value is not None}
    constants = {name: np.array(value, np.float32) for name, value in limits.items()}
    names = ["x", *(name if name in limits else "_" for name in ("low", "high"))]
    wanted = feed["x"]
    wanted = wanted if low is None else np.maximum(wanted, np.float32(low))
    wanted = wanted if high is None else np.minimum(wanted, np.float32(high))
    check(model([node("Clip", " ".join(names))], feed, constants), feed, wanted=[wanted])
    old = {{"low": "min", "high": "max"}[name]: float(value) for name, value in limits.items()}
    check(model([node("Clip", "x", **old)], feed, opset=10), feed, wanted=[wanted])


@pytest.mark.parametrize("dtype", ["int8", "uint8", "int32", "int64"])
def test_clip_of_integers_by_operands(dtype: str) -> None:
    x = np.arange(0, 100, 7).astype(dtype)
    feed = {"x": x, "low": np.array(20, dtype), "high": np.array(60, dtype)}
    check(model([node("Clip", "x low high")], feed), feed)


@pytest.mark.parametrize(("positive", "negative"), [(1, 1), (1, 0), (0, 1), (0, 0)])
def test_numbers_that_are_none(positive: int, negative: int) -> None:
    feed = {"x": np.array([np.nan, np.inf, -np.inf, 0, 1], np.float32)}
    isinf = node("IsInf", "x", detect_positive=positive, detect_negative=negative)
    check(model([isinf], feed), feed, compiled=(positive, negative) == (1, 0))
    check(model([node("IsNaN", "x")], feed), feed, compiled=positive + negative == 2)


@pytest.mark.parametrize("dtype", ["float32", "int32", "int64"])
def test_rectifiers_with_slopes(dtype: str) -> None:
    rng = np.random.default_rng(0)
    feed = {"x": values(rng, (2, 3, 4), dtype, -3, 3) % 50, "slope": values(rng, (3, 1), dtype) % 5}
    check(model([node("PRelu", "x slope")], feed), feed)


def test_dropout_changes_nothing() -> None:
    feed = {"x": np.arange(6, dtype=np.float32).reshape(2, 3)}
    wanted = [feed["x"], np.ones((2, 3), bool)]
    check(model([node("Dropout", "x", "y mask")], feed, opset=13), feed, wanted=wanted)
    check(model([node("Dropout", "x", ratio=0.3)], feed, opset=10), feed, wanted=wanted[:1])


def test_a_chain_is_compiled() -> None:
    """The kernels of float32 that TFLite has not, in one model."""
    kinds = [
        "Erf",
        "Mish",
        "Softplus",
        "Gelu",
        "Asinh",
        "Atan",
        "Sinh",
        "Cosh",
        "Acosh",
        "Log",
        "Tanh",
        "Asin",
        "Acos",
        "Tan",
        "Sign",
    ]
    names = ["x", *(f"t{index}" for index in range(len(kinds)))]
    nodes = [node(kind, a, b) for kind, a, b in zip(kinds, names[:-1], names[1:], strict=True)]
    feed = {"x": np.linspace(0.2, 2, 24, dtype=np.float32).reshape(2, 12)}
    check(model(nodes, feed), feed, compiled=True, rtol=1e-5)


def test_more_axes_inside_than_inputs_may_have() -> None:
    feed = {"x": values(np.random.default_rng(4), (2, 3, 4), "float32")}
    constants = {"inner": np.array([1, 2, 1, 3, 1, 2, 2, 1]), "outer": np.array([24])}
    nodes = [node("Reshape", "x inner", "a"), node("Relu", "a", "b"), node("Reshape", "b outer")]
    check(model(nodes, feed, constants), feed, compiled=True)


@pytest.mark.parametrize("dtype", WHOLE)
def test_integers_are_compiled(dtype: str) -> None:
    rng = np.random.default_rng(7)
    feed = {"a": values(rng, (4, 9), dtype), "b": values(rng, (9,), dtype)}
    nodes = [node("Mul", "a b", "p"), node("Sub", "p b", "d"), node("Max", "d a", "m"), node("Add", "m b", "s")]
    nodes += [node("BitwiseXor", "s a", "e"), node("Less", "e b", "l"), node("Where", "l e b", "y")]
    check(model(nodes, feed), feed, compiled=True)


def test_refusals() -> None:
    feed = {"x": np.zeros((2, 3), np.float32)}
    constants = {"ratio": np.array(0.5, np.float32), "training": np.array(True)}
    training = model([node("Dropout", "x ratio training")], feed, constants)
    assert "node 0 Dropout: training mode, got true, expected false" in refusal(training)
    half = model([node("Cast", "x", to=10)], feed)
    assert "node 0 Cast: element type to convert to, got float16, expected one of float32" in refusal(half)
    narrow = model([node("BitCast", "x", to=9)], {"x": np.zeros(3, np.int8)}, opset=26)
    assert "node 0 BitCast: element type to convert to, got bool, expected a number of 8 bits as int8" in refusal(
        narrow
    )
    deep = model([node("Relu", "x")], {"x": np.zeros((1, 1, 1, 2, 1, 1, 2), np.float32)})
    assert "input x: shape, got [1, 1, 1, 2, 1, 1, 2], expected at most 6 axes. Reshape" in refusal(deep)
    shape = {"shape": np.array([1] * 6 + [6], np.int64)}
    assert "output y: shape, got [1, 1, 1, 1, 1, 1, 6], expected at most 6 axes. Reshape" in refusal(
        model([node("Reshape", "x shape")], feed, shape)
    )
    large = model([node("Binarizer", "x", domain="ai.onnx.ml", threshold=1e10)], {"x": np.zeros(3, np.int32)})
    assert "Binarizer: threshold, got 1e+10, expected less than 2^31 for int32" in refusal(large)
