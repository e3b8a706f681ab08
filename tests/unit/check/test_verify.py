"""Comparing results, and finding the first element that differs."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np
import pytest

from aboard.base.manifest import Manifest
from aboard.base.manifest_records import NodeRecord, OperandRecord, TensorRecord
from aboard.check import verify
from aboard.device.timing import Duration, RunResult
from aboard.errors import InputError
from support.bundles import tiny_manifest, tiny_node

SHAPE = (2, 3, 4, 5)


def operand(source: int | None, shape: tuple[int, ...], kept: tuple[int, ...] | None = None, of: int = 5) -> Any:
    return OperandRecord(
        tensor=f"t{source}",
        source=source,
        dtype="int8",
        shape=shape,
        offset=0,
        row_stride=0,
        pixel_stride=0,
        channel_map=kept,
        reference_channels=of if kept else None,
    )


def node(name: str, result: OperandRecord) -> NodeRecord:
    return tiny_node(name=name, op="conv2d", rows=6, workspace_bytes=4096, outputs=(result,))


def model(*nodes: NodeRecord) -> Manifest:
    tensor = TensorRecord(name="x", c_name="x", dtype="int8", shape=(4,), offset=0, bytes=4)
    return tiny_manifest("cortex-m4", "m").model_copy(
        update={"inputs": (tensor,), "outputs": (tensor,), "nodes": nodes}
    )


@dataclass
class Device:
    """Answers as a session does."""

    manifest: Manifest
    outputs: list[np.ndarray[Any, Any]] = field(default_factory=list)
    traced: dict[int, dict[str, Any]] = field(default_factory=dict)
    resets: int = 0

    def reset_state(self) -> None:
        self.resets += 1

    @property
    def models(self) -> list[Manifest]:
        return [self.manifest]

    def infer(self, feed: Any) -> RunResult:
        return RunResult({"y": self.outputs.pop(0)}, Duration(1, 1, None), 0)

    def trace(self, feed: Any) -> dict[int, dict[str, Any]]:
        return self.traced


@dataclass
class Known:
    """Answers as a reference does; `inner` may be a list, one entry for each run."""

    outputs: list[np.ndarray[Any, Any]] = field(default_factory=list)
    inner: Any = field(default_factory=dict)
    resets: int = 0
    steps: float = 0.0

    def reset(self) -> None:
        self.resets += 1

    def run(self, feed: Any) -> dict[str, Any]:
        return {"y": self.outputs.pop(0)}

    def allowed(self, values: Any, name: str) -> float:
        return self.steps

    def tensors(self, feed: Any) -> dict[int, Any]:
        return self.inner.pop(0) if isinstance(self.inner, list) else self.inner


def compare(device: list[Any], reference: list[Any]) -> verify.Verification:
    feeds = [{"x": np.zeros(4)} for _ in device]
    running, known = Device(model(), device), Known(reference)
    found = verify.compare(running, known, feeds)  # type: ignore[arg-type]  # stand-ins
    assert (running.resets, known.resets) == (1, 1)
    return found


def test_samples_are_random_ones_then_the_extremes() -> None:
    made = verify.samples(model(), 3)
    assert len(made) == 5
    assert set(made[-2]["x"]) == {-128}
    assert set(made[-1]["x"]) == {127}
    assert not np.array_equal(made[0]["x"], made[1]["x"])
    again = verify.samples(model(), 3)
    assert all(np.array_equal(a["x"], b["x"]) for a, b in zip(made, again, strict=True))
    with pytest.raises(InputError, match="samples: got -1, expected 0 or more"):
        verify.samples(model(), -1)


def test_integers_are_compared_byte_for_byte() -> None:
    a, b = np.array([1, 2, 300], np.int16), np.array([1, 2, 301], np.int16)
    found = compare([a, b, a], [a, a, b])
    assert (found.samples, found.differing_bytes, found.max_abs_diff) == (3, 2, 1.0)
    assert found.first is not None
    assert found.first[0] == 1
    assert not found.equal


def test_floats_may_differ_by_the_tolerance() -> None:
    a = np.array([1.0, 100.0, 0.0], np.float32)
    near = compare([a * np.float32(1.00005)], [a])
    assert near.equal
    assert near.max_abs_diff == pytest.approx(0.005, rel=0.01)
    far = compare([a * np.float32(1.0003)], [a])
    assert far.differing_bytes == 8


def test_not_a_number_is_equal_to_itself_only() -> None:
    a = np.array([np.nan, 1.0], np.float32)
    assert compare([a], [a]).equal
    found = compare([np.array([0.0, 1.0], np.float32)], [a])
    assert (found.differing_bytes, found.max_abs_diff) == (4, np.inf)


def test_the_first_element_in_order_of_execution_is_named() -> None:
    right = np.arange(120, dtype=np.int8).reshape(SHAPE)
    wrong = right.copy()
    wrong[1, 2, 3, 4] = -1
    wrong[1, 0, 3, 2] = -7
    manifest = model(node("a", operand(1, SHAPE)), node("b", operand(2, SHAPE)), node("c", operand(3, SHAPE)))
    device = Device(manifest, traced={0: {"t1": right}, 1: {"t2": wrong}, 2: {"t3": wrong}})
    found = verify.locate(device, Known(inner={1: right, 2: right, 3: right}), [{}])  # type: ignore[arg-type]  # stand-ins
    assert found is not None
    assert (found.node, found.name, found.tensor) == (1, "b", "t2")
    assert (found.row, found.column, found.channel) == (3, 3, 2)  # rows of the second batch count on from the first
    assert (found.device, found.reference) == (-7, right[1, 0, 3, 2])


def test_the_first_step_of_a_sequence_is_named() -> None:
    right = np.arange(120, dtype=np.int8).reshape(SHAPE)
    late = right.copy()
    late[0, 1, 2, 3] += 1
    device = Device(model(node("a", operand(1, SHAPE))), traced={0: {"t1": right}})
    known = Known(inner=[{1: right}, {1: late}, {1: late}])
    found = verify.locate(device, known, [{}, {}, {}])  # type: ignore[arg-type]  # stand-ins
    assert found is not None
    assert (found.step, found.row, found.column, found.channel) == (1, 1, 2, 3)
    assert (known.resets, device.resets) == (1, 1)


def test_channels_that_were_removed_are_not_compared() -> None:
    right = np.arange(120, dtype=np.int8).reshape(SHAPE)
    widened = np.ma.masked_all(SHAPE, np.int8)
    widened[..., [1, 4]] = right[..., [1, 4]]
    kept = operand(1, (2, 3, 4, 2), (1, 4))
    device = Device(model(node("a", kept)), traced={0: {"t1": widened}})
    assert verify.locate(device, Known(inner={1: right}), [{}]) is None  # type: ignore[arg-type]  # stand-ins
    widened[0, 1, 2, 4] += 1
    found = verify.locate(device, Known(inner={1: right}), [{}])  # type: ignore[arg-type]  # stand-ins
    assert found is not None
    assert (found.row, found.column, found.channel) == (1, 2, 4)


def test_tensors_that_a_pass_made_have_nothing_to_be_compared_with() -> None:
    device = Device(model(node("a", operand(None, (4,)))), traced={0: {"tNone": np.ones(4, np.int8)}})
    assert verify.locate(device, Known(inner={1: np.zeros(4, np.int8)}), [{}]) is None  # type: ignore[arg-type]  # stand-ins


def test_a_reference_may_allow_steps() -> None:
    got, wanted = np.array([3, 4, 5, -128], np.int8), np.array([5, 4, 8, 127], np.int8)
    assert verify.differs(got, wanted).tolist() == [True, False, True, True]
    assert verify.differs(got, wanted, 2.0).tolist() == [False, False, True, True]
    real, near = np.float32(0.1) * got.astype(np.float32), np.float32(0.1) * wanted.astype(np.float32)
    assert verify.differs(real, near, 0.2).tolist() == [False, False, True, True]
