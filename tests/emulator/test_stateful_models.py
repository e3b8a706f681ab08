"""Models that others made, with state, on emulated boards: every step of a sequence equals the reference's.

ABOARD_FULL=1 takes all models that fit, on both boards, over 50 steps. Else: those that cost
least, over a few steps.
"""

from __future__ import annotations

import os
from pathlib import Path

import numpy as np
import pytest

import aboard
from aboard.check import verify
from aboard.check.reference import Reference
from aboard.errors import CapacityError
from support import models, sequences

FULL = bool(os.environ.get("ABOARD_FULL"))
STEPS = 50 if FULL else 6
M4, M55 = "arm/mps2_an386", "arm/mps3_an547"
ALL = (*sequences.STATEFUL, "keras_mnist", "keras_tcn", "person", "mcunet_vww", "mcunet_detection")
SHORT = {M4: ("lstm", "svdf", "wake_jarvis", "audio_features"), M55: ("lstm", "svdf", "wake_vad", "audio_features")}
#: An image with these constants is larger than the code memory of the board.
TOO_LARGE = [("mcunet_vww", M55)]
#: Fewer steps of a model without state, whose input of 245 kB takes seconds on the line.
FEWER = {"mcunet_detection": 3}
#: Without a copy of its input this one fits.
OPTIONS = {("mcunet_detection", M55): {"input_copy": "off"}}
CASES = [(name, board) for board in (M4, M55) for name in models.available(ALL if FULL else SHORT[board])]


def project_of(name: str, board: str, folder: Path) -> aboard.Project:
    module = aboard.compile(models.read(name), board=board, name=name)
    return aboard.create(module, board=board, path=folder / "project", options=OPTIONS.get((name, board)))


@pytest.mark.parametrize(("name", "board"), [case for case in CASES if case not in TOO_LARGE])
def test_each_step_equals_the_reference(name: str, board: str, tmp_path: Path) -> None:
    project = project_of(name, board, tmp_path)
    project.build()
    (manifest,) = project.models
    (given,) = manifest.inputs
    reference = Reference.open(models.read(name))
    steps = min(STEPS, FEWER.get(name, STEPS))
    with project.session() as session:
        for step, feed in enumerate(sequences.inputs(name, given.shape, np.dtype(str(given.dtype)), steps)):
            got = session.infer(feed).outputs
            for output, wanted in reference.run({given.name: feed}).items():
                assert not verify.differs(got[output], wanted).any(), (step, output)


@pytest.mark.parametrize(("name", "board"), [case for case in CASES if case in TOO_LARGE])
def test_what_does_not_fit_is_refused(name: str, board: str, tmp_path: Path) -> None:
    with pytest.raises(CapacityError, match="does not fit"):
        project_of(name, board, tmp_path).build()
