"""softmax against tflite-micro."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import aboard
from aboard.errors import ModelError, VerifyError
from aboard.importers import load
from aboard.ops import get
from aboard.ops.softmax import SoftmaxAttributes, exponentials
from support import one_op, oracle, sanitized
from support.element_models import Value, build, check_near, feed, floats32, real, refusal, seeds
from support.examples import examples
from support.tflite_builder import ModelBuilder

shapes = st.tuples(st.lists(st.integers(1, 4), max_size=3), st.integers(1, 40)).map(lambda s: (*s[0], s[1]))
BETA = {"Beta": 1.0}


def result_of(shape: tuple[int, ...]) -> Value:
    return Value(shape, np.int8, 1 / 256, -128)


@settings(max_examples=examples(50), deadline=None)
@given(shapes, floats32(1e-4, 4.0), st.integers(-128, 127), st.sampled_from([1.0, 0.5, 2.25]), seeds)
def test_int8_equals_the_reference(
    shape: tuple[int, ...], scale: float, zero_point: int, beta: float, seed: int
) -> None:
    operand = Value(shape, np.int8, scale, zero_point)
    one_op.check_equal(build("SOFTMAX", [operand], result_of(shape), {"Beta": beta}), *feed([operand], seed))


@settings(max_examples=10, deadline=None)
@given(shapes, floats32(1e-4, 4.0), st.integers(-128, 127), seeds)
def test_int16_results_of_int8(shape: tuple[int, ...], scale: float, zero_point: int, seed: int) -> None:
    operand, result = Value(shape, np.int8, scale, zero_point), Value(shape, np.int16, 2.0**-16, -32768)
    one_op.check_equal(build("SOFTMAX", [operand], result, BETA), *feed([operand], seed))


@pytest.mark.parametrize(("scale", "zero_point"), [(2.0**-15, -32768), (2.0**-16, 0)])
def test_other_int16_results_of_int8_are_refused(scale: float, zero_point: int) -> None:
    operand, result = Value((1, 4), np.int8, 0.1, 0), Value((1, 4), np.int16, scale, zero_point)
    with pytest.raises(ModelError, match=r"type of the result, got int16\[1x4\] .*, expected a scale of 2\^-16 and"):
        load(build("SOFTMAX", [operand], result, BETA))


@pytest.mark.parametrize("scale", [2.0**-20, 1e-3, 0.1, 1.0, 1e3, 1e8])
def test_scales_far_apart(scale: float) -> None:
    operand = Value((256, 2), np.int8, scale, 0)
    x = np.stack([np.arange(-128, 128), np.zeros(256)], axis=1).astype(np.int8)
    one_op.check_equal(build("SOFTMAX", [operand], result_of(operand.shape), BETA), x)


@pytest.mark.parametrize("scale", [1e-6, 0.02, 0.3, 5.0])
def test_every_difference_of_two_classes(scale: float) -> None:
    # Each by its smallest and by its largest elements: the table holds the difference alone.
    above = np.arange(-255, 256)
    first = np.concatenate([np.maximum(above - 128, -128), np.minimum(above + 127, 127)])
    x = np.stack([first, first - np.concatenate([above, above])], axis=1).astype(np.int8)
    operand = Value(x.shape, np.int8, scale, 3)
    one_op.check_equal(build("SOFTMAX", [operand], result_of(operand.shape), BETA), x)


@pytest.mark.parametrize("value", [-128, 0, 127])
@pytest.mark.parametrize("classes", [1, 2, 255, 511])
def test_equal_classes(value: int, classes: int) -> None:
    # From 512 equal classes on the reference ends the process.
    operand = Value((1, classes), np.int8, 0.1, 0)
    model = build("SOFTMAX", [operand], result_of(operand.shape), BETA)
    one_op.check_equal(model, np.full(operand.shape, value, np.int8))


def test_more_classes_than_the_reference_bears() -> None:
    operand = Value((1, 3000), np.int8, 0.1, 0)
    model = build("SOFTMAX", [operand], result_of(operand.shape), BETA)
    x = np.zeros(operand.shape, np.int8)
    for results in (one_op.evaluate(model, x), one_op.compiled(model, x)):
        np.testing.assert_array_equal(results[0], np.full(operand.shape, -128, np.int8))


@settings(max_examples=examples(20), deadline=None)
@given(shapes, st.sampled_from([1.0, 0.5, 2.25]), st.floats(0.1, 50), seeds)
def test_float_is_near_the_reference(shape: tuple[int, ...], beta: float, spread: float, seed: int) -> None:
    model = build("SOFTMAX", [real(shape)], real(shape), {"Beta": beta})
    check_near(model, *feed([real(shape)], seed, spread))


def test_the_table_holds_what_is_felt() -> None:
    operand = Value((1, 3), np.int8, 0.1, 0)
    node = load(build("SOFTMAX", [operand], result_of((1, 3)), BETA), name="model").nodes[0]
    table = exponentials(node)
    np.testing.assert_allclose(table / 2.0**31, np.exp(-0.1 * np.arange(len(table))), rtol=0, atol=1e-6)
    assert table[-1] >= 1 << 11
    assert len(table) == 139


@pytest.mark.parametrize("opt", ["size", "speed"])
def test_layers_that_share_code(opt: str) -> None:
    builder = ModelBuilder()
    builder.tensor("a", (3, 5), np.int8, scale=0.1, zero_point=2)
    builder.tensor("b", (3, 5), np.int8, scale=1 / 256, zero_point=-128)
    builder.tensor("c", (3, 5), np.int8, scale=1 / 256, zero_point=-128)
    builder.op("SOFTMAX", ["a"], ["b"], BETA)
    model = builder.op("SOFTMAX", ["b"], ["c"], {"Beta": 9.0}).build(["a"], ["c"])
    (x,) = feed([Value((3, 5))], 5)
    (result,) = one_op.compiled(model, x, attributes=f"-opt={opt}")
    np.testing.assert_array_equal(result, oracle.tflm(model, x)[0])


@pytest.mark.parametrize("dtype", [np.int8, np.float32])
def test_generated_c_is_clean(dtype: type, tmp_path: Path) -> None:
    operand = Value((2, 3, 7), dtype, 0.1 if dtype is np.int8 else None, 0)
    model = build("SOFTMAX", [operand], result_of((2, 3, 7)) if dtype is np.int8 else operand, BETA)
    (x,) = feed([operand], 6)
    (result,) = sanitized.run(aboard.compile(model, target=one_op.HOST, name="model"), {"x0": x}, tmp_path).values()
    np.testing.assert_allclose(result, oracle.tflm(model, x)[0], rtol=1e-5, atol=1e-7)


def test_refusals() -> None:
    operand, result = Value((2, 3), np.int8, 0.5, 3), result_of((2, 3))
    message = refusal("SOFTMAX", [operand], replace(result, scale=0.01), BETA)
    assert "got scale 0.01 and zero point -128, expected 1/256 and -128" in message
    other = Value((2, 3), np.uint8, 2**-8, 0)
    assert "element types, got int8, uint8" in refusal("SOFTMAX", [operand], other, BETA)
    assert "beta, got 0.0, expected a positive number" in refusal("SOFTMAX", [operand], result, {"Beta": 0.0})
    assert "rank of the operand, got 0, expected at least 1" in refusal(
        "SOFTMAX", [replace(operand, shape=())], replace(result, shape=()), BETA
    )
    assert "scale of the operand, got 1e-08, expected more than 2^-26" in refusal(
        "SOFTMAX", [replace(operand, scale=1e-8)], result, BETA
    )


def test_verifier_names_the_broken_rule() -> None:
    node = load(build("SOFTMAX", [real((2, 3))], real((2, 3)), BETA), name="model").nodes[0]
    node.attrs = SoftmaxAttributes(-1.0)
    with pytest.raises(VerifyError, match=r"softmax y: beta, got -1.0, expected a positive number"):
        get("softmax").verify(node)
