"""Models that scikit-learn trained, on emulated cores: against stored outputs, and through `aboard verify`."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

import aboard
from aboard import cli
from aboard.importers import load
from support.markdown import CHECKOUT

DATA = CHECKOUT / "tests" / "data" / "onnx"
BOARD = "arm/mps2_an386"


def path(name: str) -> Path:
    return DATA / f"sklearn_{name}.onnx"


@pytest.mark.parametrize("name", ["forest", "boosting_with_holes", "rbf_svm"])
def test_outputs_are_those_of_onnxruntime(name: str, tmp_path: Path) -> None:
    module = aboard.compile(path(name), board=BOARD, name="m")
    project = aboard.create(module, board=BOARD, path=tmp_path / "project")
    project.build()
    with np.load(DATA / "sklearn.npz") as arrays, project.session() as device:
        for place, sample in enumerate(arrays[f"{name}/x"]):
            label, scores = device.run(sample[None]).values()
            assert label.tolist() == [arrays[f"{name}/0"][place]]
            np.testing.assert_allclose(scores[0], arrays[f"{name}/1"][place], atol=1e-5)


@pytest.mark.parametrize(
    ("name", "board"),
    [("pipeline", BOARD), ("neighbours", BOARD), ("forest_of_names", "bbc/microbit"), ("mlp", "riscv/qemu_virt32")],
)
def test_verify(name: str, board: str, capsys: pytest.CaptureFixture[str]) -> None:
    capsys.readouterr()
    code = cli.invoke(["verify", str(path(name)), "--target", board, "--samples", "1", "--json"])
    out, err = capsys.readouterr()
    result = json.loads(out)
    assert code == 0, err or result
    assert (result["reference"], result["max_abs_diff"] < 1e-4) == ("onnxruntime", True)
    assert load(path(name)).outputs[0].text == (("setosa", "versicolor", "virginica") if "names" in name else ())
