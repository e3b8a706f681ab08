"""A model with rolling windows on emulated cores: the bytes of tflite-micro in every run of a sequence."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

import aboard
from support import oracle, rolling_models, streams
from support.rolling_models import Layer

BOARDS = {"m3": "arm/mps2_an385", "m4": "arm/mps2_an386"}
LAYERS = [Layer("CONV_2D", 2, 5, 3, channels=32), Layer("DEPTHWISE_CONV_2D", 8, 9), Layer("DEPTHWISE_CONV_2D", 4, 5)]


@pytest.mark.parametrize("core", BOARDS)
def test_a_sequence(core: str, tmp_path: Path) -> None:
    model, board = rolling_models.model(LAYERS, 3, 1, 40), BOARDS[core]
    module = aboard.compile(model, board=board, name="net")
    assert module.manifest.state is not None
    assert 0 in module.manifest.state.rolling
    project = aboard.create(module, board=board, path=tmp_path / "project")
    project.build()
    steps = streams.draws([(1, 3, 1, 40)], 20)
    with project.session() as device:
        first = [device.run(x) for (x,) in steps[:8]]
        saved = device.state()
        for (x,) in steps[:3]:
            device.run(x)
        device.set_state(saved)
        got = np.stack([*first, *(device.run(x) for (x,) in steps[8:])])
    np.testing.assert_array_equal(saved["stream0"], np.concatenate([x for (x,) in steps[:8]], 1)[:, -2:])
    np.testing.assert_array_equal(got, np.stack([y for (y,) in oracle.tflm_steps(model, steps)]))
