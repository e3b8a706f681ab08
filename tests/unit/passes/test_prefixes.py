"""Every prefix of the pipeline leaves a valid graph with the same results, and says what kernels still miss."""

from __future__ import annotations

import functools
import re

import numpy as np
import pytest

from aboard.base import resources
from aboard.compiler.pipeline import compile_model
from aboard.errors import PassError
from aboard.importers import load
from aboard.ir import Graph
from aboard.ir.printer import dump
from aboard.ops.interpreter import run_all
from aboard.ops.verify import verify
from aboard.partition import pipeline
from aboard.partition.pattern import DevicePattern, op
from aboard.target import Target
from support import fake_device, models, zoo
from support.device import device
from support.rewrites import check_survivors, inputs_of
from support.tflite_builder import ModelBuilder

TARGETS = ("c -runtime=host", "c -mcpu=cortex-m4", "c -mcpu=cortex-m55")
HOST = TARGETS[0]


def check_prefixes(model: bytes, target: str) -> list[str]:
    """Evaluates a model after every prefix of a target's pipeline; returns the steps that changed the graph."""
    before = load(model)
    feed = inputs_of(before, seed=3)
    expected = run_all(before, feed)
    changed: list[str] = []
    last = dump(before)

    def check(graph: Graph, done: str, following: str | None) -> None:
        nonlocal last
        verify(graph)
        assert [tensor.name for tensor in graph.outputs] == [tensor.name for tensor in before.outputs]
        if dump(graph) != last:
            last = dump(graph)
            changed.append(done)
            check_survivors(graph, run_all(graph, feed), expected)

    pipeline.run(load(model), Target(target), check)
    return changed


@pytest.mark.parametrize("target", TARGETS)
@pytest.mark.parametrize("dtype", [np.int8, np.float32])
def test_a_graph_of_many_ops(dtype: type, target: str) -> None:
    changed = check_prefixes(zoo.many_ops(dtype), target)
    assert changed[:4] == ["move-transposes", "merge-reshapes", "fuse-padding", "fuse-activations"]


def test_a_graph_of_which_a_device_claims_a_part() -> None:
    patterns = [DevicePattern("all", op("relu6", "add", "conv2d", "sub"), merge=True)]
    with device(patterns, codegen=fake_device.codegen):
        changed = check_prefixes(zoo.many_ops(), f"{HOST} + fake")
    assert changed[:3] == ["move-transposes", "merge-reshapes", "partition"]


@pytest.mark.parametrize(
    "name",
    models.available(
        [models.SHIPPED, models.SHIPPED_FLOAT, *models.INT8, *models.FLOAT, *models.HYBRID, "person", "mcunet_vww"]
    ),
)
def test_models(name: str) -> None:
    check_prefixes(models.read(name), "c -mcpu=cortex-m4")


@functools.cache
def of_the_whole_pipeline() -> np.ndarray:
    """Returns what digits makes of an input after all passes."""
    feed = inputs_of(load(resources.models() / "digits.tflite"), seed=4)
    return np.asarray(compile_model(resources.models() / "digits.tflite", target=HOST).run(feed))


@pytest.mark.parametrize("count", range(12))
def test_every_prefix_compiles(count: int) -> None:
    names = pipeline.pipeline_of(Target(HOST)).names[:count]
    feed = inputs_of(load(resources.models() / "digits.tflite"), seed=4)
    part = compile_model(resources.models() / "digits.tflite", target=HOST, passes=",".join(names))
    np.testing.assert_array_equal(part.run(feed), of_the_whole_pipeline())


def wide_concatenation(parts: int) -> bytes:
    model = ModelBuilder().tensor("x", (1, 4), np.int8, scale=0.5, zero_point=1)
    model.tensor("y", (1, 4 * parts), np.int8, scale=0.5, zero_point=1)
    return model.op("CONCATENATION", ["x"] * parts, ["y"], {"Axis": 1}).build(["x"], ["y"])


def half_weights() -> bytes:
    model = ModelBuilder().tensor("x", (1, 4), np.float32)
    model.tensor("h", (3, 4), np.float16, data=np.ones((3, 4))).tensor("w", (3, 4), np.float32)
    model.tensor("y", (1, 3), np.float32)
    return model.op("DEQUANTIZE", ["h"], ["w"]).op("FULLY_CONNECTED", ["x", "w"], ["y"]).build(["x"], ["y"])


@pytest.mark.parametrize(
    ("model", "passes", "words"),
    [
        (
            wide_concatenation(17),
            "fold-constants",
            "passes: no kernel computes concatenation y without divide-wide-nodes. Add divide-wide-nodes to the passes",
        ),
        (
            half_weights(),
            "divide-wide-nodes",
            "passes: no kernel computes dequantize w without fold-constants. Add fold-constants to the passes",
        ),
    ],
)
def test_a_pass_that_kernels_need_is_missed_by_name(model: bytes, passes: str, words: str) -> None:
    compile_model(model, target=HOST)
    with pytest.raises(PassError, match=f"^{re.escape(words)}$"):
        compile_model(model, target=HOST, passes=passes)


def test_a_graph_without_wide_nodes_needs_no_division() -> None:
    assert len(compile_model(wide_concatenation(16), target=HOST, passes="").manifest.nodes) == 1
