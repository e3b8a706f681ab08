"""Cascades on emulated cores: results, trace row by row, nodes alone, and time per node, as with any other schedule."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

import aboard
from aboard.check.reference import Reference
from aboard.errors import CapacityError
from support.examples import either
from support.image_models import image_model
from support.rewrites import inputs_of

#: Seeds of models whose schedule of least memory is one of cascades on every core, with a sum of branches.
SEEDS = either((1, 29), (1,))


@pytest.mark.parametrize("board", ["arm/mps2_an385", "arm/mps2_an386", "arm/mps3_an547"])
@pytest.mark.parametrize(("seed", "rows"), [*((seed, "") for seed in SEEDS), (SEEDS[0], "-input=rows")])
def test_a_cascade_behaves_as_its_nodes_do(seed: int, rows: str, board: str, tmp_path: Path) -> None:
    data = image_model(seed)
    with pytest.raises(CapacityError) as caught:
        aboard.compile(data, target=f"{board} -opt=size {rows} -ram-max=16", name="model")
    least = f"{board} -opt=size {rows} -ram-max={caught.value.least_bytes}"
    module = aboard.compile(data, target=least, name="model")
    nodes = module.manifest.nodes
    turning = [index for index, node in enumerate(nodes) if node.cascade is not None]
    assert len(turning) >= 2
    reference = Reference.open(data, "tflm")
    project = aboard.create(module, board=board, path=tmp_path / "project", options={"trace": "on", "run_op": "on"})
    project.build()
    with project.session() as session:
        feed = inputs_of(reference.graph, seed)
        wanted, traced = reference.tensors(feed), session.trace(feed)
        for index, node in enumerate(nodes):
            for result in node.outputs:
                np.testing.assert_array_equal(np.ma.getdata(traced[index][result.tensor]), filled(wanted, result))
        profile = session.profile(feed)
        assert all(profile.nodes[index].duration.ticks > 0 for index in turning)
        for index in turning:
            operands = {one.tensor: feed.get(one.tensor, wanted.get(one.source)) for one in nodes[index].inputs}
            alone = session.run_op(index, operands)
            for result in nodes[index].outputs:
                np.testing.assert_array_equal(np.ma.getdata(alone.outputs[result.tensor]), filled(wanted, result))


def filled(wanted: dict, result) -> np.ndarray:
    """Returns the reference's values of a result, zero where a channel was removed."""
    values = wanted[result.source]
    if result.channel_map is None:
        return values
    kept = np.zeros_like(values)
    kept[..., list(result.channel_map)] = values[..., list(result.channel_map)]
    return kept
