"""Windows in rolling buffers: the results of many runs, the state that a caller sees, and the C around them."""

from __future__ import annotations

import subprocess
from pathlib import Path
from unittest import mock

import numpy as np
import pytest
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st

import aboard
from aboard.reports import compiled
from aboard.schedule.rolling_finder import RollingFinder
from support import oracle, rolling_models, streams
from support.examples import examples
from support.rolling_models import Layer
from support.sanitized import SANITIZERS, WARNINGS, compile_strictly

M4 = "c -mcpu=cortex-m4"
M3 = "c -mcpu=cortex-m3"
STEPS = 12

#: Each case compiles C, so that it would take minutes to make a failing case smaller.
PHASES = (Phase.reuse, Phase.generate)
WAKE = [Layer("CONV_2D", 2, 5, 3, channels=32), Layer("DEPTHWISE_CONV_2D", 8, 9), Layer("DEPTHWISE_CONV_2D", 20, 21)]


def always() -> mock._patch[mock.Mock]:
    """Returns a context in which every window rolls that can, whatever it costs."""
    return mock.patch.object(RollingFinder, "_saves", return_value=True)


@st.composite
def chains(draw: st.DrawFn) -> tuple[list[Layer], int, int, int]:
    """Returns layers, and rows, columns and channels of the input."""
    fresh = first = draw(st.integers(1, 6))
    layers = []
    for _ in range(draw(st.integers(1, 3))):
        op = draw(st.sampled_from(["CONV_2D", "DEPTHWISE_CONV_2D", "DEPTHWISE_CONV_2D", "MAX_POOL_2D"]))
        stride = draw(st.sampled_from([n for n in range(1, fresh + 1) if fresh % n == 0]))
        height = draw(st.integers(1, 7))
        dilation = 1 if op == "MAX_POOL_2D" else draw(st.integers(1, 2))
        extent = (height - 1) * dilation + 1
        skipped = draw(st.sampled_from([0, 0, 1, 3]))
        # What the layer needs for as many windows as strides fit into the new rows; sometimes more.
        kept = max(extent - stride, 0) + skipped + draw(st.sampled_from([0, 0, 0, 1]))
        if kept == 0:
            kept = 1
        layers.append(Layer(op, kept, height, stride, dilation, draw(st.sampled_from([4, 5, 8])), skipped))
        fresh = (kept + fresh - skipped - extent) // stride + 1
    return layers, first, draw(st.sampled_from([1, 1, 2, 3])), draw(st.sampled_from([3, 4, 8]))


@settings(
    max_examples=examples(32), deadline=None, phases=PHASES, suppress_health_check=[HealthCheck.function_scoped_fixture]
)
@given(chains(), st.sampled_from(["cortex-m4", "cortex-m0plus"]), st.integers(0, (1 << STEPS) - 1))
def test_many_runs(tmp_path: Path, chain: tuple[list[Layer], int, int, int], core: str, mask: int) -> None:
    layers, fresh, width, channels = chain
    model = rolling_models.model(layers, fresh, width, channels)
    with always():
        module = aboard.compile(model, target=f"c -mcpu={core} -opt=speed", name="net")
    steps = streams.draws([(1, fresh, width, channels)], STEPS)
    got = rolling_models.run(module, steps, tmp_path, mask)
    np.testing.assert_array_equal(got, np.stack([y for (y,) in oracle.tflm_steps(model, steps)]))


#: States that roll: with `-opt=size` only those whose positions cost no more than what they save.
ALL_ROLL = {0: 5, 1: 9, 2: 21}


@pytest.mark.parametrize(("opt", "rolling"), [("size", {0: 5}), ("balanced", ALL_ROLL), ("speed", ALL_ROLL)])
def test_a_wake_word(opt: str, rolling: dict[int, int], tmp_path: Path) -> None:
    model = rolling_models.model(WAKE, 3, 1, 40)
    module = aboard.compile(model, target=f"{M4} -opt={opt}", name="net")
    assert module.manifest.state is not None
    assert module.manifest.state.rolling == rolling
    assert ("memmove" in module.files["src/net.c"]) is (rolling != ALL_ROLL)
    steps = streams.draws([(1, 3, 1, 40)], 64)
    got = rolling_models.run(module, steps, tmp_path, mask=0x8000_0100_0001_0022)
    np.testing.assert_array_equal(got, np.stack([y for (y,) in oracle.tflm_steps(model, steps)]))
    compile_strictly(module, tmp_path, ["gcc"])


def test_new_rows_that_wrap_around_are_copied(tmp_path: Path) -> None:
    model = rolling_models.model([Layer("CONV_2D", 2, 3, channels=16), Layer("DEPTHWISE_CONV_2D", 3, 4)], 2, 1, 8)
    with always():
        module = aboard.compile(model, target=f"{M4} -opt=speed", name="net")
    assert module.manifest.state is not None
    assert module.manifest.state.rolling == {0: 4, 1: 5}
    assert [node.op for node in module.manifest.nodes].count("concatenation") == 2
    steps = streams.draws([(1, 2, 1, 8)], STEPS)
    got = rolling_models.run(module, steps, tmp_path, mask=0b10110)
    np.testing.assert_array_equal(got, np.stack([y for (y,) in oracle.tflm_steps(model, steps)]))


@pytest.mark.parametrize("place", ["", "-state=arena", "-state=retained", "-arena=fast:128,slow -state=arena"])
def test_every_place_of_the_state_block(place: str) -> None:
    model = rolling_models.model(WAKE, 3, 1, 40)
    module = aboard.compile(model, target=f"c -runtime=host {place}", name="net")
    assert module.manifest.state is not None
    assert module.manifest.state.rolling
    steps = streams.draws([(1, 3, 1, 40)], 30)
    got = np.stack([module.run(x) for (x,) in steps])
    wanted = np.stack([y for (y,) in oracle.tflm_steps(model, steps)])
    np.testing.assert_array_equal(got, wanted)
    module.reset_state()
    np.testing.assert_array_equal(module.run(steps[0][0]), wanted[0])


def test_a_saved_state_has_its_rows_in_order_and_continues_elsewhere() -> None:
    model = rolling_models.model(WAKE, 3, 1, 40)
    module, other = (aboard.compile(model, target="c -runtime=host", name="net") for _ in range(2))
    steps, seen = streams.draws([(1, 3, 1, 40)], 9), list[np.ndarray]()
    wanted = [y for (y,) in oracle.tflm_steps(model, steps)]
    for (x,), expected in zip(steps, wanted, strict=True):
        np.testing.assert_array_equal(module.run(x), expected)
        seen.append(x)
        saved = module.state()
        np.testing.assert_array_equal(saved["stream0"], np.concatenate(seen, 1)[:, -2:])
        other.set_state(saved)
        module, other = other, module


def test_every_step_traces_its_rows_in_order(tmp_path: Path) -> None:
    """The test of the bundle compares the trace of each step with the reference."""
    model = rolling_models.model(WAKE, 3, 1, 40)
    module = aboard.compile(model, target=M4, name="net", hooks=True)
    bundle = module.save(tmp_path / "bundle")
    (main,) = [path for path in module.manifest.tests if path.endswith(".c")]
    sources = [str(bundle / path) for path in (*module.manifest.sources, main)]
    flags = ["-DABOARD_HOOKS=1", "-DABOARD_TRACE=1", f"-I{bundle / 'include'}", "-o", str(tmp_path / "test")]
    outputs = []
    for turn in range(2):
        subprocess.run(["gcc", *WARNINGS, *SANITIZERS, *flags, *sources], check=True)
        done = subprocess.run([str(tmp_path / "test")], capture_output=True, text=True, check=False)
        outputs.append((done.returncode, done.stdout))
        if turn == 0:
            source = bundle / "src" / "net.c"
            text = source.read_text()
            assert "(3 * position_0 + row) % 5" in text
            source.write_text(text.replace("(3 * position_0 + row) % 5", "(3 * position_0 + row + 1) % 5"))
    assert outputs[0] == (0, "net: ok\n")
    assert outputs[1][0] == 1


def test_windows_that_cost_more_to_read_than_to_move_are_moved() -> None:
    layers = [Layer("CONV_2D", 2, 5, 3, channels=30), Layer("DEPTHWISE_CONV_2D", 4, 5)]
    model = rolling_models.model(layers, 3, 1, 40)
    manifest = aboard.compile(model, target=M3, name="net").manifest
    assert manifest.state is not None
    assert manifest.state.rolling == {0: 5}, "30 channels are not whole words, so that each product finds its row"
    with always():
        rolled = aboard.compile(model, target=M3, name="net").manifest
    assert rolled.state is not None
    assert rolled.state.rolling == {0: 5, 1: 5}


def test_the_report_names_rolling_buffers() -> None:
    manifest = aboard.compile(rolling_models.model(WAKE, 3, 1, 40), target=M4, name="net").manifest
    lines = compiled.state(manifest).splitlines()
    assert [line.partition("rolling")[2] for line in lines if "stream" in line] == [", 5 rows", ", 9 rows", ", 21 rows"]


def test_other_readers_need_the_rows_in_order() -> None:
    """A window that another operator reads, or that is padded in time, is moved."""
    build = streams.Stream().quantised("x", shape=(1, 1, 1, 64)).quantised("old", "new", shape=(1, 7, 1, 64))
    build.quantised("cat", "y", shape=(1, 8, 1, 64)).read("v", "old")
    build.op("CONCATENATION", ["old", "x"], ["cat"], {"Axis": 1}).op("RELU", ["cat"], ["y"])
    rolling_models.rows_from(build, "cat", "new", 1)
    model = build.assign("v", "new").build(["x"], ["y"])
    with always():
        manifest = aboard.compile(model, target=f"{M4} -opt=speed", name="net").manifest
    assert manifest.state is not None
    assert manifest.state.rolling == {}
