"""Times: measured on a device, or estimated from counted instructions, and never the virtual time of an emulator."""

from __future__ import annotations

import pytest

from aboard.base.manifest import Manifest
from aboard.base.manifest_records import ErrorRecord, NodeRecord, PredictionRecord
from aboard.cli.verdict import duration, time_info, time_text
from aboard.device.timing import Duration, EstimatedTime
from support.bundles import tiny_manifest, tiny_node

RATE = ErrorRecord(median=0.01, most=0.04)
CYCLES = ErrorRecord(median=0.02, most=0.1)


def node(instructions: int | None, cycles: int | None) -> NodeRecord:
    return tiny_node(estimated_instructions=instructions, estimated_cycles=cycles)


def model(*nodes: NodeRecord, prediction: PredictionRecord | None = None) -> Manifest:
    known = prediction or PredictionRecord(core="cortex-m0", models=5, instructions=CYCLES, cycles=CYCLES, rate=RATE)
    return tiny_manifest("cortex-m0", "m").model_copy(update={"nodes": nodes, "prediction": known})


def test_an_emulator_measures_no_time() -> None:
    assert Duration(100, 1_000_000, None).microseconds == 100
    assert Duration(100, 1_000_000, 4000, is_real=False).microseconds is None


def test_counted_instructions_take_the_cycles_of_the_models_kernels() -> None:
    found = EstimatedTime.of(model(node(1000, 1500), node(200, 180)), 2400, 16_000_000)
    assert found == EstimatedTime(3360, 3360 / 16e6, "cortex-m0", 0.04)
    assert found is not None
    assert time_text(None, time_info(found)) == (
        "about 210 us, estimated: 3,360 cycles of Cortex-M0 at 16 MHz without wait states, up to 4 % off"
    )


def test_a_prediction_has_the_error_of_cycles() -> None:
    found = EstimatedTime.predicted(model(node(1000, 1500), node(200, 180)), 1_000_000)
    assert found == EstimatedTime(1680, 1680e-6, "cortex-m0", 0.1)


def test_a_prediction_names_the_wait_states_that_it_includes() -> None:
    known = PredictionRecord(core="cortex-m4", models=5, cycles=CYCLES, rate=RATE, flash="3 wait states, no cache")
    found = EstimatedTime.predicted(model(node(1000, 1500), prediction=known), 1_000_000)
    assert found is not None
    assert time_info(found).flash == "3 wait states, no cache"
    assert time_text(None, time_info(found)) == (
        "about 1.5 ms, estimated: 1,500 cycles of Cortex-M4 at 1 MHz with 3 wait states, no cache, up to 10 % off"
    )


def test_another_core_stands_in_without_an_error() -> None:
    borrowed = PredictionRecord(core="cortex-m4")
    found = EstimatedTime.of(model(node(10, 20), prediction=borrowed), 1000, 480_000_000)
    assert found is not None
    text = time_text(None, time_info(found))
    assert text == (
        "about 4.17 us, estimated: 2,000 cycles of Cortex-M4 at 480 MHz without wait states, error not known"
    )


@pytest.mark.parametrize(
    ("manifest", "instructions", "clock_hz"),
    [
        # Nothing was counted, the clock is not known, an accelerator computes a node.
        (model(node(10, 20)), None, 1_000_000),
        (model(node(10, 20)), 10, None),
        (model(node(10, 20), node(None, None)), 10, 1_000_000),
    ],
)
def test_without_a_basis_there_is_no_estimate(
    manifest: Manifest, instructions: int | None, clock_hz: int | None
) -> None:
    assert EstimatedTime.of(manifest, instructions, clock_hz) is None


def test_a_measured_time_says_so() -> None:
    assert time_text(0.0473, None) == "47.3 ms, measured"
    assert time_text(None, None) is None


@pytest.mark.parametrize(
    ("seconds", "text"),
    [(0.0, "0 us"), (12.3456e-6, "12.3 us"), (999e-6, "999 us"), (0.001, "1 ms"), (0.356, "356 ms"), (1.2, "1.2 s"),
     (61.54, "61.5 s"), (4000.0, "4,000 s")],
)  # fmt: skip
def test_units_suit_the_size(seconds: float, text: str) -> None:
    assert duration(seconds) == text
