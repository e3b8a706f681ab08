"""Branches and loops on an emulated Cortex-M4: the outputs of tflite-micro, byte for byte."""

from __future__ import annotations

from pathlib import Path

import numpy as np

import aboard
from support import control_models, oracle

BOARD = "arm/mps2_an386"


def test_a_branch_in_a_loop(tmp_path: Path) -> None:
    model = control_models.nested(2)
    module = aboard.compile(model, board=BOARD, name="nested")
    options = {"trace": "on", "run_op": "on"}
    project = aboard.create(module, board=BOARD, path=tmp_path / "project", options=options)
    project.build()
    rng = np.random.default_rng(2)
    with project.session() as device:
        for iterations in (0, 1, 5):
            x = rng.integers(-128, 128, (1, 3, 4, 2)).astype(np.int8)
            feed = {"n": np.array([iterations], np.int32), "x": x}
            expected = dict(zip(("count", "y"), oracle.tflm(model, *feed.values()), strict=True))
            *_, traced = device.trace(feed).values()
            operands = {"limit": feed["n"], "x": x}
            for outputs in (device.run(feed), device.run_op("count", operands).outputs, traced):
                for name, wanted in expected.items():
                    np.testing.assert_array_equal(outputs[name], wanted, err_msg=f"{iterations} iterations")
        assert [each.node.op for each in device.profile(feed).nodes] == ["minimum", "while"]
