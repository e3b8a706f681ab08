"""The state of a wake word model on a board: it survives from run to run, and moves to another device and back."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

import aboard
from aboard.api import Session
from aboard.device.input_files import random
from support import models, oracle

BOARD = "arm/mps2_an386"
STEPS = 24


@pytest.mark.parametrize("name", models.available(["wake_vad"]))
def test_a_wake_word_continues_where_it_was_saved(name: str, tmp_path: Path) -> None:
    model = models.read(name)
    module = aboard.compile(model, board=BOARD, name=name)
    here = aboard.compile(model, target="c -runtime=host", name=name)
    project = aboard.create(module, BOARD, path=tmp_path / "project", options={"profile": "on"})
    project.build()
    rng = np.random.default_rng(5)
    feeds = [random(module.manifest.inputs, rng) for _ in range(STEPS)]
    wanted = [outputs[0] for outputs in oracle.tflm_steps(model, [list(feed.values()) for feed in feeds])]
    assert len({values.tobytes() for values in wanted}) > 1, "the outputs vary"

    with Session.open(project, "qemu") as session:
        np.testing.assert_array_equal(session.run_many(feeds[:10]), wanted[:10])
        saved = session.state()
        assert sum(values.nbytes for values in saved.values()) == sum(r.bytes for r in module.manifest.states)
        np.testing.assert_array_equal(session.profile(feeds[10]).run.outputs.popitem()[1], wanted[10])
        np.testing.assert_array_equal(session.run_many(feeds[11:]), wanted[11:])
        session.set_state(saved)
        np.testing.assert_array_equal(session.run_many(feeds[10:14]), wanted[10:14])
        session.reset_state()
        np.testing.assert_array_equal(session.run_many(feeds[:3]), wanted[:3])
        here.set_state(saved)
        np.testing.assert_array_equal([here.run(feed) for feed in feeds[10:14]], wanted[10:14])
    with Session.open(project, "unicorn") as session:
        session.set_state(here.state())
        np.testing.assert_array_equal(session.run_many(feeds[14:]), wanted[14:])
        session.reset()
        np.testing.assert_array_equal(session.run_many(feeds[:2]), wanted[:2])
