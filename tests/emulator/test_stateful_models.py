"""Models that others made, with state, on emulated boards: every step of a sequence equals the reference's.

ABOARD_FULL=1 takes all models on both boards, over 50 steps, which takes minutes where an input has
245 kB. Else: those that cost least, over a few steps.
"""

from __future__ import annotations

import os
from pathlib import Path

import numpy as np
import pytest

import aboard
from aboard.check import verify
from aboard.check.reference import Reference
from support import models, sequences

FULL = bool(os.environ.get("ABOARD_FULL"))
STEPS = 50 if FULL else 6
M4, M55 = "arm/mps2_an386", "arm/mps3_an547"
ALL = (*sequences.STATEFUL, "keras_mnist", "keras_tcn", "person", "mcunet_vww", "mcunet_detection")
SHORT = {M4: ("lstm", "svdf", "wake_jarvis", "audio_features"), M55: ("lstm", "svdf", "wake_vad", "audio_features")}
CASES = [(name, board) for board in (M4, M55) for name in models.available(ALL if FULL else SHORT[board])]


@pytest.mark.parametrize(("name", "board"), CASES)
def test_each_step_equals_the_reference(name: str, board: str, tmp_path: Path) -> None:
    module = aboard.compile(models.read(name), board=board, name=name)
    project = aboard.create(module, board=board, path=tmp_path / "project")
    project.build()
    (given,) = module.manifest.inputs
    reference = Reference.open(models.read(name))
    with project.session() as session:
        for step, feed in enumerate(sequences.inputs(name, given.shape, np.dtype(str(given.dtype)), STEPS)):
            got = session.infer(feed).outputs
            for output, wanted in reference.run({given.name: feed}).items():
                assert not verify.differs(got[output], wanted).any(), (step, output)
