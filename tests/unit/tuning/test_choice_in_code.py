"""Records reach the code: region by region, the same bytes for the same records, and the manifest says from where."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path

import numpy as np
import pytest

import aboard
from aboard.base import resources
from aboard.compiler.pipeline import Module
from aboard.errors import InputError
from aboard.ops.subgraph import Matched, attributes
from aboard.partition.workload import workload
from aboard.target import MemoryRegion, Target, TileConstraint, Value
from aboard.tuning.choice import Given, Tuning
from aboard.tuning.record_file import store
from support import fake_device
from support.device import device
from support.tuning_records import record

TARGET = "c -runtime=host + fake"
MODEL = resources.models() / "digits.tflite"
FLOATS = resources.models() / "digits_f32.tflite"


@pytest.fixture(autouse=True)
def fake() -> Iterator[None]:
    with fake_device.fake_device(fake_device.RUNS, fake_device.SUITS):
        yield


def compiled(tuning: str | Path | Tuning | None) -> Module:
    return aboard.compile(MODEL, target=TARGET, tuning=tuning)


def workloads(module: Module) -> list[str]:
    assert module.graph is not None
    regions = [attributes(node) for node in module.graph.nodes if node.op == "subgraph"]
    return [workload(attrs.graph, attrs.patterns) for attrs in regions]


def recorded(module: Module, path: Path, index: int, **values: int | str) -> Path:
    text = workloads(module)[index]
    store(path, [record(TARGET, text, values)])
    return path


def test_a_workload_says_what_is_computed_and_names_nothing() -> None:
    first, second = workloads(compiled(Given()))
    assert first == (
        "%0: int8[1x8x8x16]; %1 = conv2d(%0, const int8[24x1x1x16] per axis 0, const int32[24]) "
        "{strides=[1, 1], padding=(top=0, left=0, bottom=0, right=0), dilations=[1, 1], activation=relu}: "
        "int8[1x8x8x24]; out %1; by product[0]"
    )
    assert "fully_connected" in second
    assert "sequential" not in first + second


def test_records_are_per_region(tmp_path: Path) -> None:
    path = recorded(compiled(Given()), tmp_path / "t.json", 1, runs=1, suits="few")
    module = compiled(path)
    mine = [node for node in module.manifest.nodes if node.device == "fake"]
    assert [(node.tuning, node.tuning_origin) for node in mine] == [
        ({"runs": 2, "suits": "few"}, "default"),
        ({"runs": 1, "suits": "few"}, "record"),
    ]
    assert all((node.tuning, node.tuning_origin) == ({}, "") for node in module.manifest.nodes if not node.device)
    calls = [module.files[f"src/digits_fake_{n}.c"].count("fake_product(&") for n in range(2)]
    assert calls == [3, 1]
    x = np.random.default_rng(1).integers(-128, 128, module.manifest.inputs[0].shape).astype(np.int8)
    np.testing.assert_array_equal(module.run(x), aboard.compile(MODEL, target="c -runtime=host").run(x))


def test_the_same_records_give_the_same_bytes(tmp_path: Path) -> None:
    untuned = compiled(Given())
    first, second = (
        compiled(recorded(untuned, tmp_path / name, 0, runs=1, suits="many")) for name in ("a.json", "b.json")
    )
    assert first.files == second.files
    assert first.manifest == second.manifest
    assert first.files != untuned.files


def test_the_users_own_file_is_taken_unless_another_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    untuned = compiled(Given())
    monkeypatch.setenv("ABOARD_TUNING", str(recorded(untuned, tmp_path / "own.json", 0, runs=1)))
    assert compiled(None).manifest.nodes[2].tuning_origin == "record"
    other = recorded(untuned, tmp_path / "other.json", 1, runs=3)
    assert [node.tuning_origin for node in compiled(other).manifest.nodes if node.tuning] == ["default", "record"]
    assert Module.load(compiled(None).save(tmp_path / "bundle")).manifest.nodes[2].tuning == {"runs": 1, "suits": "few"}


def test_only_devices_with_knobs_ask_for_records(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    broken = tmp_path / "t.json"
    broken.write_text("no records")
    monkeypatch.setenv("ABOARD_TUNING", str(broken))
    assert aboard.compile(FLOATS, target="c -runtime=host + fake").manifest.nodes
    with pytest.raises(InputError, match=r"t\.json: records are damaged"):
        compiled(None)


def test_a_recorded_point_for_which_there_is_no_room_is_left_aside(tmp_path: Path) -> None:
    room = [16384]

    def memory(target: Target) -> tuple[MemoryRegion, ...]:
        return (MemoryRegion("scratchpad", room[0]),)

    def tiles(target: Target, matched: Matched, tuning: Mapping[str, Value]) -> TileConstraint:
        return TileConstraint("scratchpad", axes=() if tuning["runs"] == 1 else (1, 3))

    columns = {"codegen": fake_device.codegen, "runtime": fake_device.runtime, "memory": memory, "tiles": tiles}
    target, path = "c -runtime=host + tiled", tmp_path / "t.json"
    with device(fake_device.patterns(), name="tiled", tuning=lambda target: (fake_device.RUNS,), **columns):
        text = workloads(aboard.compile(MODEL, target=target, tuning=Given()))[0]
        values = {"runs": 1}
        store(path, [record(target, text, values)])
        assert aboard.compile(MODEL, target=target, tuning=path).manifest.nodes[2].tuning_origin == "record"
        room[0] = 1024
        node = aboard.compile(MODEL, target=target, tuning=path).manifest.nodes[2]
    assert node.tuning == {"runs": 2}
    assert node.tuning_origin.startswith(
        "default, as the recorded point does not fit: tiled: scratchpad too small for conv2d"
    )
