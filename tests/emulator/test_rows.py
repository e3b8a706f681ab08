"""Models that take their input row by row, on an emulated board: the results of the reference, in less memory."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

import aboard
from aboard.base import resources
from aboard.check.reference import Reference
from support.models import available, path
from support.rewrites import inputs_of

BOARD = "arm/mps2_an386"
DIGITS = resources.models() / "digits.tflite"


def run(model: Path, folder: Path, feeds: int, **options: str) -> aboard.Module:
    """Compiles a model, runs it on the board and compares every result."""
    module = aboard.compile(model, target=f"{BOARD} -input=rows")
    project = aboard.create(module, board=BOARD, path=folder, options=options)
    project.build()
    reference = Reference.open(model, "tflm")
    with project.session() as session:
        for seed in range(feeds):
            feed = inputs_of(reference.graph, seed)
            np.testing.assert_array_equal(session.run(feed), reference.run(feed)[module.manifest.outputs[0].name])
    return module


def test_digits_come_row_by_row(tmp_path: Path) -> None:
    whole = aboard.compile(DIGITS, target=f"{BOARD} -input=kept").manifest
    fed = run(DIGITS, tmp_path / "project", 3).manifest
    assert (fed.input_mode, whole.input_mode) == ("rows", "kept")
    assert fed.ram_bytes < whole.ram_bytes


def test_time_and_profile_count_what_rows_took(tmp_path: Path) -> None:
    module = aboard.compile(DIGITS, target=f"{BOARD} -input=rows")
    project = aboard.create(module, board=BOARD, path=tmp_path / "project")
    project.build()
    x = np.random.default_rng(0).integers(-128, 128, module.manifest.inputs[0].shape).astype(np.int8)
    with project.session() as session:
        profile = session.profile(x)
        whole = profile.run.duration.instructions
        parts = [node.duration.instructions for node in profile.nodes]
        series = session.run_n(x, 3)
    assert whole is not None
    assert all(parts)
    # Beside its nodes a run has the turns, and the hooks of the profile.
    assert sum(parts) == pytest.approx(whole, rel=0.1)
    assert series.fewest.instructions == pytest.approx(whole, abs=100)


@pytest.mark.parametrize("name", available(["vww"]))
def test_a_camera_of_96_rows_needs_14_kilobytes(name: str, tmp_path: Path) -> None:
    model = path(name)
    assert model is not None
    assert run(model, tmp_path / "project", 1).manifest.ram_bytes <= 14 * 1024
