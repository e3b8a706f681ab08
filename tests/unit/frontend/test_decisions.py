"""Scales, moving averages and decisions: C equals numpy, and both equal a definition in real numbers."""

from __future__ import annotations

import re
from collections import deque
from collections.abc import Callable
from fractions import Fraction
from typing import Any

import cffi
import numpy as np
import pytest

from aboard.errors import InputError
from aboard.frontend import Decider, IntegerScale, averages
from support import front_end as c_code

_DRIVER = """
#include "frontend/decisions.h"
#include "frontend/scale.h"

void average(const aboard_average_t *p, const int8_t *scores, int32_t runs, int8_t *ring, int8_t *out);
void average(const aboard_average_t *p, const int8_t *scores, int32_t runs, int8_t *ring, int8_t *out) {
    aboard_average_state_t state = {0, 0};
    for (int32_t run = 0; run < runs; ++run) {
        aboard_average(p, &state, ring, scores + run * p->classes, out + run * p->classes);
    }
}
void decide(const aboard_decision_t *p, const int8_t *scores, int32_t runs, int32_t *out);
void decide(const aboard_decision_t *p, const int8_t *scores, int32_t runs, int32_t *out) {
    aboard_decision_state_t state = {0, 0, 0, 0};
    for (int32_t run = 0; run < runs; ++run) {
        out[run] = aboard_decide(p, &state, scores + run * p->classes);
    }
}
void scale_s16(const aboard_scale_t *p, const int16_t *in, int8_t *out, int32_t count);
void scale_s16(const aboard_scale_t *p, const int16_t *in, int8_t *out, int32_t count) {
    aboard_scale_s16(p, in, out, count);
}
void scale_u8(const aboard_scale_t *p, const uint8_t *in, int8_t *out, int32_t count);
void scale_u8(const aboard_scale_t *p, const uint8_t *in, int8_t *out, int32_t count) {
    aboard_scale_u8(p, in, out, count);
}
"""
_DECLARED = """
void average(const void *p, const void *scores, int32_t runs, void *ring, void *out);
void decide(const void *p, const void *scores, int32_t runs, void *out);
void scale_s16(const void *p, const void *in, void *out, int32_t count);
void scale_u8(const void *p, const void *in, void *out, int32_t count);
"""
buffer = cffi.FFI().from_buffer


@pytest.fixture(scope="module")
def library(tmp_path_factory: pytest.TempPathFactory) -> Any:
    with c_code.library(tmp_path_factory.mktemp("decisions"), _DRIVER, _DECLARED) as loaded:
        yield loaded


def fields(values: dict[str, int]) -> Any:
    return buffer(np.asarray(list(values.values()), np.int32))


@pytest.mark.parametrize("scale", [(1 / 64, 0.07, 0, -5), (1.0, 1.0, 3, 0), (0.001, 3.9, 0, 127), (12.5, 0.001, 0, 1)])
def test_scales(library: Any, scale: tuple[float, float, int, int]) -> None:
    """Every int16, and every uint8."""
    own = IntegerScale(*scale)
    for dtype, function in ((np.int16, library.scale_s16), (np.uint8, library.scale_u8)):
        x = np.arange(np.iinfo(dtype).min, np.iinfo(dtype).max + 1).astype(dtype)
        found = np.zeros(x.size, np.int8)
        function(fields(own.fields), buffer(x), buffer(found), x.size)
        np.testing.assert_array_equal(found, own(x))
        real = np.clip((x.astype(float) - own.zero_before) * own.before / own.after + own.zero_after, -128, 127)
        assert np.abs(found - real).max() <= 0.500001


def test_averages(library: Any) -> None:
    rng = np.random.default_rng(0)
    for classes, length, runs in ((1, 1, 5), (3, 4, 200), (4, 7, 300), (2, 50, 40)):
        scores = rng.integers(-128, 128, (runs, classes)).astype(np.int8)
        found, ring = np.zeros_like(scores), np.zeros((length, classes), np.int8)
        library.average(
            fields({"classes": classes, "length": length}), buffer(scores), runs, buffer(ring), buffer(found)
        )
        np.testing.assert_array_equal(found, averages(scores, length))
        last: deque[list[int]] = deque(maxlen=length)
        for row, got in zip(scores.tolist(), found.tolist(), strict=True):
            last.append(row)
            means = [Fraction(sum(column), len(last)) for column in zip(*last, strict=True)]
            assert got == [(2 * mean + 1) // 2 for mean in means]


def test_decisions_in_c_equal_those_in_python(library: Any) -> None:
    rng = np.random.default_rng(0)
    seen = 0
    for number in range(200):
        classes = int(rng.integers(1, 5))
        threshold = int(rng.integers(-20, 60))
        decider = Decider(
            threshold,
            threshold - int(rng.integers(0, 60)),
            int(rng.integers(1, 4)),
            int(rng.integers(0, 5)),
            None if number % 2 else int(rng.integers(0, classes)),
        )
        walk = np.cumsum(rng.integers(-40, 41, (300, classes)), axis=0)
        scores = (np.abs(walk % 400 - 200) - 100).clip(-128, 127).astype(np.int8)
        found = np.zeros(len(scores), np.int32)
        library.decide(fields(decider.fields(classes)), buffer(scores), len(scores), buffer(found))
        runs = np.flatnonzero(found >= 0)
        assert list(zip(runs.tolist(), found[runs].tolist(), strict=True)) == decider(scores)
        seen += len(runs)
    assert seen > 1000


@pytest.mark.parametrize(
    ("decider", "scores", "decided"),
    [
        (Decider(50, 20, needed=2), [60, 60, 60, 60], [(1, 1)]),
        (Decider(50, 20, needed=2), [60, 40, 60, 60], [(3, 1)]),
        (Decider(50, 20), [60, 30, 60, 19, 60], [(0, 1), (4, 1)]),
        (Decider(50, 50, pause=2), [60, 40, 60, 60], [(0, 1), (3, 1)]),
        (Decider(50, 20, background=1), [60, 60], []),
    ],
    ids=["once", "in sequence", "released", "pause", "background"],
)
def test_when_a_class_is_decided(decider: Decider, scores: list[int], decided: list[tuple[int, int]]) -> None:
    assert decider(np.asarray([[-128, score] for score in scores], np.int8)) == decided


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (
            lambda: Decider(10, 11),
            "decisions, got threshold 10, release 11, needed 1, pause 0, expected -128 <=",
        ),
        (
            lambda: averages(np.zeros((1, 1), np.int8), 0),
            "length of a moving average, got 0, expected 1 at least. Change",
        ),
        (lambda: IntegerScale(0, 1), "scales, got 0 and 1, expected numbers above 0. Change them"),
        (lambda: IntegerScale(1e6, 1), "ratio of scales, got 1e+06, expected 2^-32 to 2^14. Change them"),
        (
            lambda: IntegerScale(1, 1, 0, 128),
            "zero points, got 0 and 128, expected one of int16 and one of int8. Change",
        ),
    ],
)
def test_wrong_parameters_are_refused(make: Callable[[], object], message: str) -> None:
    with pytest.raises(InputError, match=re.escape(message)):
        make()
