"""The state of a model, with the real server: READ, WRITE and RESET_STATE, and a device of a version without them."""

from __future__ import annotations

from dataclasses import replace

import pytest

from aboard.errors import DeviceStatusError, ProtocolError
from aboard.rpc import states
from aboard.rpc.client import Client
from aboard.rpc.messages import BeginRequest, RunRequest, TensorKind, WriteRequest
from aboard.rpc.status import Status
from support.rpc_device import ALL, FakeDevice

KEEPER, SIZES = 1, (4, 2)
INITIAL = [bytes([1, 2, 3, 4]), bytes(2)]


def started(linked: bool = True, frame_bytes: int = 256) -> tuple[FakeDevice, Client]:
    device = FakeDevice()
    assert device.c.fake_start_states(ALL, frame_bytes, linked) == 0
    return device, Client(device.transport())


def run(client: Client, x: bytes, count: int = 1) -> bytes:
    client.write_input(KEEPER, 0, x)
    client.run(RunRequest(KEEPER, count=count))
    return client.read_tensor(KEEPER, TensorKind.OUTPUT, 0, 4)


def test_the_model_tells_how_many_states_it_has() -> None:
    _, client = started()
    assert [client.model(number).states for number in (0, KEEPER)] == [0, 2]


def test_a_saved_state_continues_the_sequence() -> None:
    _, client = started()
    assert states.read(client, KEEPER, SIZES) == INITIAL
    run(client, bytes([9, 9, 9, 9]))
    saved = states.read(client, KEEPER, SIZES)
    later = [run(client, bytes([i, 2, 3, 250])) for i in range(5)]
    states.write(client, KEEPER, saved)
    assert [run(client, bytes([i, 2, 3, 250])) for i in range(5)] == later
    assert states.read(client, KEEPER, SIZES)[1] == bytes([6, 0])
    states.reset(client, KEEPER)
    assert states.read(client, KEEPER, SIZES) == INITIAL


def test_a_series_goes_through_as_many_steps() -> None:
    _, client = started()
    assert run(client, bytes([1, 1, 1, 100]), count=3) == bytes([4, 5, 6, 304 - 256])
    assert states.read(client, KEEPER, SIZES)[1] == bytes([3, 0])


def test_a_new_session_keeps_the_state_and_a_restart_does_not() -> None:
    _, client = started()
    run(client, bytes(4))
    client.connect()
    assert states.read(client, KEEPER, SIZES)[1] == bytes([1, 0])
    client.reset()
    assert states.read(client, KEEPER, SIZES) == INITIAL


def test_state_is_not_reached_while_rows_change_it() -> None:
    device = FakeDevice()
    assert device.c.fake_start_rows(ALL, 256, 1) == 0
    client = Client(device.transport())
    assert states.read(client, 1, [4]) == [bytes([7] * 4)]
    client.call(BeginRequest(1))
    for call in (lambda: states.read(client, 1, [4]), lambda: states.write(client, 1, [bytes(4)])):
        with pytest.raises(DeviceStatusError) as caught:
            call()
        assert caught.value.status == Status.STATE
    states.reset(client, 1)
    with pytest.raises(DeviceStatusError) as caught:
        client.call(WriteRequest(1, 0, 0, bytes(6)))
    assert caught.value.status == Status.STATE
    states.write(client, 1, [bytes(4)])
    assert states.read(client, 1, [4]) == [bytes(4)]


def test_an_image_without_the_code_refuses() -> None:
    _, client = started(linked=False)
    run(client, bytes(4))
    with pytest.raises(DeviceStatusError) as caught:
        states.reset(client, KEEPER)
    assert caught.value.status == Status.UNSUPPORTED


def test_a_device_of_an_older_version_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    device, client = started()
    old = replace(client.hello, minor=2)
    monkeypatch.setattr(Client, "hello", property(lambda _: old))
    served = device.c.fake_runs()
    with pytest.raises(ProtocolError, match=r"does not give state to a host, got version 1\.2 .* expected 1\.3 or"):
        states.reset(client, KEEPER)
    with pytest.raises(ProtocolError, match="Build the device's image again"):
        states.read(client, KEEPER, SIZES)
    with pytest.raises(ProtocolError, match=r"1\.3"):
        states.write(client, KEEPER, INITIAL)
    assert device.c.fake_runs() == served
