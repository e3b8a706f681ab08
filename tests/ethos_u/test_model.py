"""The functional model of the Ethos-U55: its decoder of weights, and its errors in words."""

from __future__ import annotations

import ctypes
from pathlib import Path

import numpy as np
import pytest
from ethosu import mlw_codec

from support import ethos_u

COMMAND, BUS, UNMODELLED, ROOM = 1, 2, 3, 4
#: Numbers of commands and registers, as in the register description of Vela's package.
STOP, CONV, POOL, ELEMENTWISE, DMA = 0x000, 0x002, 0x005, 0x006, 0x010
SRC_REGION, DST_REGION, SRC, DST, LEN = 0x130, 0x131, 0x030, 0x031, 0x032


@pytest.fixture(scope="module")
def npu(tmp_path_factory: pytest.TempPathFactory) -> ctypes.CDLL:
    return ethos_u.library(tmp_path_factory.mktemp("npu"))


def decoded(npu: ctypes.CDLL, stream: bytes) -> list[int] | None:
    out = np.zeros(1 << 16, np.int16)
    count = npu.shim_decode(stream, ctypes.c_size_t(len(stream)), out.ctypes.data_as(ctypes.c_void_p), out.size)
    return None if count < 0 else out[:count].tolist()


def weights(rng: np.random.Generator, kind: int) -> list[int]:
    """Draws weights of the kinds that the encoder treats in its own ways."""
    count = int(rng.integers(1, 2500))
    drawn = [
        lambda: rng.integers(-255, 256, count),
        lambda: np.clip(rng.normal(0, rng.uniform(1, 60), count), -255, 255),
        lambda: rng.integers(-3, 4, count) * (rng.random(count) < rng.uniform(0, 1)),
        lambda: rng.choice(rng.integers(-255, 256, int(rng.integers(1, 33))), count),
        lambda: np.where(rng.random(count) < 0.97, 0, rng.integers(-255, 256, count)),
        lambda: np.concatenate([rng.integers(-most, most + 1, count) for most in (1, 20, 255, 2)]),
    ]
    return [int(value) for value in drawn[kind]()]


@pytest.mark.parametrize("kind", range(6))
def test_the_decoder_reads_what_the_encoder_writes(npu: ctypes.CDLL, kind: int) -> None:
    rng = np.random.default_rng(kind)
    for _ in range(40):
        values = weights(rng, kind)
        stream = bytes(mlw_codec.encode(values))
        assert decoded(npu, stream)[: len(values)] == values == list(mlw_codec.decode(bytearray(stream)))[: len(values)]


def test_a_weight_stream_that_ends_within_a_slice_is_wrong(npu: ctypes.CDLL) -> None:
    stream = bytes(mlw_codec.encode(list(range(-100, 100))))
    assert decoded(npu, stream[: len(stream) // 2]) is None


def plain(code: int, value: int = 0) -> list[int]:
    return [code | value << 16]


def wide(code: int, value: int) -> list[int]:
    return [code | 0x4000 | value >> 32 << 16, value & 0xFFFFFFFF]


def run(
    npu: ctypes.CDLL, words: list[int], scratch: np.ndarray | None = None, macs: int = 128
) -> tuple[int, str | None]:
    memory = np.zeros(64, np.uint8) if scratch is None else scratch
    stream = (ctypes.c_uint32 * len(words))(*words)
    pointer = memory.ctypes.data_as(ctypes.c_void_p)
    status = npu.shim_run(macs, stream, ctypes.c_size_t(len(words)), pointer, ctypes.c_size_t(memory.size))
    said = npu.shim_problem()
    return status, None if said is None else said.decode()


def copy(source: int, target: int, length: int, regions: tuple[int, int] = (0, 1)) -> list[int]:
    words = plain(SRC_REGION, regions[0]) + plain(DST_REGION, regions[1])
    return [*words, *wide(SRC, source), *wide(DST, target), *wide(LEN, length), *plain(DMA), *plain(STOP)]


def test_a_copy(npu: ctypes.CDLL) -> None:
    memory = np.arange(64, dtype=np.uint8)
    assert run(npu, copy(0, 32, 8), memory) == (0, None)
    assert memory[32:40].tolist() == list(range(8))
    assert run(npu, copy(60, 0, 4), memory) == (0, None)


@pytest.mark.parametrize(
    ("words", "status", "problem"),
    [
        ([], COMMAND, "the stream ends without a stop command"),
        (plain(0x021), COMMAND, "an unknown command"),
        (plain(0x1FF), COMMAND, "an unknown register"),
        (wide(0x033, 0), COMMAND, "an unknown register with a payload"),
        ([0x8000], COMMAND, "a command of an unknown form"),
        (plain(CONV), COMMAND, "an operation uses a register that the stream has not set"),
        (plain(ELEMENTWISE, 10), COMMAND, "an unknown operation on elements"),
        (copy(60, 0, 5), BUS, "a copy reaches outside of its region"),
        (copy(0, 1 << 47, 1), BUS, "a copy reaches outside of its region"),
        (copy(0, 0, 1, (1, 0)), BUS, "a write to a read-only region"),
        (copy(0, 0, 1, (5, 1)), BUS, "a region whose base pointer is not set"),
        (copy(0, 0, 1, (0, 9)), COMMAND, "a region that is neither 0 to 7 nor the shared RAM"),
    ],
)
def test_a_wrong_stream_ends_with_words(npu: ctypes.CDLL, words: list[int], status: int, problem: str) -> None:
    assert run(npu, words) == (status, problem)


def test_a_configuration_that_there_is_not(npu: ctypes.CDLL) -> None:
    assert run(npu, plain(STOP), macs=512) == (COMMAND, "a configuration other than 32, 64, 128 or 256 MACs")


def test_only_one_file_of_the_firmware_has_state_of_an_npu() -> None:
    static = [path.name for path in sorted(ethos_u.MODEL.glob("*.c")) if "\nstatic ethos_u_front_t" in path.read_text()]
    assert static == ["emulated.c"]
    assert Path(ethos_u.MODEL / "ethos_u_model.h").is_file()
