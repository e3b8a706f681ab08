"""What was measured takes the place of predictions, in reports and in the choice between devices and the host."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

import aboard
from aboard.base import resources
from aboard.compiler.pipeline import Module
from aboard.ir.canonical import of_node
from aboard.kernels.accelerator import ClaimedRegion, Cost
from aboard.ops.subgraph import attributes
from aboard.partition.workload import workload
from aboard.schedule import spans
from aboard.target import Target
from aboard.tuning.key import HOST
from aboard.tuning.record_file import store
from aboard.tuning.records import Provenance, TuningRecord
from support import fake_device, tuning_records
from support.device import device
from support.fake_device import RUNS

MODEL = resources.models() / "digits.tflite"
BOARD = "st/nucleo_f746zg"
#: Clock of the board, and ticks of its counter in a second.
CLOCK, TICK_HZ, WAIT_STATES = 216_000_000, 1_000_000, 7
MADE = Provenance(board=BOARD, date="2026-01-31", version="0.1", tick_hz=TICK_HZ)


#: A target whose layers are no cascades.
FAST = f"{BOARD} -opt=speed"


def compiled(tuning: Path | None = None, target: str = FAST) -> Module:
    return aboard.compile(MODEL, target=target, tuning=tuning)


def of_host(module: Module, index: int, **further: Any) -> TuningRecord:
    """Returns a record of a node of the host."""
    step = module.schedule().program.steps[index]
    values = {"kernel": step.implementation.name}
    return tuning_records.record(str(module.target), of_node(step.node), values, **further)


def test_instructions_take_the_place_of_a_prediction(tmp_path: Path) -> None:
    module = compiled()
    store(tmp_path / "t.json", [of_host(module, 1, count=12_345)])
    node = compiled(tmp_path / "t.json").manifest.nodes[1]
    assert (node.estimated_instructions, node.tuning_origin) == (12_345, "record")
    assert module.manifest.nodes[1].estimated_instructions != 12_345
    # The cycles keep their ratio to the instructions.
    before = module.manifest.nodes[1]
    assert before.estimated_cycles is not None
    assert before.estimated_instructions is not None
    rate = before.estimated_cycles / before.estimated_instructions
    assert node.estimated_cycles == pytest.approx(12_345 * rate, abs=1)


def test_a_record_of_more_calls_predicts_nothing(tmp_path: Path) -> None:
    module = compiled()
    store(tmp_path / "t.json", [of_host(module, 1, count=12_345, calls=9)])
    node = compiled(tmp_path / "t.json").manifest.nodes[1]
    assert node.estimated_instructions == module.manifest.nodes[1].estimated_instructions


def test_ticks_become_cycles_of_the_clock(tmp_path: Path) -> None:
    module = compiled()
    at = {"unit": "ticks", "clock_hz": CLOCK, "wait_states": WAIT_STATES, "provenance": MADE}
    store(tmp_path / "t.json", [of_host(module, 1, count=50, **at)])
    node = compiled(tmp_path / "t.json").manifest.nodes[1]
    assert node.estimated_cycles == 50 * CLOCK // TICK_HZ
    assert node.estimated_instructions == module.manifest.nodes[1].estimated_instructions


def test_points_with_which_the_model_does_not_fit_are_left_aside(tmp_path: Path) -> None:
    module = compiled(target=BOARD)
    found = module.schedule()
    part = spans.part(found.graph_of_file, module.target)
    record = tuning_records.record(str(module.target), part.workload, {"cascades": "none"})
    assert record.kind == HOST
    store(tmp_path / "t.json", [record])
    least = module.manifest.ram_bytes
    assert compiled(tmp_path / "t.json", BOARD).manifest.ram_bytes > least
    assert compiled(tmp_path / "t.json", f"{BOARD} -ram-max={least}").manifest.ram_bytes <= least


@pytest.mark.parametrize(("ticks", "taken"), [(1, True), (10_000, False)])
def test_a_region_that_a_board_has_timed_costs_what_it_took(tmp_path: Path, ticks: int, taken: bool) -> None:
    def cost(target: Target, region: ClaimedRegion) -> Cost:
        return Cost(1e6 if taken else 1.0)

    columns = {
        "codegen": fake_device.codegen,
        "runtime": fake_device.runtime,
        "tuning": lambda target: (RUNS,),
        "cost": cost,
    }
    with device(fake_device.patterns(), name="timed", **columns):
        ordered = aboard.compile(MODEL, target=f"{BOARD} + timed")
        assert ordered.graph is not None
        regions = [attributes(node) for node in ordered.graph.nodes if node.op == "subgraph"]
        at = {"unit": "ticks", "clock_hz": CLOCK, "wait_states": WAIT_STATES, "provenance": MADE, "count": ticks}
        records = [
            tuning_records.record(f"{BOARD} + timed", workload(region.graph, region.patterns), {"runs": 1}, **at)
            for region in regions
        ]
        named = Target(f"composite -host='{BOARD}' -device='timed' -partition=cost")
        before = aboard.compile(MODEL, target=named)
        store(tmp_path / "t.json", records)
        after = aboard.compile(MODEL, target=named, tuning=tmp_path / "t.json")
    assert any(node.device for node in before.manifest.nodes) is not taken
    assert any(node.device for node in after.manifest.nodes) is taken
