"""ConvInteger, MatMulInteger, DynamicQuantizeLinear and the QLinear operators."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from onnx import TensorProto, helper, numpy_helper

from aboard.check.onnx_session import open_session
from aboard.importers import load
from aboard.ops import interpreter
from aboard.passes.fuse_quantisation import FuseQuantisation
from aboard.passes.move_transposes import MoveTransposes
from aboard.passes.remove_dead_code import RemoveDeadCode
from support import onnx_models as models

TYPES = st.sampled_from([np.int8, np.uint8])


def _bytes(draw, shape, dtype):
    random = np.random.default_rng(draw(st.integers(0, 1 << 32)))
    info = np.iinfo(dtype)
    extreme = draw(st.booleans())
    return (
        random.choice([info.min, info.max], shape).astype(dtype)
        if extreme
        else random.integers(info.min, info.max + 1, shape).astype(dtype)
    )


@settings(deadline=None)
@given(st.data(), TYPES, TYPES, st.integers(1, 700), st.booleans(), st.booleans(), st.booleans())
def test_products_of_integers_are_exact(data, left, right, depth, rows_differ, columns_differ, computed):
    a, b = _bytes(data.draw, (3, depth), left), _bytes(data.draw, (depth, 2), right)
    zeros = {
        "az": _bytes(data.draw, (3,) if rows_differ else (), left),
        "bz": _bytes(data.draw, (2,) if columns_differ else (), right),
    }
    feed = {"a": a, "b": b} if computed else {"a": a}
    constants = zeros if computed else {**zeros, "b": b}
    column = zeros["az"].reshape(-1, 1).astype(np.int64)
    wanted = (a.astype(np.int64) - column) @ (b.astype(np.int64) - zeros["bz"])
    model = models.model([models.node("MatMulInteger", "a b az bz")], feed, constants)
    models.check(model, feed, wanted=[wanted.astype(np.int32)])


@settings(deadline=None)
@given(st.data(), TYPES, TYPES, st.sampled_from([(1, 1), (1, 3), (3, 1), (60, 1)]), st.booleans())
def test_convolutions_of_integers_are_exact(data, of_x, of_weights, channels, one_axis):
    per_group, groups = channels
    pixels, taps = ((7,), (3,)) if one_axis else ((5, 4), (3, 2))
    x = _bytes(data.draw, (1, per_group * groups, *pixels), of_x)
    weights = _bytes(data.draw, (2 * groups, per_group, *taps), of_weights)
    constants = {"w": weights, "xz": _bytes(data.draw, (), of_x), "wz": _bytes(data.draw, (), of_weights)}
    node = models.node("ConvInteger", "x w xz wz", group=groups, pads=[1] * (2 * len(pixels)))
    model = models.model([node], {"x": x}, constants)
    # The reference in float64, as that of integers has no groups.
    wide = {name: value.astype(np.float64) for name, value in {"x": x, **constants}.items()}
    real = models.node("Conv", "x w", group=groups, pads=[1] * (2 * len(pixels)))
    operands = {"x": wide["x"] - wide["xz"], "w": wide["w"] - wide["wz"]}
    wanted = models.expected(models.model([real], operands), operands)[0]
    models.check(model, {"x": x}, wanted=[wanted.astype(np.int32)])


@pytest.mark.parametrize("kind", ["ConvInteger", "MatMulInteger"])
def test_integers_in_generated_c(kind):
    random = np.random.default_rng(0)
    image = kind == "ConvInteger"
    x = random.integers(0, 256, (1, 40, 5, 4) if image else (3, 600)).astype(np.uint8)
    weights = random.integers(0, 256, (3, 40, 3, 3) if image else (600, 4)).astype(np.uint8)
    constants = {"w": weights, "xz": np.array(3, np.uint8), "wz": np.array(200, np.uint8)}
    models.check(models.model([models.node(kind, "x w xz wz")], {"x": x}, constants), {"x": x}, compiled=True)


@settings(deadline=None)
@given(st.data())
def test_dynamic_quantisation(data):
    random = np.random.default_rng(data.draw(st.integers(0, 1 << 32)))
    shape = data.draw(st.sampled_from([(7,), (3, 4), (2, 3, 5)]))
    x = (random.normal(size=shape) * data.draw(st.floats(0.1, 100)) + data.draw(st.floats(-50, 50))).astype(np.float32)
    models.check(models.model([models.node("DynamicQuantizeLinear", "x", "y scale zero")], {"x": x}), {"x": x})


def test_dynamic_quantisation_in_generated_c():
    x = np.linspace(-3, 5, 24, dtype=np.float32).reshape(4, 6)
    model = models.model([models.node("DynamicQuantizeLinear", "x", "y scale zero")], {"x": x})
    models.check(model, {"x": x}, compiled=True)


def test_a_range_without_extent_is_quantised_to_zeros():
    x = np.zeros((2, 3), np.float32)
    model = models.model([models.node("DynamicQuantizeLinear", "x", "y scale zero")], {"x": x})
    whole, _, zero = models.evaluated(model, {"x": x})
    assert whole.tolist() == [[0] * 3] * 2
    assert int(zero) == 0


def _file(nodes, x, constants):
    """Returns a model with an input and output of float32, also of operators without shape inference."""
    value = helper.make_tensor_value_info
    made = helper.make_graph(
        [models.node("QuantizeLinear", "x xs xz", "q"), *nodes, models.node("DequantizeLinear", "r ys yz", "y")],
        "test",
        [value("x", TensorProto.FLOAT, x.shape)],
        [value("y", TensorProto.FLOAT, [f"d{axis}" for axis in range(x.ndim)])],
        [numpy_helper.from_array(np.asarray(array), name) for name, array in constants.items()],
    )
    imports = [helper.make_opsetid("", 19), helper.make_opsetid("com.microsoft", 1)]
    return helper.make_model(made, opset_imports=imports, ir_version=10).SerializeToString()


def _steps_apart(model, x, scale, fused):
    """Returns how far results are from onnxruntime's, in steps, and the operators of the graph."""
    wanted = open_session(model).run(None, {"x": x})[0]
    graph = load(model, name="model")
    if fused:
        for each in (MoveTransposes(), FuseQuantisation(), RemoveDeadCode()):
            each.run(graph)
    got = interpreter.run(graph, {"x": x})[graph.outputs[0].name]
    return float(np.max(np.abs(got - wanted))) / scale, [node.op for node in graph.nodes]


def _scales(dtype, **more):
    low = 0 if dtype is np.int8 else 128
    scalars = {"xs": 0.02, "ys": 0.05, "zs": 0.03}
    found = {name: np.float32(value) for name, value in scalars.items()}
    return found | {"xz": dtype(low - 8), "yz": dtype(low + 2), "zz": dtype(low + 5)} | more


@pytest.mark.parametrize("dtype", [np.int8, np.uint8])
@pytest.mark.parametrize("symmetric", [True, False])
def test_qlinear_conv(dtype, symmetric):
    random = np.random.default_rng(1)
    x = random.normal(size=(1, 3, 6, 6)).astype(np.float32)
    zero = 0 if dtype is np.int8 else 128
    weights = (random.integers(-120, 121, (4, 3, 3, 3)) + zero).astype(dtype)
    zeros = np.full(4, zero if symmetric else zero + 3, dtype)
    more = {"w": weights, "ws": np.float32([0.01, 0.02, 0.03, 0.015]), "wz": zeros, "b": np.int32([10, -500, 3, 0])}
    if dtype is np.uint8:
        more.update(ws=np.float32(0.02), wz=zeros[0])
    node = models.node("QLinearConv", "q xs xz w ws wz ys yz b", "r", pads=[1, 1, 1, 1])
    model = _file([node], x, _scales(dtype, **more))
    apart, _ = _steps_apart(model, x, 0.05, fused=False)
    assert apart < 1.01
    apart, operators = _steps_apart(model, x, 0.05, fused=True)
    assert apart < 1.01
    assert ("round" in operators) is not symmetric


@pytest.mark.parametrize("symmetric", [True, False])
def test_qlinear_matmul(symmetric):
    random = np.random.default_rng(2)
    x = random.normal(size=(3, 20)).astype(np.float32)
    weights = random.integers(-120, 121, (20, 4)).astype(np.int8)
    more = {"w": weights, "ws": np.float32(0.02), "wz": np.int8(0 if symmetric else 3)}
    model = _file([models.node("QLinearMatMul", "q xs xz w ws wz ys yz", "r")], x, _scales(np.int8, **more))
    for fused in (False, True):
        apart, operators = _steps_apart(model, x, 0.05, fused)
        assert apart < 1.01
    assert ("round" in operators) is not symmetric


@pytest.mark.parametrize("dtype", [np.int8, np.uint8])
@pytest.mark.parametrize(
    ("kind", "operands", "attributes"),
    [
        ("QLinearAdd", "q xs xz q xs xz ys yz", {}),
        ("QLinearMul", "q xs xz q xs xz ys yz", {}),
        ("QLinearSigmoid", "q xs xz ys yz", {}),
        ("QLinearLeakyRelu", "q xs xz ys yz", {"alpha": 0.25}),
        ("QLinearLeakyRelu", "q xs xz ys yz", {}),
        ("QLinearGlobalAveragePool", "q xs xz ys yz", {}),
        ("QLinearAveragePool", "q xs xz ys yz", {"kernel_shape": [3, 2], "pads": [1, 0, 1, 0]}),
        ("QLinearConcat", "ys yz q xs xz q xs xz", {"axis": 1}),
        ("QLinearSoftmax", "q xs xz ys yz", {"axis": 1, "opset": 13}),
    ],
)
def test_operators_of_onnxruntime(dtype, kind, operands, attributes):
    x = np.random.default_rng(3).normal(size=(1, 3, 4, 4)).astype(np.float32)
    node = models.node(kind, operands, "r", "com.microsoft", **attributes)
    model = _file([node], x, _scales(dtype))
    for fused in (False, True):
        apart, _ = _steps_apart(model, x, 0.05, fused)
        assert apart < 1.01


@pytest.mark.parametrize("transposed", [0, 1])
@pytest.mark.parametrize("bias", ["", " b"])
def test_qgemm(transposed, bias):
    random = np.random.default_rng(4)
    x = random.normal(size=(2, 6)).astype(np.float32)
    weights = random.integers(-120, 121, (4, 6) if transposed else (6, 4)).astype(np.int8)
    more = {"w": weights, "ws": np.float32([0.01, 0.02, 0.03, 0.015]), "wz": np.zeros(4, np.int8)}
    more |= {"b": np.int32([10, -500, 3, 0])} if bias else {}
    node = models.node("QGemm", f"q xs xz w ws wz{bias or ' _'} ys yz", "r", "com.microsoft", transB=transposed)
    model = _file([node], x, _scales(np.int8, **more))
    for fused in (False, True):
        apart, operators = _steps_apart(model, x, 0.05, fused)
        assert apart < 1.01
    assert "fully_connected" in operators


@pytest.mark.parametrize("dtype", [np.int8, np.uint8])
@pytest.mark.parametrize("shape", [(1, 3, 6), (1, 3, 6, 6)])
def test_the_largest_of_quantised_numbers_keep_their_scale(dtype, shape):
    x = np.random.default_rng(5).normal(size=shape).astype(np.float32)
    scales = _scales(dtype)
    scales |= {"ys": scales["xs"], "yz": scales["xz"]}
    size = [2] * (len(shape) - 2)
    model = _file([models.node("MaxPool", "q", "r", kernel_shape=size, strides=size)], x, scales)
    for fused in (False, True):
        apart, operators = _steps_apart(model, x, 0.02, fused)
        assert apart == 0
    assert "cast" not in operators


REFUSED = {
    "types": ("MatMulInteger", {"az": np.uint8(1), "b": np.zeros((4, 2), np.int8)}, "a b az", "zero points of uint8"),
    "rows": (
        "MatMulInteger",
        {"az": np.int8([1, 2]), "b": np.zeros((4, 2), np.int8)},
        "a b az",
        "zero points of shape",
    ),
    "depth": ("MatMulInteger", {"b": np.zeros((5, 2), np.int8)}, "a b", "expected matrices that fit"),
    "rank": ("ConvInteger", {"b": np.zeros((4, 2), np.int8)}, "a b", "expected three or four axes"),
}


def _untyped(node, feed, constants):
    value = helper.make_tensor_value_info
    inputs = [value(name, helper.np_dtype_to_tensor_dtype(array.dtype), array.shape) for name, array in feed.items()]
    weights = [numpy_helper.from_array(np.asarray(array), name) for name, array in constants.items()]
    made = helper.make_graph(
        [node], "test", inputs, [value("y", TensorProto.INT32, [f"d{axis}" for axis in range(feed["a"].ndim)])], weights
    )
    return helper.make_model(made, opset_imports=[helper.make_opsetid("", 19)], ir_version=10).SerializeToString()


@pytest.mark.parametrize("case", REFUSED)
def test_operands_that_do_not_fit_are_refused(case):
    kind, constants, operands, message = REFUSED[case]
    feed = {"a": np.zeros((3, 4), np.int8)}
    assert message in models.refusal(_untyped(models.node(kind, operands), feed, constants))


def test_sums_that_float32_does_not_hold_are_refused():
    feed = {"a": np.zeros((1, 1, 20, 20), np.int8)}
    assert "at most 258 taps" in models.refusal(
        _untyped(models.node("ConvInteger", "a b"), feed, {"b": np.zeros((1, 1, 17, 17), np.int8)})
    )
    feed = {"a": np.zeros((1, 80, 4, 4), np.int8)}
    node = models.node("ConvInteger", "a b", group=2)
    weights = {"b": np.zeros((2, 40, 3, 3), np.int8)}
    assert "40 channels of 9 taps in each of 2 groups" in models.refusal(_untyped(node, feed, weights))


def test_several_scales_of_a_result_are_refused():
    constants = _scales(np.int8, w=np.zeros((4, 2), np.int8), ws=np.float32(1), wz=np.int8(3), ys=np.float32([1, 2]))
    node = models.node("QLinearMatMul", "a xs xz w ws wz ys yz")
    message = models.refusal(_untyped(node, {"a": np.zeros((3, 4), np.int8)}, constants))
    assert "2 of the result and 1 zero points of int8, expected one each" in message


def test_channels_last_is_refused():
    x = np.zeros((1, 4, 4, 3), np.float32)
    node = models.node("QLinearGlobalAveragePool", "q xs xz ys yz", "r", "com.microsoft", channels_last=1)
    assert "channels_last, got 1, expected 0" in models.refusal(_file([node], x, _scales(np.int8)))
