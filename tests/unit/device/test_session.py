from __future__ import annotations

import re

import numpy as np
import pytest

from aboard.device.session import Session
from aboard.errors import (
    DeviceError,
    DeviceStatusError,
    InputError,
    TransportError,
    WrongModelError,
)
from aboard.rpc import framing
from aboard.rpc.client import Client
from aboard.rpc.exchange import Timing
from aboard.rpc.messages import Type
from aboard.transports.loopback import LoopbackTransport
from aboard.transports.lossy import LossyTransport, Noise
from support.rpc_device import ALL, INPUT_COPY, TRACE, FakeDevice
from support.toy_project import ADDER, DOUBLER, ToyBoard, ToyProject
from support.toy_session import FAST, INPUTS, MASKED, SUM, A, B, ToyRunner, attach


def test_run_gives_all_outputs_by_name() -> None:
    with attach(FakeDevice()) as device:
        outputs = device.run(INPUTS, model="adder")
    assert isinstance(outputs, dict)
    np.testing.assert_array_equal(outputs["sum"], SUM)
    np.testing.assert_array_equal(outputs["masked"], MASKED)
    assert outputs["sum"].shape == (1, 2, 3, 4)


def test_run_gives_one_array_for_one_output() -> None:
    x = np.linspace(-1, 1, 5, dtype=np.float32)
    with attach(FakeDevice()) as device:
        y = device.run(x, model=1)
    assert isinstance(y, np.ndarray)
    np.testing.assert_array_equal(y, 2 * x.reshape(1, 5))


def test_a_project_with_one_model_needs_no_name() -> None:
    device = FakeDevice()
    device.c.fake_limit_models(1)
    with attach(device, project=ToyProject(models=(ADDER,))) as session:
        outputs = session.run(INPUTS)
    assert isinstance(outputs, dict)
    np.testing.assert_array_equal(outputs["sum"], SUM)


def test_infer_measures() -> None:
    with attach(FakeDevice(), ToyRunner()) as device:
        result = device.infer(INPUTS, "adder")
    assert (result.ticks, result.instructions, result.stack_bytes) == (10, 400, 123)
    assert result.microseconds is None
    with attach(FakeDevice()) as device:
        measured = device.infer(INPUTS, "adder")
    assert measured.instructions is None
    assert measured.microseconds == pytest.approx(0.4)


@pytest.mark.parametrize("has", [ALL, ALL & ~INPUT_COPY])
def test_run_n_times_runs_whether_inputs_survive_or_not(has: int) -> None:
    device = FakeDevice(has=has)
    with attach(device, ToyRunner()) as session:
        series = session.run_n(INPUTS, 7, model="adder")
    assert (series.count, series.fewest.ticks, series.most.ticks, series.total.ticks) == (7, 10, 10, 70)
    assert (series.total.instructions, series.stack_bytes) == (2800, 123)
    assert device.c.fake_runs() == 7


def test_run_many_keeps_the_order() -> None:
    xs = [np.full(5, value, np.float32) for value in (1, 2, 3)]
    with attach(FakeDevice()) as device:
        ys = device.run_many(xs, model="doubler")
    assert [float(np.asarray(y)[0, 0]) for y in ys] == [2, 4, 6]


@pytest.mark.parametrize("has", [ALL, ALL & ~INPUT_COPY])
def test_profile_times_every_node(has: int) -> None:
    with attach(FakeDevice(has=has), ToyRunner()) as device:
        profile = device.profile(INPUTS, model="adder")
    assert [(entry.node.name, entry.duration.ticks) for entry in profile.nodes] == [
        ("add", 20),
        ("negate", 20),
        ("widen", 20),
    ]
    np.testing.assert_array_equal(profile.run.outputs["sum"], SUM)
    lines = profile.table().splitlines()
    assert lines[0] == "adder"
    assert lines[1].split() == ["#", "node", "op", "instructions", "share", "MACs"]
    assert lines[3].split() == ["0", "add", "add", "800", "33.3", "%", "24"]
    assert lines[7].split() == ["whole", "run", "400"]


@pytest.mark.parametrize(("has", "times"), [(ALL, 1), (ALL & ~INPUT_COPY, 2)])
def test_a_profile_writes_the_inputs_again_if_a_run_changes_them(
    has: int, times: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    written, write_input = list[int](), Client.write_input

    def noted(client: Client, model: int, index: int, data: bytes) -> None:
        written.append(index)
        write_input(client, model, index, data)

    monkeypatch.setattr(Client, "write_input", noted)
    with attach(FakeDevice(has=has)) as device:
        device.profile(INPUTS, model="adder")
    assert written == [0, 1] * times


def test_a_profile_without_an_emulator_is_timed() -> None:
    with attach(FakeDevice()) as device:
        lines = device.profile(INPUTS, model="adder").table().splitlines()
    assert lines[1].split() == ["#", "node", "op", "ticks", "us", "share", "MACs"]
    assert lines[3].split() == ["0", "add", "add", "20", "0.8", "33.3", "%", "24"]
    assert lines[7].split() == ["whole", "run", "10", "0.4"]


def test_taps_rebuild_the_tensors() -> None:
    with attach(FakeDevice(frame_bytes=128)) as device:
        traced = device.trace(INPUTS, model="adder")
    assert list(traced) == [0, 1, 2]
    np.testing.assert_array_equal(traced[0]["sum"], SUM)
    negated = traced[1]["negated"]
    assert isinstance(negated, np.ma.MaskedArray)
    assert negated.shape == (1, 2, 3, 4)
    assert negated.mask[..., 2].all()
    assert not negated.mask[..., [0, 1, 3]].any()
    np.testing.assert_array_equal(negated.data[..., [0, 1, 3]], MASKED[..., [0, 1, 3]])
    np.testing.assert_array_equal(traced[2]["masked"], MASKED)


def test_taps_of_chosen_nodes() -> None:
    with attach(FakeDevice(has=TRACE)) as device:
        traced = device.trace(INPUTS, ["widen", 0], model="adder")
    assert list(traced) == [0, 2]
    np.testing.assert_array_equal(traced[2]["masked"], MASKED)


def test_lost_taps_are_sent_again() -> None:
    fake = FakeDevice()
    transport = LossyTransport(fake.transport(), Noise(drop=0.004, flip=0.004), seed=4)
    patient = Timing(attempt_s=0.005, attempts=40, settle_s=0.0005, hello_s=2, patience_s=2)
    with Session.attach(ToyProject(), transport, timing=patient) as device:
        for _ in range(15):
            traced = device.trace(INPUTS, model="adder")
            np.testing.assert_array_equal(traced[0]["sum"], SUM)
            np.testing.assert_array_equal(traced[2]["masked"], MASKED)
    assert fake.c.fake_runs() > 15  # some runs had to be repeated


def test_taps_that_never_come_are_named() -> None:
    device = FakeDevice()
    decoder = framing.Decoder(1000)

    def without_negate(data: bytes) -> bytes:
        messages = decoder.feed(device.step(data))
        return b"".join(framing.encode(m) for m in messages if m[0] != Type.TRACE or m[12] != 1)

    with (
        Session.attach(ToyProject(), LoopbackTransport(without_negate), timing=FAST) as session,
        pytest.raises(DeviceError, match="adder: the trace is incomplete after 20 runs, got none or parts of negate"),
    ):
        session.trace(INPUTS, model="adder")


def test_a_node_runs_alone() -> None:
    with attach(FakeDevice(), ToyRunner()) as device:
        added = device.run_op("add", INPUTS, count=3, model="adder")
        negated = device.run_op(1, {"sum": SUM}, model="adder")
        widened = device.run_op("widen", {"negated": negated.outputs["negated"]}, model="adder")
    np.testing.assert_array_equal(added.outputs["sum"], SUM)
    assert (added.ticks, added.instructions) == (10, 400)
    assert isinstance(negated.outputs["negated"], np.ma.MaskedArray)
    np.testing.assert_array_equal(widened.outputs["masked"], MASKED)


@pytest.mark.parametrize(
    ("node", "inputs", "message"),
    [
        ("ad", INPUTS, "adder: unknown node 'ad'. Did you mean add?"),
        (3, INPUTS, "adder: unknown node 3."),
        (-1, INPUTS, "adder: unknown node -1."),
        ("add", {"a": A}, "adder: add: operand b is missing, expected a, b"),
        ("negate", {"som": SUM}, "adder: negate: som is not an operand of the node. Did you mean sum?"),
        ("negate", {"sum": SUM[..., :2]}, "adder: negate: operand sum is wrong, got int8 (1, 2, 3, 2), expected int8"),
    ],
)
def test_wrong_operands_are_named(node: str | int, inputs: dict[str, np.ndarray], message: str) -> None:
    with attach(FakeDevice()) as device, pytest.raises(InputError, match=re.escape(message)):
        device.run_op(node, inputs, model="adder")


@pytest.mark.parametrize(
    ("inputs", "model", "message"),
    [
        (INPUTS, None, "session: has several models. Choose one with model=: adder, doubler"),
        (INPUTS, "addr", "session: unknown model 'addr'. Did you mean adder?"),
        (INPUTS, 2, "session: unknown model 2."),
        ({"a": A}, "adder", "input b is missing"),
        ({"a": A, "b": B, "c": B}, "adder", "input c is not one of the model's"),
        (A, "adder", "got one array for a model with 2 inputs, expected a dict. Pass an array for each of: a, b"),
        ({"a": A, "b": B[:, :1]}, "adder", "got (1, 1, 3, 4), expected (1, 2, 3, 4)"),
        ({"a": A, "b": B.astype(np.float32)}, "adder", "got float32, expected int8"),
    ],
)
def test_wrong_inputs_are_named(inputs: object, model: str | int | None, message: str) -> None:
    fake = FakeDevice()
    with attach(fake) as device, pytest.raises(InputError, match=re.escape(message)):
        device.run(inputs, model)  # type: ignore[arg-type] # wrong on purpose
    assert fake.c.fake_runs() == 0


def test_run_n_refuses_a_count_of_none() -> None:
    with attach(FakeDevice()) as device, pytest.raises(InputError, match="got 0, expected 1 or more"):
        device.run_n(INPUTS, 0, model="adder")


def test_an_image_without_a_feature_says_so() -> None:
    with attach(FakeDevice(has=0)) as device:
        for call in (device.profile, device.trace):
            with pytest.raises(DeviceStatusError, match="the image was built without what was asked for"):
                call(INPUTS, model="adder")
        with pytest.raises(DeviceStatusError, match="the image was built without"):
            device.run_op("add", INPUTS, model="adder")
        outputs = device.run(INPUTS, model="adder")
    assert isinstance(outputs, dict)
    np.testing.assert_array_equal(outputs["masked"], MASKED)


@pytest.mark.parametrize(
    ("project", "message"),
    [
        (ToyProject(build_id="build-2"), "another build of adder (adde01020300), doubler (d0b104050600), got build-1"),
        (ToyProject(board=ToyBoard("other/board")), "another board, got fake/device, expected other/board"),
        (
            ToyProject(models=(ADDER.model_copy(update={"model_hash": "ff" * 32}), DOUBLER)),
            "got adder (adde01020300), doubler (d0b104050600), expected adder (ffffffffffff), doubler (d0b104050600)",
        ),
        (ToyProject(models=(ADDER,)), "doubler (d0b104050600), expected adder (adde01020300). Build the project"),
    ],
)
def test_another_device_is_refused_with_both_names(project: ToyProject, message: str) -> None:
    runner = ToyRunner()
    with pytest.raises(WrongModelError, match=re.escape(message)):
        attach(FakeDevice(), runner, project)
    assert runner.stopped == 1


def test_a_restart_into_another_build_is_refused() -> None:
    fake = FakeDevice()
    with attach(fake) as device:
        fake.c.fake_set_build(b"build-2")
        with pytest.raises(WrongModelError, match="got build-2, expected build-1"):
            device.reset()
        with pytest.raises(WrongModelError, match="got build-2, expected build-1"):
            device.run(INPUTS, model="adder")
        fake.c.fake_set_build(b"build-1")
        device.run(INPUTS, model="adder")
    assert fake.c.fake_runs() == 1


def test_stats_and_reset_and_logs() -> None:
    fake = FakeDevice()
    texts: list[str] = []
    with Session.attach(ToyProject(), fake.transport(), timing=FAST, on_log=texts.append) as device:
        device.run(INPUTS, model="adder")
        assert device.stats().requests == 9  # hello, two models, two writes, run, two reads, stats
        device.reset()
        assert device.stats().requests == 4
        fake.log("hello from the device")
        device.listen(0.005)
    assert texts == ["hello from the device"]
    assert fake.c.fake_resets() == 1


def test_a_closed_session_says_so() -> None:
    with attach(FakeDevice()) as device:
        pass
    with pytest.raises(TransportError, match=r"^session: has ended\. Open a new session; the reason: it was closed$"):
        device.stats()
