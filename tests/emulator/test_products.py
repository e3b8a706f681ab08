"""Products of matrices by the kernels for the DSP extension and Helium: the bytes of tflite-micro."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

import aboard
from aboard.kernels.select import strategy
from support import oracle, products
from support.preferred import preferred


@pytest.mark.parametrize("opt", ["speed", "balanced"])
@pytest.mark.parametrize(("board", "kernel"), [("arm/mps2_an386", "dsp_s8"), ("arm/mps3_an547", "arm_mve_s8")])
def test_products(board: str, kernel: str, opt: str, tmp_path: Path) -> None:
    data = products.model(products.CASES)
    with strategy.forced(preferred(kernel)):
        module = aboard.compile(data, target=f"c -hardware={board} -opt={opt}", name="model")
    assert {node.implementation for node in module.manifest.nodes} == {kernel}
    project = aboard.create(module, board=board, path=tmp_path / "project")
    project.build()
    with project.session() as device:
        for seed in range(2):
            feed = [x for case in products.CASES for x in products.values(case, seed)]
            names = [record.name for record in module.manifest.inputs]
            found = device.run(dict(zip(names, feed, strict=True)))
            assert isinstance(found, dict)
            for name, wanted in zip((r.name for r in module.manifest.outputs), oracle.tflm(data, *feed), strict=True):
                np.testing.assert_array_equal(found[name], wanted, err_msg=name)
