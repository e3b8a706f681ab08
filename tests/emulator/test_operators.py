"""Operators of some elements on an emulated Cortex-M4, whose square roots are an instruction, as tflite-micro."""

from __future__ import annotations

from pathlib import Path

import numpy as np

import aboard
from support import operator_draws, oracle, scale_draws
from support.element_models import Value, real
from support.scale_draws import Draw

BOARD = "arm/mps2_an386"
FUNCTIONS = ("ABS", "SQRT", "RSQRT", "EXP", "LOG", "SIN", "COS", "FLOOR", "ROUND", "ELU", "L2_NORMALIZATION")
SHAPE = (3, 5, 8)


def test_operators_are_those_of_the_reference(tmp_path: Path) -> None:
    rng = np.random.default_rng(0)
    unit, flags = Value(SHAPE, np.int8, 0.01, 3), Value(SHAPE, np.bool_)
    draws = [Draw(kind, (real(SHAPE),), real(SHAPE)) for kind in FUNCTIONS]
    draws += [Draw(kind, (real(SHAPE),) * 2, real(SHAPE)) for kind in ("FLOOR_DIV", "FLOOR_MOD", "MAXIMUM")]
    draws += [Draw("LESS", (unit,) * 2, flags), Draw("SELECT_V2", (flags, unit, unit), unit)]
    draws += [Draw("PRELU", (unit,) * 2, unit), Draw("MUL", (Value(SHAPE, np.int32),) * 2, Value(SHAPE, np.int32))]
    draws += [Draw("L2_NORMALIZATION", (unit,), Value(SHAPE, np.int8, 1 / 128, 0))]
    draws += [Draw("LOG_SOFTMAX", (unit,), Value(SHAPE, np.int8, 1 / 16, 127))]
    feed = [np.abs(x) if x.dtype == np.float32 else x for (xs) in operator_draws.drawn_values(rng, draws) for x in xs]
    data = scale_draws.model(draws)
    module = aboard.compile(data, board=BOARD, name="operators")
    project = aboard.create(module, board=BOARD, path=tmp_path / "project")
    project.build()
    with project.session() as device:
        results = device.run({record.name: x for record, x in zip(module.manifest.inputs, feed, strict=True)})
    assert isinstance(results, dict)
    for draw, record, wanted in zip(draws, module.manifest.outputs, oracle.tflm(data, *feed), strict=True):
        got = results[record.name]
        if wanted.dtype == np.float32:
            np.testing.assert_allclose(got, wanted, rtol=1e-6, atol=1e-6, err_msg=str(draw))
        else:
            np.testing.assert_array_equal(got, wanted, err_msg=str(draw))
