"""Networks that Keras, PyTorch and scikit-learn trained, each by one command to an emulated board.

`tests/data/frameworks` has the files, and the outputs that the frameworks computed. `make test-frameworks` makes such
files and takes them the same way.
"""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from support.commands import deployed
from support.markdown import CHECKOUT

FOLDER = CHECKOUT / "tests" / "data" / "frameworks"
FILES = sorted(path.name for path in FOLDER.iterdir() if path.suffix in (".tflite", ".onnx"))

#: Largest difference, relative to the largest output: sums are ordered differently.
TOLERANCE = 1e-5


def test_every_framework_is_here() -> None:
    counts = {name: sum(file.startswith(name) for file in FILES) for name in ("keras_", "torch_", "sklearn_")}
    assert counts == {"keras_": 5, "torch_": 5, "sklearn_": 3}
    assert sum((FOLDER / name).stat().st_size for name in FILES) < 700_000
    assert max((FOLDER / name).stat().st_size for name in FILES) < 100_000


@pytest.mark.parametrize("name", FILES)
def test_outputs_on_a_board_are_those_of_the_framework(
    name: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    framework, _, network = Path(name).stem.partition("_")
    with np.load(FOLDER / f"{framework}.npz") as file:
        arrays = {key.partition("/")[2]: file[key] for key in file.files if key.startswith(f"{network}/")}
    expected = [arrays[key][0] for key in ("label", "scores", "y") if key in arrays]
    got = deployed(FOLDER / name, arrays["x"][:1], tmp_path)
    assert len(got) == len(expected)
    for values, wanted in zip(got, expected, strict=True):
        scale = max(1, float(np.abs(wanted).max()))
        np.testing.assert_allclose(values.reshape(-1), np.ravel(wanted), rtol=0, atol=TOLERANCE * scale)


@pytest.mark.parametrize("name", ["keras_cnn.tflite", "torch_separable.onnx"])
def test_stored_outputs_depend_on_the_sample(name: str) -> None:
    framework, _, network = Path(name).stem.partition("_")
    with np.load(FOLDER / f"{framework}.npz") as file:
        assert np.ptp(file[f"{network}/y"], axis=0).max() > 0.1
