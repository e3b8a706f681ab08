"""The search for the first pass after which the results differ."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from aboard.base import resources
from aboard.check.bisect import StepCheck, bisect
from aboard.check.reference import Reference
from aboard.device.input_files import Named
from aboard.importers import load
from aboard.partition.pipeline import pipeline_of
from aboard.target import Target
from support import image_models
from support.rewrites import inputs_of
from support.wrong_pass import wrong_pass

DIGITS = resources.models() / "digits.tflite"
TARGET = Target("c -mcpu=cortex-m4")


@pytest.fixture(autouse=True)
def _wrong() -> Iterator[None]:
    with wrong_pass():
        yield


def searched(model: Path | bytes, passes: str | None = None) -> tuple[Reference, Named]:
    return Reference.open(model, "numpy"), inputs_of(load(model), seed=5)


def test_the_first_wrong_pass_is_named() -> None:
    reference, feed = searched(DIGITS)
    passes = "fold-constants,partition,remove-dead-code,wrong-bias,remove-channels,wrong-bias,divide-wide-nodes"
    found = bisect(DIGITS, TARGET, reference, [feed], passes)
    assert found.passes == passes
    assert found.first_wrong == "wrong-bias"
    assert [check.step for check in found.checks] == ["import", *passes.split(",")[:4]]
    assert [check.changed for check in found.checks] == [False] * 4 + [True]
    assert [check.differing for check in found.checks[:-1]] == [0] * 4
    assert found.checks[-1].differing > 0
    node = next(node for node in load(DIGITS).nodes if node.op == "fully_connected")
    assert found.tensor == node.output.name


def test_right_passes_leave_the_fault_behind_them() -> None:
    model = image_models.wide_image_model(2)
    reference, feed = searched(model)
    found = bisect(model, TARGET, reference, [feed])
    assert (found.first_wrong, found.tensor) == (None, None)
    assert [check.step for check in found.checks] == ["import", *pipeline_of(TARGET).names]
    assert {check.differing for check in found.checks} == {0}
    assert any(check.changed for check in found.checks)


class Other(Reference):
    """A reference that gives another value for one element."""

    name = "other"

    def reset(self):
        """There is no state."""

    def run(self, inputs):
        values = Reference.open(DIGITS, "numpy").run(inputs)
        return {name: self._changed(value) for name, value in values.items()}

    def tensors(self, inputs):
        values = Reference.open(DIGITS, "numpy").tensors(inputs)
        (output,) = self.graph.outputs
        return {**values, output.source: self._changed(values[output.source])}

    def _changed(self, value):
        changed = value.copy()
        changed[0, 3] += 1
        return changed


def test_a_graph_that_differs_before_any_pass() -> None:
    _, feed = searched(DIGITS)
    found = bisect(DIGITS, TARGET, Other(load(DIGITS)), [feed])
    assert found.first_wrong == "import"
    assert found.checks == (StepCheck("import", changed=False, differing=1),)
    assert found.tensor is None


def test_channels_that_are_gone_do_not_count_as_changed() -> None:
    """The wrong pass runs where channels have been removed; only the tensor behind the wrong bias is named."""
    model = image_models.wide_image_model(2)
    graph = load(model)
    reference, feed = searched(model)
    found = bisect(model, TARGET, reference, [feed], f"{pipeline_of(TARGET)},wrong-bias{{by=100000}}")
    assert found.first_wrong == "wrong-bias"
    layers = [node for node in graph.nodes if node.op in ("conv2d", "depthwise_conv2d", "fully_connected")]
    assert found.tensor == layers[-1].output.name
    assert {check.step for check in found.checks if check.changed} >= {"remove-channels", "wrong-bias"}
