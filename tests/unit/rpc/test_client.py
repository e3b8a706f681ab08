from __future__ import annotations

import numpy as np
import pytest

from aboard.errors import DeviceError, DeviceStatusError, ProtocolError
from aboard.rpc import framing, messages
from aboard.rpc.client import Client
from aboard.rpc.messages import Feature, Header, RunFlag, TensorKind, Type
from aboard.rpc.replies import TraceEvent
from aboard.rpc.status import Status
from aboard.transports.loopback import LoopbackTransport
from support.rpc_device import ALL, INPUT_COPY, PROFILE, TRACE, WORKSPACE, WORKSPACE_IN_ARENA, YIELD, FakeDevice
from support.toy_client import FAST, A, B, add, client_of, masked, run_adder


def test_hello_names_the_device() -> None:
    hello = client_of(FakeDevice(frame_bytes=300, burst=16)).connect()
    assert (hello.major, hello.minor, hello.models) == (1, 3, 2)
    assert (hello.board, hello.build) == ("fake/device", "build-1")
    assert (hello.tick_hz, hello.max_frame, hello.burst) == (25_000_000, 300, 16)
    assert (hello.arena_bytes, hello.input_copy_bytes, hello.workspace_bytes, hello.fault) == (160, 48, 96, 0)
    assert hello.features == Feature.PROFILE | Feature.TRACE | Feature.RUN_OP | Feature.INPUT_COPY | Feature.CREDIT


def test_hello_of_a_device_with_nothing() -> None:
    hello = client_of(FakeDevice(has=0)).connect()
    assert hello.features == Feature(0)
    assert (hello.input_copy_bytes, hello.workspace_bytes) == (0, 0)


def test_models_are_described() -> None:
    client = client_of(FakeDevice())
    adder, doubler = client.model(0), client.model(1)
    assert (adder.name, adder.arena_bytes, adder.op_bytes, adder.nodes) == ("adder", 128, 96, 3)
    assert (adder.inputs, adder.outputs, adder.inputs_kept, adder.inputs_restored) == (2, 2, False, True)
    assert adder.hash == bytes([0xAD, 0xDE, 1, 2, 3]) + bytes(27)
    assert (doubler.name, doubler.inputs_kept, doubler.inputs_restored) == ("doubler", True, False)


@pytest.mark.parametrize("frame_bytes", [128, 131, 256])
def test_a_run_computes(frame_bytes: int) -> None:
    client = client_of(FakeDevice(frame_bytes=frame_bytes))
    assert run_adder(client, A, B) == add(A, B)
    assert client.read_tensor(0, TensorKind.OUTPUT, 1, 24) == masked(add(A, B))
    values = np.linspace(-2, 2, 5, dtype=np.float32)
    client.write_input(1, 0, values.tobytes())
    client.run(messages.RunRequest(1))
    np.testing.assert_array_equal(
        np.frombuffer(client.read_tensor(1, TensorKind.OUTPUT, 0, 20), np.float32), 2 * values
    )


def test_inputs_are_restored_for_every_run() -> None:
    device = FakeDevice()
    client = client_of(device)
    client.write_input(0, 0, A)
    client.write_input(0, 1, B)
    for count in (1, 5):
        reply = client.run(messages.RunRequest(0, count=count))
        assert (reply.runs, reply.stack_bytes, reply.trace_events) == (count, 123, 0)
        assert (reply.ticks_min, reply.ticks_max, reply.ticks_total) == (10, 10, 10 * count)
        assert client.read_tensor(0, TensorKind.OUTPUT, 0, 24) == add(A, B)
    assert client.read_tensor(0, TensorKind.INPUT, 1, 24) == B
    assert device.c.fake_runs() == 6


def test_without_a_copy_an_input_is_used_once() -> None:
    device = FakeDevice(has=ALL & ~INPUT_COPY)
    client = client_of(device)
    assert run_adder(client, A, B) == add(A, B)
    with pytest.raises(
        DeviceStatusError, match=r"refuses RUN, got status 8 .*inputs not written.*expected 0\. Write all inputs"
    ) as caught:
        client.run(messages.RunRequest(0))
    assert caught.value.status == Status.STATE
    client.write_input(0, 0, A)
    with pytest.raises(DeviceStatusError, match="refuses RUN"):
        client.run(messages.RunRequest(0))
    with pytest.raises(DeviceStatusError, match="status 6"):
        client.run(messages.RunRequest(0, count=2))
    assert device.c.fake_runs() == 1


def test_outputs_can_be_read_only_while_they_are_there() -> None:
    client = client_of(FakeDevice())
    with pytest.raises(DeviceStatusError, match="refuses READ, got status 8"):
        client.read_tensor(0, TensorKind.OUTPUT, 0, 24)
    run_adder(client, A, B)
    client.write_input(1, 0, bytes(20))  # into the arena that both share
    with pytest.raises(DeviceStatusError, match="status 8"):
        client.read_tensor(0, TensorKind.OUTPUT, 0, 24)
    client.run(messages.RunRequest(1))
    with pytest.raises(DeviceStatusError, match="status 8"):
        client.read_tensor(0, TensorKind.OUTPUT, 0, 24)
    assert client.read_tensor(1, TensorKind.OUTPUT, 0, 20) == bytes(20)


@pytest.mark.parametrize(
    ("request_", "status"),
    [
        (messages.ModelRequest(2), Status.INDEX),
        (messages.WriteRequest(2, 0, 0, b""), Status.INDEX),
        (messages.WriteRequest(0, 2, 0, b""), Status.INDEX),
        (messages.WriteRequest(0, 0, 0, b"", TensorKind.OUTPUT), Status.INDEX),
        (messages.WriteRequest(0, 0, 1, bytes(24)), Status.RANGE),
        (messages.WriteRequest(0, 0, 0xFFFFFFFF, bytes(2)), Status.RANGE),
        (messages.ReadRequest(0, TensorKind.INPUT, 0, 0, 25), Status.RANGE),
        (messages.ReadRequest(0, TensorKind.INPUT, 0, 0xFFFFFFFF, 2), Status.RANGE),
        (messages.ReadRequest(0, TensorKind.INPUT, 0, 2, 0xFFFFFFFF), Status.RANGE),
        (messages.ReadRequest(0, TensorKind.OUTPUT, 2, 0, 0), Status.INDEX),
        (messages.RunRequest(2), Status.INDEX),
        (messages.RunRequest(0, count=0), Status.RANGE),
        (messages.RunRequest(0, flags=4), Status.RANGE),
        (messages.RunRequest(0, flags=RunFlag.TRACE, count=2), Status.RANGE),
        (messages.ProfileRequest(2, 2), Status.RANGE),
        (messages.ProfileRequest(0xFFFF, 0xFFFF), Status.RANGE),
        (messages.OpWriteRequest(96, b"x"), Status.RANGE),
        (messages.OpWriteRequest(0xFFFFFFFF, b"x"), Status.RANGE),
        (messages.OpReadRequest(1, 96), Status.RANGE),
        (messages.OpRunRequest(0, 3), Status.INDEX),
        (messages.OpRunRequest(1, 0), Status.UNSUPPORTED),
        (messages.OpRunRequest(0, 0, count=0), Status.RANGE),
    ],
)
def test_what_is_outside_is_refused(request_: messages.Request, status: Status) -> None:
    device = FakeDevice()
    client = client_of(device)
    with pytest.raises(DeviceStatusError) as caught:
        client.call(request_)
    assert caught.value.status == status
    assert device.c.fake_runs() == 0
    assert run_adder(client, A, B) == add(A, B)


@pytest.mark.parametrize(
    "request_",
    [
        messages.RunRequest(0, flags=RunFlag.PROFILE),
        messages.RunRequest(0, flags=RunFlag.TRACE),
        messages.ProfileRequest(0, 1),
        messages.OpRunRequest(0, 0),
        messages.OpWriteRequest(0, b"x"),
        messages.OpReadRequest(0, 1),
    ],
)
def test_what_the_image_lacks_is_refused(request_: messages.Request) -> None:
    client = client_of(FakeDevice(has=INPUT_COPY))
    client.write_input(0, 0, A)
    client.write_input(0, 1, B)
    with pytest.raises(DeviceStatusError, match=r"status 6 .the image was built without"):
        client.call(request_)


@pytest.mark.parametrize("flags", [RunFlag(0), RunFlag.PROFILE])
def test_the_application_gets_a_turn_before_every_step(flags: RunFlag) -> None:
    device = FakeDevice(has=ALL | YIELD)
    client = client_of(device)
    client.write_input(0, 0, A)
    client.write_input(0, 1, B)
    client.run(messages.RunRequest(0, flags=flags, count=4))
    # The adder takes its rows through all its nodes one by one.
    assert device.c.fake_yields() == 4 * 2 * client.model(0).nodes
    assert client.read_tensor(0, TensorKind.OUTPUT, 0, 24) == add(A, B)


def test_profile_adds_up_over_the_runs() -> None:
    client = client_of(FakeDevice(has=ALL))
    client.write_input(0, 0, A)
    client.write_input(0, 1, B)
    for count in (1, 3):
        client.run(messages.RunRequest(0, flags=RunFlag.PROFILE, count=count))
        assert client.node_ticks(3) == [20 * count] * 3  # two rows, ten ticks each


def test_taps_stream_the_rows_of_the_nodes_asked_for() -> None:
    device = FakeDevice(has=TRACE | INPUT_COPY)
    client = client_of(device)
    client.write_input(0, 0, A)
    client.write_input(0, 1, B)
    traced: list[TraceEvent] = []
    reply = client.run(messages.RunRequest(0, flags=RunFlag.TRACE, first=0, last=2), on_trace=traced.append)
    assert reply.trace_events == len(traced) == 4
    assert [(event.sequence, event.node, event.row, event.offset, event.row_bytes) for event in traced] == [
        (0, 0, 0, 0, 12),
        (1, 1, 0, 0, 9),
        (2, 0, 1, 0, 12),
        (3, 1, 1, 0, 9),
    ]
    total = add(A, B)
    assert traced[0].data + traced[2].data == total
    negated = (-np.frombuffer(total, np.int8).reshape(6, 4)[:, [0, 1, 3]]).astype(np.int8).tobytes()
    assert traced[1].data + traced[3].data == negated
    assert client.lost_events == 0


def test_a_node_runs_alone() -> None:
    device = FakeDevice(has=WORKSPACE)
    client = client_of(device)
    client.write_workspace(0, A)
    client.write_workspace(32, B)
    reply = client.run(messages.OpRunRequest(0, 0, count=3))
    assert (reply.runs, reply.ticks_total) == (3, 30)
    assert client.read_workspace(64, 24) == add(A, B)
    assert (device.c.fake_runs(), device.c.fake_op_runs()) == (0, 3)


def test_a_workspace_in_the_arena_ends_what_the_arena_held() -> None:
    client = client_of(FakeDevice(has=WORKSPACE_IN_ARENA | INPUT_COPY))
    run_adder(client, A, B)
    client.write_workspace(0, b"x")
    with pytest.raises(DeviceStatusError, match="refuses READ, got status 8"):
        client.read_tensor(0, TensorKind.OUTPUT, 0, 24)
    assert run_adder(client, A, B) == add(A, B)


def test_logs_arrive_whole_and_in_order() -> None:
    device = FakeDevice(frame_bytes=128)
    texts: list[str] = []
    client = Client(device.transport(), timing=FAST, on_log=texts.append)
    client.connect()
    device.log("short")
    device.log("x" * 300)
    client.stats()
    assert texts[0] == "short"
    assert "".join(texts[1:]) == "x" * 300
    device.log("later")
    client.listen(0.01)
    assert texts[-1] == "later"
    assert client.lost_events == 0


def test_a_lost_log_is_counted() -> None:
    device = FakeDevice()
    client = client_of(device)
    client.connect()
    device.log("seen")
    client.stats()
    device.log("lost")
    device.step(b"")
    device.log("seen again")
    client.stats()
    assert client.lost_events == 1


def test_stats_count_what_the_device_saw() -> None:
    device = FakeDevice(frame_bytes=128)
    client = client_of(device)
    client.connect()
    device.step(b"\x00garbage\x00")
    device.step(b"\x00" + b"\x01" * 300 + b"\x00")
    device.step(framing.encode(Header(Type.LOG, 0, 0, 0).pack()))
    stats = client.stats()
    assert (stats.damaged, stats.too_long, stats.strange) == (1, 1, 1)
    assert (stats.frames, stats.requests, stats.duplicates) == (3, 2, 0)


def test_reset_starts_over() -> None:
    device = FakeDevice()
    client = client_of(device)
    run_adder(client, A, B)
    client.reset()
    assert device.c.fake_resets() == 1
    with pytest.raises(DeviceStatusError, match="status 8"):
        client.run(messages.RunRequest(0))
    assert run_adder(client, A, B) == add(A, B)


def test_another_version_of_the_protocol_is_named() -> None:
    def other(data: bytes) -> bytes:
        answers = b""
        for message in framing.Decoder(1000).feed(data):
            header, _ = messages.split(message)
            reply = Header(header.type | messages.REPLY, Status.UNSUPPORTED, header.id, header.session)
            answers += framing.encode(reply.pack() + bytes([7, 3]))
        return answers

    with pytest.raises(ProtocolError, match=r"another version of the protocol, got 7\.3, expected 1\.x"):
        Client(LoopbackTransport(other), timing=FAST).connect()


def test_the_device_refuses_another_version() -> None:
    device = FakeDevice()
    payload = messages.HelloRequest(1000, major=2).pack()
    decoder = framing.Decoder(1000)
    replies = decoder.feed(device.step(framing.encode(Header(Type.HELLO, 0, 0, 5).pack() + payload)))
    header, version = messages.split(replies[-1])
    assert (header.code, version) == (Status.UNSUPPORTED, bytes([1, 3]))


def test_check_refuses_a_device() -> None:
    def refuse(hello: object) -> None:
        raise DeviceError(f"not this one: {getattr(hello, 'build', '')}")

    with pytest.raises(DeviceError, match="not this one: other"):
        Client(FakeDevice(build="other").transport(), timing=FAST, check=refuse).connect()


def test_the_id_wraps() -> None:
    device = FakeDevice()
    client = client_of(device)
    client.connect()
    # The device takes the jump in steps: half the range is ahead, half behind.
    client._id = 0x7000
    client.stats()
    client._id = 0xE000
    client.stats()
    client._id = 0xFFFE
    assert [client.stats().requests for _ in range(4)] == [4, 5, 6, 7]
    assert run_adder(client, A, B) == add(A, B)


def test_hello_of_a_device_that_can_only_profile() -> None:
    assert client_of(FakeDevice(has=PROFILE)).connect().features == Feature.PROFILE
