"""The command list of v2: what it does, how long it takes, and everything that can be wrong with it."""

from __future__ import annotations

import re

import pytest

from npu_demo.commands import CONV, END, LOAD, STORE, SYNC, UsageError, decode
from npu_machine import PARAMETERS, WEIGHTS, Machine, X, Y

SIZE = 256


def load(place: int, size: int = 16, *, base: int = 0, offset: int = 0, runs: int = 1, stride: int = 0) -> list[int]:
    return [LOAD | base << 8, offset, place, size, runs, stride]


def store(place: int, size: int = 16, **where: int) -> list[int]:
    return [STORE | 1 << 8, *load(place, size, **where)[1:]]


def conv(
    places: tuple[int, int, int, int] = (0, 16, 32, 48),
    rows: tuple[int, int] = (1, 1),
    channels: tuple[int, int] = (1, 1),
    out: tuple[int, int] = (1, 1),
    window: tuple[int, int, int, int] = (1, 1, 1, 1),
    padding: tuple[int, int, int, int] = (0, 0, 0, 0),
    edges: tuple[int, int, int, int] = (0, 0, -128, 127),
    form: int = 0,
) -> list[int]:
    def packed(values: tuple[int, ...]) -> int:
        return int.from_bytes(bytes(value & 0xFF for value in values), "little")

    images = [low | high << 16 for low, high in (rows, channels, out)]
    return [CONV | form << 8, *places, *images, packed(window), packed(padding), packed(edges)]


OPERANDS = [*load(0), *load(16, base=2), *load(32, base=3), SYNC]


def test_runs_are_gathered_and_scattered() -> None:
    machine = Machine(2, SIZE)
    machine.activate()
    machine.write(X, bytes(range(64)))
    machine.start_list(
        [*load(0, 4, offset=1, runs=3, stride=10), *store(0, 4, offset=2, runs=3, stride=5), END],
    )
    machine.finish()
    assert machine.read(Y, 16) == bytes([0, 0, 1, 2, 3, 4, 0, 11, 12, 13, 14, 0, 21, 22, 23, 24])


def test_time_of_a_list() -> None:
    assert decode([*load(0, 64), END], SIZE).cycles == 4 + 16
    assert decode([*load(0, 2, runs=8, stride=2), END], SIZE).cycles == 8 * 4 + 4
    assert decode([*OPERANDS, *conv(), END], SIZE).cycles == 3 * (4 + 4) + 32 + 1
    # Together they take as long as the longer of the two.
    together = [*OPERANDS, *conv(), *load(64, 128), END]
    assert decode(together, SIZE).cycles == 24 + max(33, 4 + 32)


def test_a_window_with_padding() -> None:
    machine = Machine(2, SIZE)
    machine.activate()
    machine.write(X, bytes([1, 2, 3, 4]))
    machine.write(WEIGHTS, bytes([1] * 9))
    machine.write(PARAMETERS, b"".join(value.to_bytes(4, "little") for value in (100, 1 << 30, 1)))
    same = conv(rows=(2, 2), out=(2, 2), window=(3, 3, 1, 1), padding=(1, 1, 1, 1), edges=(0, -1, 0, 109), form=1)
    machine.start_list([*OPERANDS, *same, SYNC, *store(48, 4), END])
    machine.finish()
    # Each window sees all four pixels: 10 and the bias, less 1.
    assert machine.read(Y, 4) == bytes([109] * 4)


@pytest.mark.parametrize(
    ("words", "message"),
    [
        ([9, END], "word 0: command, got 9, expected one of 0 to 4"),
        ([SYNC], "word 1: list, got no END, expected one as the last command"),
        ([END, SYNC], "word 1: list, got 1 words behind END, expected none"),
        ([SYNC, LOAD, 0], "word 1: LOAD is cut off, got 2 words, expected 6"),
        ([*load(0, base=4), END], "word 0: base, got 4, expected one of 0 to 3"),
        ([*load(0, 0), END], "word 0: size, got 1 runs of 0 bytes, expected at least 1 of 1"),
        ([*load(0, 8, runs=2, stride=4), END], "word 0: stride, got 4 for runs of 8 bytes, expected at least as much"),
        ([*load(8), END], "word 0: scratchpad offset, got 8, expected a multiple of 16"),
        ([*load(240, 17), END], "word 0: leaves the scratchpad, got bytes 240 to 257, expected at most 256"),
        ([*load(0, 8), *store(0, 9), END], "word 6: reads what nobody wrote, got byte 8 of the scratchpad, expected"),
        ([*load(0), SYNC, *conv(), END], "word 7: reads what nobody wrote, got byte 16 of the scratchpad"),
        ([*OPERANDS[:-1], *conv(), END], "word 18: is at work on bytes 0 to 1 of the scratchpad together with the "),
        ([*OPERANDS, *conv(), *load(0), END], "word 30: is at work on bytes 0 to 1 of the scratchpad together with"),
        ([*OPERANDS, *conv(), *store(48, 1), END], "word 30: is at work on bytes 48 to 49 of the scratchpad together"),
        ([*OPERANDS, *conv(form=2), END], "word 19: form, got 2, expected 0 (convolution) or 1 (depthwise)"),
        (
            [*OPERANDS, *conv(rows=(0, 1)), END],
            "word 19: sizes and strides, got [0, 1, 1, 1, 1, 1] and [1, 1], expected 1 or more",
        ),
        ([*OPERANDS, *conv(window=(2, 2, 1, 1)), END], "word 19: window, got 2x2, expected 1x1 or 3x3"),
        ([*OPERANDS, *conv(form=1), END], "word 19: window, got 1x1, expected 3x3"),
        (
            [*OPERANDS, *conv(rows=(3, 3), channels=(1, 2), window=(3, 3, 1, 1), form=1), END],
            "word 19: channels, got 1 and 2, expected equal ones",
        ),
        (
            [*OPERANDS, *conv(edges=(0, 0, 5, 4)), END],
            "word 19: limits of the activation, got 5 to 4, expected them in order",
        ),
        (
            [*OPERANDS, *conv(out=(2, 1)), END],
            "word 19: geometry, got 2 windows of 1 at stride 1 over 1 pixels with padding 0 and 0, expected windows ",
        ),
        (
            [*OPERANDS, *conv(padding=(0, 0, 1, 0)), END],
            "word 19: geometry, got 1 windows of 1 at stride 1 over 1 pixels with padding 1 and 0",
        ),
    ],
)
def test_misuse_of_v2(words: list[int], message: str) -> None:
    with pytest.raises(UsageError, match=re.escape(f"npu-demo v2: command list, {message}")):
        decode(words, SIZE)
    machine = Machine(2, SIZE)
    machine.activate()
    with pytest.raises(UsageError, match=re.escape(message)):
        machine.start_list(words)


def test_memory_that_is_not_there() -> None:
    machine = Machine(2, SIZE)
    machine.activate()
    machine.start_list([*load(0, offset=0x7000_0000), END])
    machine.now = 1000
    with pytest.raises(UsageError, match="npu-demo v2: LOAD, word 0: nothing at 0x7000100f"):
        machine.get(8)
    machine.start_list([*load(0), *store(0, offset=0x7000_0000), END])
    machine.now = 2000
    with pytest.raises(UsageError, match="npu-demo v2: STORE, word 6: nothing at 0x7002000f"):
        machine.get(8)
