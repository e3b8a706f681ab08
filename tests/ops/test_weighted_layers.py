"""Layers with weights against tflite-micro, over many shapes and options. Each op has a file for its other tests."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from support import one_op, oracle
from support.examples import examples
from support.weighted_models import check_near, dequantized, layers

of_each_op = pytest.mark.parametrize("op", ["CONV_2D", "DEPTHWISE_CONV_2D", "FULLY_CONNECTED"])


@of_each_op
@settings(max_examples=examples(40), deadline=None)
@given(st.data())
def test_int8_equals_the_reference(op: str, data: st.DataObject) -> None:
    layer = data.draw(layers(op))
    one_op.check_equal(layer.model(), layer.input())


@of_each_op
@settings(max_examples=examples(15), deadline=None)
@given(st.data())
def test_float_is_near_the_reference(op: str, data: st.DataObject) -> None:
    layer = data.draw(layers(op, "float32"))
    check_near(layer, oracle.tflm(layer.model(), layer.input())[0])


@of_each_op
@settings(max_examples=examples(15), deadline=None)
@given(st.data())
def test_int8_weights_in_a_float_layer_are_their_real_values(op: str, data: st.DataObject) -> None:
    layer = data.draw(layers(op, "hybrid"))
    check_near(layer, dequantized(layer))
