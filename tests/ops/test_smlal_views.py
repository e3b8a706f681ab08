"""The C that says what the assembly with SMLAL computes: any view, any rows, rings, sanitized, and what is refused."""

from __future__ import annotations

import dataclasses
import tempfile
from pathlib import Path

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import aboard
from aboard.target import Target
from support import kernel_call, kernel_views, one_op, sanitized
from support.smlal_layers import TARGET, implementation, layers, refusal
from support.weighted_models import Layer

CONVOLUTIONS = ("CONV_2D",)


@settings(max_examples=40, deadline=None, suppress_health_check=list(HealthCheck))
@given(st.data(), st.sampled_from(CONVOLUTIONS))
def test_strided_views_and_any_rows(data: st.DataObject, kind: str) -> None:
    layer = data.draw(layers(kind))
    x, y = (data.draw(kernel_call.views(shape, 1)) for shape in (layer.shape_in, layer.shape_out))
    ranges = data.draw(kernel_call.row_ranges(y.rows, 1))
    kernel_views.check(layer, implementation, TARGET, x, y, ranges)


@pytest.mark.parametrize("stride", [1, 2])
@pytest.mark.parametrize("kind", CONVOLUTIONS)
def test_rings_of_rows(kind: str, stride: int) -> None:
    kernel_views.check_rings(kind, stride, implementation, TARGET)


@settings(max_examples=12, deadline=None, suppress_health_check=list(HealthCheck))
@given(st.sampled_from(CONVOLUTIONS).flatmap(layers))
def test_sanitized(layer: Layer) -> None:
    model, x = layer.model(), layer.input()
    module = aboard.compile(model, target=str(TARGET), name="model")
    assert {node.implementation for node in module.manifest.nodes} == {"smlal_s8"}
    with tempfile.TemporaryDirectory() as folder:
        got = sanitized.run(module, {module.manifest.inputs[0].name: x}, Path(folder))
    np.testing.assert_array_equal(next(iter(got.values())), one_op.evaluate(model, x)[0])


def extremes(window: int, sign: int) -> Layer:
    """A layer whose sums are as large as they get: its weights are all 127 or all -127."""

    class Extreme(Layer):
        @property
        def weights(self) -> np.ndarray:
            return np.full(self.shape_weights, 127 * sign, np.int8)

        def input(self) -> np.ndarray:
            x = np.full(self.shape_in, 127, np.int8)
            x[:, :, ::2] = -128
            return x

    shapes = (1, 1, 4, window), (2, 1, 1, window), (1, 1, 4, 2)
    return Extreme("CONV_2D", *shapes, 0, {"Padding": "VALID", "StrideH": 1, "StrideW": 1}, bias=False, zero_point_in=0)


@pytest.mark.parametrize("sign", [1, -1])
def test_largest_sums(sign: int) -> None:
    layer = extremes(257, sign)
    assert refusal(layer) is None
    x, y = (kernel_call.View.whole(shape, 1) for shape in (layer.shape_in, layer.shape_out))
    kernel_views.check(layer, implementation, TARGET, x, y, [(0, 1)])
    assert refusal(extremes(259, sign)) == "sums may exceed 4194304"


def test_what_is_left_to_other_kernels() -> None:
    options = {"Padding": "SAME", "StrideH": 1, "StrideW": 1}
    conv = Layer("CONV_2D", (1, 5, 4, 4), (4, 3, 3, 4), (1, 5, 4, 4), 0, options)
    changed = dataclasses.replace
    assert refusal(conv) is None
    assert refusal(changed(conv, spread=1e-5)) == "results are not smaller than sums"
    assert refusal(changed(conv, form="float32")) == "is for int8"
    for opt, reason in (("speed", "saves instructions, not cycles"), ("size", "takes more memory")):
        target = Target(f"c -mcpu=cortex-m3 -opt={opt}")
        assert refusal(conv, target) == f"{reason} (-opt={opt})"
