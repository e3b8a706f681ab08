"""A device on an emulated board: built into the image, profiled and traced as a node, bit for bit as the host alone."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

import aboard
from aboard import cli
from aboard.base import resources
from aboard.target import Knob
from support import fake_device

BOARD = "arm/mps2_an386"


def test_a_device_on_an_emulated_core(tmp_path: Path) -> None:
    model = resources.models() / "digits.tflite"
    with fake_device.fake_device():
        module = aboard.compile(model, target=f"{BOARD} + fake -model=v2")
        shape = module.manifest.inputs[0].shape
        feed = np.random.default_rng(3).integers(-128, 128, shape).astype(np.int8)
        expected = aboard.compile(model, target="c -runtime=host").run(feed)
        project = aboard.create(module, board=BOARD, path=tmp_path / "project", options={"trace": True})
        project.build()
        with project.session() as session:
            np.testing.assert_array_equal(session.run(feed), expected)
            profile = session.profile(feed)
            traced = session.trace(feed)
    nodes = module.manifest.nodes
    mine = [index for index, node in enumerate(nodes) if node.device == "fake"]
    assert len(mine) == 2
    assert all(profile.nodes[index].duration.ticks > 0 for index in mine)
    assert "fake: product" in profile.table()
    assert set(traced) >= set(mine)


def test_verify_finds_a_wrong_region_behind_a_softmax(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    model = tmp_path / "digits.tflite"
    model.write_bytes(fake_device.softmax_model())
    words = ["verify", str(model), "--target", f"{BOARD} + fake", "--samples", "1"]
    wrong = Knob("subtle", ("wrong", "right"), "Whether the smallest result is right")
    with fake_device.fake_device(wrong):
        assert cli.invoke([*words, "--json"]) == 1
        found = json.loads(capsys.readouterr().out)
        assert cli.invoke(words) == 1
        text = capsys.readouterr().out
    assert (found["differing_bytes"], found["equal"], found["first_difference"]) == (0, False, None)
    assert {(fault["device"], fault["differing"], fault["elements"]) for fault in found["region_faults"]} == {
        ("fake", 1, 10)
    }
    assert found["region_faults"][0]["sample"] == 0
    assert "Regions that are not exact:\n  sample 0: node 0, " in text
    assert found["region_faults"][0]["layers"] == ["fully_connected y"]
    assert "First region at fault: node 0 on fake, for the operands that it had." in text
    assert "\n  fully_connected y\n" in text
    with fake_device.fake_device():
        assert cli.invoke([*words, "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["region_faults"] == []
