"""A device on an emulated board: built into the image, profiled and tapped as a node, bit for bit as the host alone."""

from __future__ import annotations

from pathlib import Path

import numpy as np

import aboard
from aboard import resources
from support import fake_device

BOARD = "arm/mps2_an386"


def test_a_device_on_an_emulated_core(tmp_path: Path) -> None:
    model = resources.models() / "digits.tflite"
    with fake_device.fake_device():
        module = aboard.compile(model, target=f"{BOARD} + fake -model=v2")
        shape = module.manifest.inputs[0].shape
        feed = np.random.default_rng(3).integers(-128, 128, shape).astype(np.int8)
        expected = aboard.compile(model, target="c -runtime=host").run(feed)
        project = aboard.create(module, board=BOARD, path=tmp_path / "project", options={"taps": True})
        project.build()
        with project.session() as session:
            np.testing.assert_array_equal(session.run(feed), expected)
            profile = session.profile(feed)
            tapped = session.taps(feed)
    nodes = module.manifest.nodes
    mine = [index for index, node in enumerate(nodes) if node.device == "fake"]
    assert len(mine) == 2
    assert all(profile.nodes[index].duration.ticks > 0 for index in mine)
    assert "fake: product" in profile.table()
    assert set(tapped) >= set(mine)
