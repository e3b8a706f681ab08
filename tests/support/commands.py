"""Commands whose results tests look at."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from aboard import cli


def deployed(model: Path, x: np.ndarray, folder: Path) -> list[np.ndarray]:
    """Returns the outputs of a model file on an emulated Cortex-M4, by one command.

    Args:
        model: The file.
        x: The only input of the model.
        folder: For the project and the arrays.
    """
    np.save(folder / "x.npy", x)
    command = ["deploy", str(model), "--board", "arm/mps2_an386", "-o", str(folder / "project"), "--force"]
    assert cli.invoke([*command, "--input", str(folder / "x.npy"), "--output", str(folder / "y.npz")]) == 0
    with np.load(folder / "y.npz") as outputs:
        return list(outputs.values())
