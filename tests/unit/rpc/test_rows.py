"""Inputs that are taken row by row, with the real server: BEGIN, WRITE from the first byte to the last, RUN."""

from __future__ import annotations

import numpy as np
import pytest

from aboard.errors import DeviceStatusError
from aboard.rpc.client import Client
from aboard.rpc.messages import BeginRequest, ReadRequest, Request, RunFlag, RunRequest, TensorKind, WriteRequest
from aboard.rpc.replies import RunReply, TraceEvent
from aboard.rpc.status import Status
from support.rpc_device import ALL, INPUT_COPY, PROFILE, TRACE, YIELD, FakeDevice

ROWS, ROW = 4, 6
X = np.random.default_rng(0).integers(0, 250, (ROWS, ROW)).astype(np.uint8)
SUMMER = 1


def started(has: int = ALL, frame_bytes: int = 256) -> tuple[FakeDevice, Client]:
    device = FakeDevice()
    assert device.c.fake_start_rows(has, frame_bytes, 1) == 0
    return device, Client(device.transport())


def run(client: Client, x: np.ndarray = X, flags: int = 0) -> RunReply:
    client.push_rows(BeginRequest(SUMMER, flags), x.tobytes())
    return client.run(RunRequest(SUMMER, flags))


def result(client: Client) -> bytes:
    return client.read_tensor(SUMMER, TensorKind.OUTPUT, 0, ROW)


def expected(x: np.ndarray = X) -> bytes:
    return x.sum(axis=0).astype(np.uint8).tobytes()


def refused(client: Client, request: Request) -> int:
    with pytest.raises(DeviceStatusError) as caught:
        client.call(request)
    return caught.value.status


def test_the_model_says_that_it_takes_rows() -> None:
    _, client = started()
    adder, summer = client.model(0), client.model(SUMMER)
    assert (adder.input_in_rows, adder.inputs_restored) == (False, True)
    assert (summer.input_in_rows, summer.inputs_kept, summer.inputs_restored) == (True, False, False)


@pytest.mark.parametrize("piece", range(1, ROWS * ROW + 1))
def test_rows_may_come_in_pieces_of_any_size(piece: int) -> None:
    _, client = started()
    data = X.tobytes()
    client.call(BeginRequest(SUMMER))
    for offset in range(0, len(data), piece):
        client.call(WriteRequest(SUMMER, 0, offset, data[offset : offset + piece]))
    client.run(RunRequest(SUMMER))
    assert result(client) == expected()


def test_a_run_is_timed_with_its_rows() -> None:
    device, client = started()
    reply = run(client)
    # The clock moves by ten ticks whenever it is asked: once for each row and once for the rest.
    assert (reply.runs, reply.ticks_min, reply.ticks_max, reply.ticks_total) == (1, 50, 50, 50)
    assert reply.stack_bytes == 123
    assert device.c.fake_runs() == 1


def test_every_run_has_to_begin() -> None:
    _, client = started()
    for x in (X, X[::-1] + 1):
        run(client, x)
        assert result(client) == expected(x)
        assert refused(client, RunRequest(SUMMER)) == Status.STATE
        assert refused(client, WriteRequest(SUMMER, 0, 0, bytes(1))) == Status.STATE


def test_a_run_may_begin_anew_at_any_time() -> None:
    _, client = started()
    client.call(BeginRequest(SUMMER))
    client.call(WriteRequest(SUMMER, 0, 0, bytes(range(9))))
    run(client)
    assert result(client) == expected()


def test_rows_that_are_missing_are_told() -> None:
    _, client = started()
    client.call(BeginRequest(SUMMER))
    client.call(WriteRequest(SUMMER, 0, 0, X.tobytes()[:-1]))
    assert refused(client, RunRequest(SUMMER)) == Status.STATE


@pytest.mark.parametrize(("offset", "count"), [(1, 1), (7, 1), (5, 1), (6, 19), (0, 6)])
def test_bytes_that_do_not_follow_are_refused(offset: int, count: int) -> None:
    _, client = started()
    client.call(BeginRequest(SUMMER))
    client.call(WriteRequest(SUMMER, 0, 0, X.tobytes()[:ROW]))
    assert refused(client, WriteRequest(SUMMER, 0, offset, bytes(count))) == Status.RANGE
    client.call(WriteRequest(SUMMER, 0, ROW, X.tobytes()[ROW:]))
    client.run(RunRequest(SUMMER))
    assert result(client) == expected()


@pytest.mark.parametrize(
    ("request_", "status"),
    [
        (BeginRequest(2), Status.INDEX),
        (BeginRequest(0), Status.UNSUPPORTED),
        (BeginRequest(SUMMER, flags=4), Status.RANGE),
        (RunRequest(SUMMER), Status.STATE),
        (RunRequest(SUMMER, count=2), Status.UNSUPPORTED),
        (ReadRequest(SUMMER, TensorKind.INPUT, 0, 0, 1), Status.UNSUPPORTED),
        (ReadRequest(SUMMER, TensorKind.OUTPUT, 0, 0, 1), Status.STATE),
        (WriteRequest(SUMMER, 1, 0, b""), Status.INDEX),
    ],
)
def test_what_makes_no_sense_is_refused(request_: Request, status: Status) -> None:
    _, client = started()
    assert refused(client, request_) == status


@pytest.mark.parametrize("flag", [RunFlag.PROFILE, RunFlag.TRACE])
def test_an_image_without_profile_or_taps_refuses_them(flag: RunFlag) -> None:
    _, client = started(has=INPUT_COPY)
    assert refused(client, BeginRequest(SUMMER, flag)) == Status.UNSUPPORTED


def test_flags_must_be_those_of_the_beginning() -> None:
    _, client = started()
    client.push_rows(BeginRequest(SUMMER), X.tobytes())
    assert refused(client, RunRequest(SUMMER, RunFlag.PROFILE)) == Status.STATE


def test_another_model_takes_the_arena() -> None:
    _, client = started(has=ALL & ~INPUT_COPY)
    client.push_rows(BeginRequest(SUMMER), X.tobytes())
    client.write_input(0, 0, bytes(24))
    assert refused(client, RunRequest(SUMMER)) == Status.STATE


def test_a_row_that_fails_ends_the_run() -> None:
    _, client = started()
    bad = X.copy()
    bad[2, 0] = 255
    with pytest.raises(DeviceStatusError, match="refuses WRITE"):
        client.push_rows(BeginRequest(SUMMER), bad.tobytes())
    assert refused(client, RunRequest(SUMMER)) == Status.STATE
    run(client)
    assert result(client) == expected()


def test_the_profile_counts_what_rows_took() -> None:
    _, client = started(has=PROFILE)
    run(client, flags=RunFlag.PROFILE)
    # Two looks at the clock, ten ticks apart, for each row.
    assert client.node_ticks(1) == [10 * ROWS]
    run(client, flags=RunFlag.PROFILE)
    assert client.node_ticks(1) == [10 * ROWS]


def test_taps_come_while_rows_are_brought() -> None:
    _, client = started(has=TRACE)
    traced: list[TraceEvent] = []
    begin = BeginRequest(SUMMER, RunFlag.TRACE, 0, 1)
    client.push_rows(begin, X.tobytes(), row_bytes=ROW, on_trace=traced.append)
    reply = client.run(RunRequest(SUMMER, RunFlag.TRACE, 1, 0, 1))
    assert reply.trace_events == ROWS
    assert [(event.row, event.data) for event in traced] == [(r, expected(X[: r + 1])) for r in range(ROWS)]


def test_with_a_trace_no_piece_goes_beyond_a_row() -> None:
    _, client = started(has=TRACE)
    client.call(BeginRequest(SUMMER, RunFlag.TRACE, 0, 1))
    assert refused(client, WriteRequest(SUMMER, 0, 0, X.tobytes()[: ROW + 1])) == Status.RANGE


def test_the_device_yields_while_rows_are_worked_on() -> None:
    device, client = started(has=YIELD)
    run(client)
    assert device.c.fake_yields() == ROWS


def test_without_the_code_for_rows_a_server_refuses_such_a_model() -> None:
    assert FakeDevice().c.fake_start_rows(ALL, 256, 0) == 3  # ABOARD_ERROR_NULL


def test_an_image_without_the_code_for_rows_refuses_to_begin() -> None:
    assert refused(Client(FakeDevice().transport()), BeginRequest(0)) == Status.UNSUPPORTED
