"""Passes of devices: where they run, and that they find what they look for."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import ClassVar

import numpy as np
import pytest

from aboard.compiler.pipeline import partition_model
from aboard.errors import PassError, TargetError
from aboard.importers import load
from aboard.ir import Graph
from aboard.ops import interpreter
from aboard.partition import pipeline
from aboard.partition.pattern import DevicePattern, op
from aboard.passes import Pass
from aboard.target import Target
from support import fake_device
from support.device import device
from support.zoo import many_ops

HOST = "c -runtime=host"


@dataclass(frozen=True)
class SixToSix(Pass):
    """Makes every relu6 a hard limit of its own kind: here, it only notes which nodes it saw."""

    name: ClassVar[str] = "six-to-six"

    seen: list[tuple[str, ...]] = field(default_factory=list)

    def run(self, graph: Graph) -> None:
        self.seen.append(tuple(node.op for node in graph.nodes))

    def pending(self, graph: Graph) -> str | None:
        return None


def test_passes_of_devices_run_in_their_place() -> None:
    before: list[tuple[str, ...]] = []
    after: list[tuple[str, ...]] = []
    steps: list[str] = []

    def passes(target: Target) -> tuple[pipeline.DevicePass, ...]:
        return (
            pipeline.DevicePass("before_partition", SixToSix(before)),
            pipeline.DevicePass("after_partition", SixToSix(after)),
        )

    with device([DevicePattern("six", op("relu6"))], passes=passes, codegen=fake_device.codegen):
        graph = load(many_ops(), name="m")
        decided = pipeline.run(graph, Target(f"{HOST} + fake"), lambda graph, done, following: steps.append(done))
    assert len(before) == len(after) == 1
    assert "relu6" in before[0]
    assert "subgraph" not in before[0]
    assert "subgraph" in after[0]
    assert len(decided.claims) == 1
    assert [step for step in steps if step in ("import", "partition", "six-to-six")] == [
        "import",
        "six-to-six",
        "partition",
        "six-to-six",
    ]


def test_the_pipeline_with_devices_keeps_the_results() -> None:
    plain = load(many_ops(), name="m")
    parted = load(many_ops(), name="m")
    with device([DevicePattern("all", op("relu6", "add", "conv2d", "sub"), merge=True)], codegen=fake_device.codegen):
        pipeline.run(parted, Target(f"{HOST} + fake"))
    assert "subgraph" in {node.op for node in parted.nodes}
    feed = {t.name: np.random.default_rng(1).integers(-128, 128, t.shape).astype(np.int8) for t in plain.inputs}
    expected = interpreter.run(plain, feed)
    for name, value in interpreter.run(parted, feed).items():
        np.testing.assert_array_equal(value, expected[name])


def test_a_wrong_value_in_the_column_is_refused() -> None:
    with (
        device([], passes=lambda target: ("fold",)),
        pytest.raises(TargetError, match=r"kind fake, column passes: got str, expected DevicePass\. Return a tuple"),
    ):
        partition_model(many_ops(), target=f"{HOST} + fake", name="m")


def test_the_passes_of_a_device_are_part_of_the_text() -> None:
    first, second = SixToSix([("first",)]), SixToSix([("second",)])
    brought = (pipeline.DevicePass("before_partition", first), pipeline.DevicePass("after_partition", second))
    with device([], passes=lambda target: brought):
        target = Target(f"{HOST} + fake")
        default = pipeline.pipeline_of(target)
        assert ",remove-dead-code,six-to-six,partition,fuse-dilation," in str(default)
        assert str(default).endswith(",divide-wide-nodes,six-to-six")
        again = pipeline.pipeline_of(target, str(default))
        assert (again.before[-1], again.after[-1]) == (first, second)
        assert again == default
        with pytest.raises(PassError, match=r"six-to-six has no option seen\. Leave it out\."):
            pipeline.pipeline_of(target, "six-to-six{seen=1},partition")


def test_a_target_with_devices_needs_a_place_for_them() -> None:
    with device([]), pytest.raises(PassError, match=r"passes: partition is left out, but the target has devices"):
        pipeline.pipeline_of(Target(f"{HOST} + fake"), "fold-constants")
    assert pipeline.pipeline_of(Target(HOST), "fold-constants").names == ["partition", "fold-constants"]
