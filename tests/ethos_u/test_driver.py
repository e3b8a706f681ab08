"""The driver on the registers of the functional model: what it returns, and that a failure does not outlive a reset."""

from __future__ import annotations

import ctypes
from dataclasses import dataclass

import numpy as np
import pytest

from support import ethos_u, npu_models, oracle
from support.ethos_u import Buffer

OK, NULL, RANGE, UNSUPPORTED, TIMEOUT, DEVICE = 0, 3, 5, 6, 11, 12
BUS, PARSE, END = 1 << 2, 1 << 4, 1 << 5
NEVER = 0xFFFFFFFF
ROOM = 4096


class Place(ctypes.Structure):
    _fields_ = (
        ("registers", ctypes.c_size_t),
        ("non_secure", ctypes.c_bool),
        ("by_interrupt", ctypes.c_bool),
        ("irq", ctypes.c_uint32),
    )


class Job(ctypes.Structure):
    _fields_ = (
        ("commands", ctypes.c_void_p),
        ("words", ctypes.c_uint32),
        ("config", ctypes.c_uint32),
        ("id", ctypes.c_uint32),
        ("buffers", ctypes.POINTER(Buffer)),
        ("count", ctypes.c_uint32),
    )


class Report(ctypes.Structure):
    _fields_ = tuple((name, ctypes.c_uint32) for name in ("id", "config", "status", "read"))


@dataclass
class Layer:
    """A fully connected layer as a job, and its result by the reference."""

    stream: np.ndarray
    x: np.ndarray
    y: np.ndarray
    expected: np.ndarray
    job: Job
    kept: tuple[object, ...]


@pytest.fixture(scope="module")
def npu(tmp_path_factory: pytest.TempPathFactory) -> ctypes.CDLL:
    return ethos_u.library(tmp_path_factory.mktemp("npu"))


@pytest.fixture
def layer() -> Layer:
    model = npu_models.product()
    made, placed = ethos_u.compiled(model, ethos_u.device(128))
    x = np.random.default_rng(1).integers(-128, 128, (1, 37)).astype(np.int8)
    (expected,) = oracle.tflm(model, x)
    y, scratch = np.zeros(expected.size, np.int8), np.zeros(max(made.scratch, 1), np.uint8)
    stream, constants = placed.stream.astype(np.uint32), np.array(made.constants)
    given = [(0, constants, False), (made.scratch_region, scratch, True)]
    given += [(placed.inputs[0], x, False), (placed.outputs[0], y, True)]
    buffers = (Buffer * len(given))(*(Buffer(n, a.ctypes.data, a.nbytes, w) for n, a, w in given))
    job = Job(stream.ctypes.data, stream.size, made.config, made.id, buffers, len(given))
    return Layer(stream, x, y, expected, job, (constants, scratch, buffers))


def call(npu: ctypes.CDLL, job: Job, place: Place | None = None) -> tuple[int, Report]:
    report = Report()
    found = npu.ethos_u_run(
        ctypes.byref(place or Place(0x1000, False, False, 0)), ctypes.byref(job), ctypes.byref(report)
    )
    return found, report


def power_on(npu: ctypes.CDLL, macs: int = 128, delay: int = 0, polls: int = 50) -> None:
    npu.shim_power_on(macs, ctypes.c_size_t(ROOM), ctypes.c_uint32(delay), ctypes.c_uint32(polls))


def test_two_jobs_after_one_another(npu: ctypes.CDLL, layer: Layer) -> None:
    power_on(npu, delay=3)
    for _ in range(2):
        layer.y[:] = 0
        assert call(npu, layer.job)[0] == OK
        np.testing.assert_array_equal(layer.y, layer.expected.ravel())


def test_an_error_in_the_stream_does_not_outlive_the_reset(npu: ctypes.CDLL, layer: Layer) -> None:
    power_on(npu)
    right = layer.stream[0]
    layer.stream[0] = 0x021
    status, report = call(npu, layer.job)
    assert (status, report.status & (BUS | PARSE | END), report.read) == (DEVICE, PARSE, 0)
    assert npu.shim_problem() == b"an unknown command"
    layer.stream[0] = right
    assert call(npu, layer.job)[0] == OK
    np.testing.assert_array_equal(layer.y, layer.expected.ravel())


def test_a_bus_error(npu: ctypes.CDLL, layer: Layer) -> None:
    power_on(npu)
    npu.shim_shorten_windows(1)
    status, report = call(npu, layer.job)
    assert (status, report.status & (BUS | PARSE | END)) == (DEVICE, BUS)
    assert npu.shim_problem() == b"a feature map reaches outside of its region"


def test_a_job_that_does_not_end(npu: ctypes.CDLL, layer: Layer) -> None:
    power_on(npu, delay=NEVER)
    assert call(npu, layer.job)[0] == TIMEOUT
    assert layer.y.any() == np.False_


def test_a_job_is_done_within_the_last_look(npu: ctypes.CDLL, layer: Layer) -> None:
    power_on(npu, delay=50, polls=50)
    assert call(npu, layer.job)[0] == OK
    power_on(npu, delay=51, polls=50)
    assert call(npu, layer.job)[0] == TIMEOUT


def test_an_npu_of_another_size(npu: ctypes.CDLL, layer: Layer) -> None:
    power_on(npu, macs=256)
    status, report = call(npu, layer.job)
    assert (status, report.config & 15, layer.job.config & 15) == (UNSUPPORTED, 8, 7)
    assert layer.y.any() == np.False_


def test_no_npu_at_the_address(npu: ctypes.CDLL, layer: Layer) -> None:
    power_on(npu)
    npu.shim_remove()
    assert call(npu, layer.job)[0] == DEVICE


def test_a_layer_that_does_not_fit_the_room_for_weights(npu: ctypes.CDLL, layer: Layer) -> None:
    npu.shim_power_on(128, ctypes.c_size_t(8 * 37 - 1), ctypes.c_uint32(0), ctypes.c_uint32(50))
    status, report = call(npu, layer.job)
    assert (status, report.status & PARSE) == (DEVICE, PARSE)
    assert npu.shim_problem() == b"the weights of eight output channels do not fit the room for weights"


def test_several_passes_over_the_weights_give_the_same(npu: ctypes.CDLL, layer: Layer) -> None:
    npu.shim_power_on(128, ctypes.c_size_t(8 * 37), ctypes.c_uint32(0), ctypes.c_uint32(50))
    assert call(npu, layer.job)[0] == OK
    np.testing.assert_array_equal(layer.y, layer.expected.ravel())


def test_a_job_that_is_wrong(npu: ctypes.CDLL, layer: Layer) -> None:
    power_on(npu)
    layer.job.buffers[0].pointer = 8
    assert call(npu, layer.job)[0] == RANGE
    layer.job.commands = None
    assert call(npu, layer.job)[0] == NULL
