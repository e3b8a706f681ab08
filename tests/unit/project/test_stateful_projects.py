"""Models with state on a device: the firmware gives them memory, and verification runs samples as one sequence."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

import aboard
from aboard import boards, cli
from aboard.api import Session, create
from aboard.check import region_check
from aboard.device.input_files import Named
from aboard.emit import state
from aboard.importers import load
from aboard.ops.interpreter import initial_states, next_states, run_all
from aboard.partition import pipeline
from aboard.partition.pattern import DevicePattern, op
from aboard.target import Target
from support import fake_device, oracle, streams
from support.device import device
from support.streams import Stream

BOARD = "host/native"
SHAPE = (1, 2, 1, 6)


def test_two_models_keep_their_states_apart(tmp_path: Path) -> None:
    one, other = streams.window(seed=1), streams.window(seed=2)
    modules = [aboard.compile(data, board=BOARD, name=name) for name, data in (("one", one), ("two", other))]
    project = create(modules, BOARD, path=tmp_path / "project")
    project.build()
    steps = streams.draws([SHAPE], 4)
    wanted = [oracle.tflm_steps(data, steps) for data in (one, other)]
    with Session.open(project) as session:
        for number, (x,) in enumerate(steps):
            for name, expected in zip(("one", "two"), wanted, strict=True):
                np.testing.assert_array_equal(session.run(x, model=name), expected[number][0])


@pytest.mark.parametrize("place", ["-state=separate", "-state=arena"])
def test_a_state_moves_between_a_device_and_this_process(place: str, tmp_path: Path) -> None:
    model = streams.window()
    module = aboard.compile(model, target=f"{boards.load(BOARD).target} {place}", name="net")
    here = aboard.compile(model, target="c -runtime=host", name="net")
    options = {"trace": "on", "run_op": "on", "profile": "on"}
    project = create(module, BOARD, path=tmp_path / "project", options=options)
    project.build()
    steps = streams.draws([SHAPE], 12)
    wanted = [outputs[0] for outputs in oracle.tflm_steps(model, steps)]
    xs = [x for (x,) in steps]
    with Session.open(project) as session:
        np.testing.assert_array_equal(session.run_many(xs[:4]), wanted[:4])
        saved = session.state()
        assert {name: (v.shape, v.dtype) for name, v in saved.items()} == {
            record.name: (record.shape, np.dtype(record.dtype)) for record in here.manifest.states
        }
        here.set_state(saved)
        np.testing.assert_array_equal([here.run(x) for x in xs[4:]], wanted[4:])
        np.testing.assert_array_equal(session.profile(xs[4]).run.outputs.popitem()[1], wanted[4])
        last = session.trace(xs[5])[len(module.manifest.nodes) - 1]
        np.testing.assert_array_equal(last.popitem()[1].reshape(wanted[5].shape), wanted[5])
        node = module.manifest.nodes[0]
        feed = {operand.tensor: np.ones(operand.shape, np.int8) for operand in node.inputs}
        session.run_op(0, feed)
        np.testing.assert_array_equal(session.run_many(xs[6:]), wanted[6:])
        for name, values in here.state().items():
            np.testing.assert_array_equal(session.state()[name], values)
        session.set_state(saved)
        np.testing.assert_array_equal(session.run_many(xs[4:]), wanted[4:])
        session.reset_state()
        here.reset_state()
        here.run(xs[0])
        np.testing.assert_array_equal(session.run(xs[0]), wanted[0])
        session.set_state(here.state())
        np.testing.assert_array_equal(session.run_many(xs[1:4]), wanted[1:4])


@pytest.mark.parametrize("broken", [False, True], ids=["right", "wrong"])
def test_verify_names_the_first_step(
    broken: bool, tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "net.tflite"
    path.write_bytes(streams.window())
    if broken:
        monkeypatch.setattr(state, "copies", lambda *_: [])
    code = cli.invoke(["verify", str(path), "--board", BOARD, "--samples", "3", "--json"])
    result = json.loads(capsys.readouterr().out)
    assert (code, result["equal"], result["samples"]) == (int(broken), not broken, 5)
    if broken:
        first = result["first_difference"]
        assert (first["sample"], first["node"], first["op"]) == (1, 0, "concatenation")
        assert (first["row"], first["column"]) == (2, 0), "the rows that the first step appended"


def test_regions_that_read_state_are_compared_step_by_step() -> None:
    build = Stream().quantised("x", "s", "n", "y").read("v", "s")
    model = build.op("ADD", ["x", "s"], ["n"], {}).op("RELU", ["n"], ["y"]).assign("v", "n").build(["x"], ["y"])
    graph = load(model)
    with device([DevicePattern("sum", op("add"))], codegen=fake_device.codegen):
        pipeline.run(graph, Target("c -runtime=host + fake"))
    records = [SimpleNamespace(name=n.name, device="fake" if n.op == "subgraph" else None) for n in graph.nodes]
    scheduled = SimpleNamespace(program=SimpleNamespace(graph=graph))
    module: Any = SimpleNamespace(schedule=lambda: scheduled, manifest=SimpleNamespace(nodes=records))
    states, wrong_from = initial_states(graph), 2
    steps = [{"x": x} for (x,) in streams.draws([(1, 4)], 4)]

    def traced(feed: Named) -> Mapping[int, Mapping[str, np.ndarray]]:
        nonlocal states
        values = run_all(graph, {name: np.asarray(value) for name, value in feed.items()}, states)
        states = next_states(graph, values)
        found = {i: {t.name: values[t.name] for t in node.outputs} for i, node in enumerate(graph.nodes)}
        if np.array_equal(feed["x"], steps[wrong_from]["x"]):
            found[0] = {name: value + 1 for name, value in found[0].items()}
        return found

    faults = list(region_check.faults(module, traced, steps[:wrong_from]))
    assert faults == []
    states = initial_states(graph)
    (fault,) = region_check.faults(module, traced, steps[: wrong_from + 1])
    assert (fault.sample, fault.tensor, fault.differing) == (wrong_from, "n", 4)
