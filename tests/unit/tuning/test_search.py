"""The search in this process: what is tried, what is refused, and what is found with a bench that counts by itself."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import pytest

import aboard
from aboard.base import resources
from aboard.base.measured_cost import MeasuredCost, Unit, total
from aboard.check.region_check import WrongRegion
from aboard.compiler.pipeline import Module
from aboard.device.input_files import Named
from aboard.device.measure import Measurement
from aboard.errors import TargetError, ToolError
from aboard.ir import DType
from aboard.kernels.accelerator import ClaimedRegion, DeviceCode
from aboard.partition.pattern import DevicePattern, any_tensor, constant, op
from aboard.target import Knob, Target
from aboard.tuner.bench import BenchRun, ThisProcess
from aboard.tuner.found import Found
from aboard.tuner.run import run
from aboard.tuner.search import TuningSearch
from aboard.tuning.key import device_key, toolchain
from aboard.tuning.records import TuningRecord, by_key
from support import fake_device
from support.device import device
from support.fake_device import RUNS, SUBTLE, SUITS, ZERO
from support.fake_device import fake_device as fake

TARGET = "c -runtime=host + fake"
MODEL = resources.models() / "digits.tflite"


@dataclass
class Counting:
    """Counts the calls of the library that stand in the code; computes nothing but what the module says of itself."""

    name: str = "a bench"
    compiler: str | None = None
    unit: Unit = "instructions"
    spread: int = 0
    seen: list[dict[str, Any]] = field(default_factory=list)

    def run(self, module: Module, inputs: Sequence[Named]) -> BenchRun:
        counts = []
        regions = 0
        for node in module.manifest.nodes:
            source = module.files[f"src/digits_{node.device}_{regions}.c"] if node.device else ""
            regions += node.device is not None
            counts.append(1 + 100 * source.count("fake_product(&"))
        costs = tuple(MeasuredCost(count, self.unit, self.spread) for count in counts)
        self.seen.append({node.name: node.tuning for node in module.manifest.nodes if node.tuning})
        hz = 1_000_000 if self.unit == "ticks" else None
        return BenchRun(tuple({} for _ in inputs), Measurement(costs, total(costs), hz))

    def faults(self, module: Module, inputs: Sequence[Named]) -> list[WrongRegion]:
        return []


def search(bench: Any = None, target: str = TARGET, **options: Any) -> Found:
    only = [device.kind.name for device in Target(target).devices]
    prepared = TuningSearch.prepare(MODEL, target, bench or ThisProcess(), **{"only": only, **options})
    built: list[str] = []
    found = run(prepared, built.append)
    assert len(built) == prepared.builds
    return found


def test_every_point_is_exact_and_none_is_measured_in_this_process() -> None:
    with fake(RUNS, SUITS):
        found = search(samples=1)
    assert [trial.point for trial in found.trials] == [
        {"runs": runs, "suits": suits} for runs in RUNS.values for suits in SUITS.values
    ]
    assert all(trial.total is None and not trial.regions and not trial.refused for trial in found.trials)
    assert (found.best, found.host, found.default, found.tuned, found.samples) == ((), None, None, None, 3)


def test_the_best_is_found_region_by_region() -> None:
    bench = Counting()
    with fake(RUNS, SUITS):
        found = search(bench)
        assert found.best[0].record.key.device == device_key(Target(TARGET), Target(TARGET).devices[0])
        assert found.best[0].record.toolchain == toolchain(Target(TARGET))
    assert [(b.record.values, b.default.count, b.cost.count) for b in found.best] == [
        ({"runs": 1, "suits": "many"}, 301, 101),
        ({"runs": 1, "suits": "few"}, 201, 101),
    ]
    assert [trial.total and trial.total.count for trial in found.trials] == [506, 506, 306, 306, 706, 706]
    assert [cost and cost.count for cost in (found.host, found.default, found.tuned)] == [6, 506, 206]
    assert list(bench.seen[-1].values()) == [b.record.values for b in found.best]


def test_ticks_are_recorded_with_the_clock_at_which_they_were_measured() -> None:
    board = "st/nucleo_f746zg + fake"
    with fake(RUNS, SUITS):
        found = search(Counting(unit="ticks"), board)
        instructions = search(Counting(), board)
    record = found.best[0].record
    assert (record.unit, record.clock_hz, record.wait_states) == ("ticks", 216_000_000, 7)
    assert record.provenance is not None
    assert (record.provenance.board, record.provenance.tick_hz) == ("a bench", 1_000_000)
    assert record.provenance.version == aboard.__version__
    assert re.fullmatch(r"\d{4}-\d\d-\d\d", record.provenance.date)
    # Instructions do not depend on the clock.
    assert (instructions.best[0].record.unit, instructions.best[0].record.clock_hz) == ("instructions", None)
    assert instructions.best[0].record.key.clock is None


@pytest.mark.parametrize(("spread", "runs"), [(0, 1), (99, 1), (200, 2)])
def test_ticks_that_are_no_less_than_the_spread_change_nothing(spread: int, runs: int) -> None:
    with fake(RUNS):
        found = search(Counting(unit="ticks", spread=spread))
    assert [best.record.values for best in found.best] == [{"runs": runs}] * 2


def test_where_nothing_is_won_the_defaults_stay() -> None:
    with fake(ZERO):
        found = search(Counting())
    assert [b.record.values for b in found.best] == [{"zero": "right"}] * 2


def test_points_with_the_same_code_share_a_build() -> None:
    bench = Counting()
    with fake(Knob("unused", (1, 2, 3), "Nothing"), ZERO):
        found = search(bench)
    assert [trial.point["unused"] for trial in found.trials] == [1, 1, 2, 2, 3, 3]
    assert len(bench.seen) == 3


def test_a_limit_tries_the_defaults_then_what_was_recorded() -> None:
    with fake(RUNS, SUITS):
        best = search(Counting()).best
        known = by_key(TuningRecord(**{**b.record.model_dump(), "values": {"runs": 3, "suits": "few"}}) for b in best)
        found = search(Counting(), points=3, known=known)
    assert [trial.point for trial in found.trials] == [
        {"runs": 2, "suits": "few"},
        {"runs": 3, "suits": "few"},
        {"runs": 2, "suits": "many"},
    ]
    with fake(RUNS):
        assert [trial.point for trial in search(Counting(), points=1, known=known).trials] == [{"runs": 2}]


def test_a_point_that_is_not_exact_is_an_error_that_names_it() -> None:
    text = (
        r"^tuning of fake, runs=2, zero=wrong: is not exact, got \d+ of 10 elements of output \S+ that differ for "
        r"sample \d, expected what the host alone computes\. This is a bug of the device's package; take the value out"
    )
    with fake(RUNS, ZERO), pytest.raises(TargetError, match=text):
        search()


def test_a_wrong_region_behind_a_softmax_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    text = (
        r"^tuning of fake, subtle=wrong: is not exact, got region \d+ \(\S+, computed by fake\): 1 of 10 elements of "
        r"\S+ differ for sample 0, expected what its operators mean\. This is a bug of the device's package"
    )
    model = fake_device.softmax_model()
    with fake(SUBTLE):
        with pytest.raises(TargetError, match=text):
            run(TuningSearch.prepare(model, TARGET, ThisProcess(), name="digits", samples=1, only=["fake"]))
        # The outputs alone do not show it.
        monkeypatch.setattr(ThisProcess, "faults", lambda self, module, inputs: [])
        found = run(TuningSearch.prepare(model, TARGET, ThisProcess(), name="digits", samples=1, only=["fake"]))
    assert [trial.point["subtle"] for trial in found.trials] == ["right", "wrong"]


def codegen(wrong: Any) -> Any:
    def generate(target: Target, region: ClaimedRegion) -> DeviceCode:
        code = fake_device.codegen(target, region)
        return wrong(code) if region.tuning["runs"] == 1 else code

    return generate


def registered(generate: Any) -> Any:
    columns = {"codegen": generate, "runtime": fake_device.runtime, "tuning": lambda target: (RUNS,)}
    return device(fake_device.patterns(), **columns)


def test_a_point_without_code_is_told_and_left_out() -> None:
    def refuse(code: DeviceCode) -> DeviceCode:
        raise TargetError("fake: no room for one run, got 0 bytes, expected 1")

    with registered(codegen(refuse)):
        found = search(Counting())
    assert [trial.refused for trial in found.trials] == ["", "fake: no room for one run, got 0 bytes, expected 1", ""]
    assert [b.record.values for b in found.best] == [{"runs": 2}] * 2


def test_a_point_whose_code_does_not_compile_is_named() -> None:
    def broken(code: DeviceCode) -> DeviceCode:
        return DeviceCode(code.source.replace("return ABOARD_OK;", "return nothing;"), code.arguments, code.results)

    text = r"tuning of fake, runs=1: does not build or run, got: .*failed: .*This is a bug of the device's package$"
    with registered(codegen(broken)), pytest.raises(TargetError, match=text) as caught:
        search()
    assert isinstance(caught.value.__cause__, ToolError)


def test_there_may_be_nothing_to_tune() -> None:
    text = r"digits: nothing to tune, got no device with knobs and no kernel with a choice that computes a part of it"
    with fake(), pytest.raises(TargetError, match=text):
        TuningSearch.prepare(MODEL, TARGET, ThisProcess(), only=["fake"])


def test_a_part_that_is_not_there_cannot_be_tuned() -> None:
    with fake(RUNS), pytest.raises(TargetError, match=r"^tuning: no such part, got fak\. Did you mean fake"):
        TuningSearch.prepare(MODEL, TARGET, ThisProcess(), only=["fak"])


def test_devices_are_tuned_one_after_another() -> None:
    operands = (any_tensor(), constant(DType.INT8), constant())
    dense = [DevicePattern("dense", op("fully_connected", *operands, name="layer"))]
    columns = {"codegen": fake_device.codegen, "tuning": lambda target: (SUITS,)}
    bench = Counting()
    with fake(RUNS), device(dense, name="second", **columns):
        found = search(bench, "c -runtime=host + second + fake")
    assert [(trial.device, trial.point) for trial in found.trials] == [
        ("second", {"suits": "few"}),
        ("second", {"suits": "many"}),
        *(("fake", {"runs": runs}) for runs in RUNS.values),
    ]
    assert [list(seen.values()) for seen in bench.seen[2:5]] == [
        [{"runs": 2}, {"suits": "many"}],
        [{"runs": 1}, {"suits": "few"}],
        [{"runs": 3}, {"suits": "few"}],
    ]
