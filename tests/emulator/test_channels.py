"""Models that lost channels: what devices show of their tensors, against tflite-micro's tensors of the whole model."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

import aboard
from aboard.check.reference import Reference
from aboard.device import tensor_layout
from support import models
from support.channel_models import random_model
from support.rewrites import inputs_of

PLANTED = {"planted_3": 3, "planted_24": 24}
CASES = [("planted_3", "arm/mps2_an386"), ("planted_24", "host/native"), ("vww", "arm/mps2_an386")]


@pytest.mark.parametrize(("name", "board"), [case for case in CASES if case[0] in PLANTED or models.path(case[0])])
def test_taps_rebuild_the_tensors_of_the_model(name: str, board: str, tmp_path: Path) -> None:
    data = random_model(PLANTED[name]) if name in PLANTED else models.read(name)
    module = aboard.compile(data, board=board, name="model")
    nodes = module.manifest.nodes
    narrowed = {result.tensor for node in nodes for result in node.outputs if result.channel_map is not None}
    assert len(narrowed) >= 5
    assert module.manifest.macs_run < module.manifest.macs
    reference = Reference.open(data, "tflm")
    project = aboard.create(module, board=board, path=tmp_path / "project", options={"trace": "on", "run_op": "on"})
    project.build()
    with project.session() as session:
        for seed in range(2):
            feed = inputs_of(reference.graph, seed)
            wanted, traced = reference.tensors(feed), session.trace(feed)
            compared = 0
            for index, node in enumerate(nodes):
                for result in node.outputs:
                    got = traced[index][result.tensor]
                    assert np.ma.is_masked(got) == (result.tensor in narrowed)
                    assert got.shape == tensor_layout.reference_shape(result)
                    full = wanted[result.source].reshape(got.shape)
                    np.testing.assert_array_equal(np.ma.getdata(got), np.where(np.ma.getmaskarray(got), 0, full))
                    compared += 1
            assert compared >= len(nodes)
        # A node alone takes its operands as the whole model has them.
        last = next(i for i in reversed(range(len(nodes))) if any(one.channel_map for one in nodes[i].inputs))
        shaped = {one.tensor: tensor_layout.reference_shape(one) for one in nodes[last].inputs}
        alone = session.run_op(
            last, {one.tensor: wanted[one.source].reshape(shaped[one.tensor]) for one in nodes[last].inputs}
        )
    for result in nodes[last].outputs:
        got = alone.outputs[result.tensor]
        full = wanted[result.source].reshape(got.shape)
        np.testing.assert_array_equal(np.ma.getdata(got), np.where(np.ma.getmaskarray(got), 0, full))
