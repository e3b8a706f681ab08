"""Layers that stay away from the NPU because results would differ, and the reasons."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from support import npu_series, one_op
from support.element_models import Value
from support.moves import Case
from support.moves import model as moved
from support.scale_draws import Draw
from support.scale_draws import model as drawn

INT8, INT16 = np.int8, np.int16
ROW = (1, 8)


def of(kind: str, *scales: float, dtype: Any = INT8, zero_points: tuple[int, ...] = (0, 0, 0), **options: Any) -> bytes:
    """Returns a model of one operator, with the scales of its operands and of its result."""
    values = [Value(ROW, dtype, scale, zero) for scale, zero in zip(scales, zero_points, strict=False)]
    return drawn([Draw(kind, tuple(values[:-1]), values[-1], options)])


def total(kind: str, shape: tuple[int, ...], axes: list[int], scales: tuple[float, float]) -> bytes:
    result = tuple(1 if axis in axes else extent for axis, extent in enumerate(shape))
    quant = [{"scale": scale, "zero_point": 3} for scale in scales]
    return moved(Case(kind, [shape, axes], [result], {"KeepDims": True}, quant=quant))


def turned(kind: str, before: tuple[int, ...], after: tuple[int, ...]) -> bytes:
    return moved(Case(kind, [before], [after], {"BlockSize": 2}))


def reasons(model: bytes) -> set[str]:
    """Returns why the NPU does not compute nodes of a model."""
    _, decided = npu_series.decided(model)
    return {placement.refused[0].reason for placement in decided.placements if placement.claim is None}


REFUSED = {
    "products of int8": (
        of("MUL", 0.02196172997355461, 0.01687430404126644, 0.04743538051843643, zero_points=(91, -3, 1)),
        "49 products differ from the reference",
    ),
    "products of int16": (
        of("MUL", 0.8472102284431458, 68.380859375, 12412.2021484375, dtype=INT16),
        "Vela's multiplier, which is of float32, differs from the reference's",
    ),
    "coarse sum": (of("ADD", 1.0, 1.0, 131072.0), "scale of the result, got 131072, expected at most 65536"),
    "coarse swish": (of("HARD_SWISH", 1.0, 131072.0), "scale of the result, got 131072, expected at most 65536"),
    "swish of large numbers": (
        of("HARD_SWISH", 1024.0, 1024.0),
        "scale of the operand, got 1024, expected at most 512",
    ),
    "flat slope": (
        of("LEAKY_RELU", 0.5, 0.5, Alpha=1e-12),
        "slope, got 1e-12, expected 0 or a step of at least 5.96046e-08 in the result, got 1e-12",
    ),
    "mean of 49": (
        total("MEAN", (1, 7, 7, 4), [1, 2], (0.05, 0.05)),
        "255 of 12496 sums differ from the reference",
    ),
    "mean of a large image": (
        total("MEAN", (1, 65, 67, 4), [1, 2], (0.05, 0.05)),
        "axes (1, 2) of (1, 65, 67, 4), expected one window of at most 64x64 in an image",
    ),
    "place in many channels": (
        moved(Case("ARG_MAX", [(1, 2, 2, 128), np.array(3, np.int32)], [(1, 2, 2)], result_dtype=np.int32)),
        "axis 3 of (1, 2, 2, 128), expected the last one, of at most 127 channels",
    ),
    "backward slice": (
        moved(Case("STRIDED_SLICE", [(1, 4, 4, 2), [0, 3, 0, 0], [1, 0, 4, 2], [1, -1, 1, 1]], [(1, 3, 4, 2)])),
        "strides, got (1, -1, 1, 1), expected positive ones, and 1 for channels",
    ),
    "sum of axes apart": (
        total("SUM", (1, 5, 6, 4), [1, 3], (0.05, 0.5)),
        "axes (1, 3) of (1, 5, 6, 4), expected one window of at most 64x64 in an image",
    ),
}


@pytest.mark.parametrize("name", REFUSED)
def test_a_layer_that_would_differ(name: str) -> None:
    model, reason = REFUSED[name]
    assert reasons(model) == {reason}


def test_products_of_int16_whose_multiplier_is_that_of_the_reference() -> None:
    model = of("MUL", 0.5, 0.25, 512.0, dtype=INT16)
    x = np.random.default_rng(3).integers(-32768, 32768, (2, *ROW)).astype(INT16)
    assert reasons(model) == set()
    one_op.check_equal(model, *x, run=npu_series.on_model)


@pytest.mark.parametrize("count", [9, 16, 64])
def test_a_mean_keeps_its_scale_where_all_sums_are_right(count: int) -> None:
    model = total("MEAN", (1, 1, count, 4), [2], (0.05, 0.05 if count != 9 else 0.04))
    assert reasons(model) == set()


def test_pixels_of_several_samples() -> None:
    found = reasons(turned("DEPTH_TO_SPACE", (2, 3, 4, 8), (2, 6, 8, 2)))
    assert "shapes, got (2, 3, 2, 4, 2, 2) and (2, 6, 8, 2), expected an image of one sample" in found
    assert reasons(turned("DEPTH_TO_SPACE", (1, 3, 4, 8), (1, 6, 8, 2))) == set()
