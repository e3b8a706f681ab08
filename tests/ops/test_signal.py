"""The audio front end without state, and its noise reduction, against tflite-micro."""

from __future__ import annotations

import itertools
import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import aboard
from aboard.errors import ModelError
from aboard.importers import load
from support import sanitized, signal_models
from support.examples import either, part
from support.signal_models import check_steps, model
from support.tflite_builder import ModelBuilder

I16, I32, U32, U64, F32 = np.int16, np.int32, np.uint32, np.uint64, np.float32
SEEDS = st.integers(0, 2**32 - 1)
TYPE_NUMBERS = {I16: 7, I32: 2, F32: 0}


def drawn(rng: np.random.Generator, dtype: Any, *shape: int) -> np.ndarray:
    """Returns numbers of all magnitudes."""
    if dtype is F32:
        return rng.standard_normal(shape).astype(F32)
    info = np.iinfo(dtype)
    values = rng.integers(info.min, info.max, shape, dtype, endpoint=True)
    return values >> rng.integers(0, info.bits, shape).astype(dtype)


@settings(max_examples=either(4, 3), deadline=None)
@given(SEEDS, st.integers(1, 3), st.integers(1, 9), st.integers(0, 15))
def test_window(seed: int, frames: int, length: int, shift: int) -> None:
    rng = np.random.default_rng(seed)
    weights, shape = drawn(rng, I16, length), (frames, length)
    steps = [[drawn(rng, I16, *shape)], [np.full(shape, -(2**15), I16)], [np.full(shape, 2**15 - 1, I16)]]
    check_steps(model("Window", [(shape, I16), weights], [(shape, I16)], {"shift": shift}), steps)


def test_auto_scale() -> None:
    rng = np.random.default_rng(0)
    steps = [[rng.integers(-(2**15), 2**15, 9).astype(I16) >> shift] for shift in range(16)]
    for place in range(9):
        x = rng.integers(-900, 900, 9).astype(I16)
        x[place] = -(2**15)
        steps.append([x])
    steps += [[np.zeros(9, I16)], [np.full(9, -(2**15), I16)], [np.full(9, 2**15 - 1, I16)]]
    found = check_steps(model("FftAutoScale", [((9,), I16)], [((9,), I16), ((), I32)], {}), steps)
    assert {int(bits) for _, bits in found} >= {0, 3, 12, 13}


@pytest.mark.parametrize(
    ("length", "kind", "dtype"), part(itertools.product([4, 20, 36, 512], ["Rfft", "Irfft"], [I16, I32, F32]))
)
def test_fft(kind: str, length: int, dtype: Any) -> None:
    """Lengths with the factors 2, 3, 4 and 5 in all places; a short frame is filled up."""
    rng = np.random.default_rng(length)
    frame = length + 2 if kind == "Irfft" else max(length - 3, 2)
    spectrum = length if kind == "Irfft" else length + 2
    file = model(
        kind, [((2, frame), dtype)], [((2, spectrum), dtype)], {"T": TYPE_NUMBERS[dtype], "fft_length": length}
    )
    steps = [[drawn(rng, dtype, 2, frame)] for _ in range(3)]
    if dtype is not F32:
        steps += [[np.full((2, frame), end, dtype)] for end in (np.iinfo(dtype).min, np.iinfo(dtype).max)]
    check_steps(file, steps)


@settings(max_examples=either(4, 3), deadline=None)
@given(SEEDS, st.integers(1, 9), st.data())
def test_energy(seed: int, count: int, data: st.DataObject) -> None:
    """Elements outside of the range are 0; the reference leaves them as they were."""
    start = data.draw(st.integers(0, count))
    end = data.draw(st.integers(start, count))
    file = model("Energy", [((2 * count,), I16)], [((count,), U32)], {"start_index": start, "end_index": end})
    rng = np.random.default_rng(seed)
    steps = [[drawn(rng, I16, 2 * count)], [np.full(2 * count, -(2**15), I16)]]
    for (got,), (wanted,) in zip(
        signal_models.compiled(file, steps), signal_models.reference(file, steps), strict=True
    ):
        np.testing.assert_array_equal(got[start:end], wanted[start:end])
        assert not got[:start].any()
        assert not got[end:].any()
    whole = model("Energy", [((2 * count,), I16)], [((count,), U32)], {"start_index": 0, "end_index": count})
    check_steps(whole, steps)


@settings(max_examples=either(4, 3), deadline=None)
@given(SEEDS, st.integers(1, 6))
def test_filter_bank(seed: int, channels: int) -> None:
    rng = np.random.default_rng(seed)
    widths = rng.integers(-1, 5, channels + 1)
    starts = rng.integers(0, 20, channels + 1)
    energies = rng.integers(0, 16, channels + 1)
    constants = [drawn(rng, I16, 24), drawn(rng, I16, 24), *(x.astype(I16) for x in (energies, starts, widths))]
    file = model("FilterBank", [((20,), U32), *constants], [((channels,), U64)], {"num_channels": channels})
    check_steps(file, [[drawn(rng, U32, 20)], [np.full(20, 2**32 - 1, U32)]])


def test_square_root() -> None:
    """Numbers of all magnitudes, those around squares, and the ends of 32 and 64 bits."""
    rng = np.random.default_rng(0)
    roots = [int(x) for x in drawn(rng, U32, 15)]
    squares = [max(x * x + d, 0) for x in roots for d in (-1, 0, 1)]
    ends = [0, 1, 2, 3, 2**32 - 1, 2**32, 2**32 - 2**17, 2**64 - 1, 2**64 - 2**33]
    x = np.array([*squares, *ends], U64)
    file = model("FilterBankSquareRoot", [(x.shape, U64), ((), I32)], [(x.shape, U32)], {})
    check_steps(
        file, [[x, np.array(bits, I32)] for bits in (0, 1, 7, 15)] + [[drawn(rng, U64, x.size), np.array(2, I32)]]
    )


SUBTRACTION = {
    "smoothing": 409,
    "one_minus_smoothing": 15975,
    "alternate_smoothing": 983,
    "alternate_one_minus_smoothing": 15401,
    "min_signal_remaining": 819,
    "smoothing_bits": 10,
    "spectral_subtraction_bits": 14,
    "num_channels": 11,
    "clamping": False,
}


@settings(max_examples=either(4, 3), deadline=None)
@given(SEEDS, st.booleans(), st.integers(0, 12), st.integers(8, 20))
def test_spectral_subtraction(seed: int, clamping: bool, smoothing_bits: int, bits: int) -> None:
    """Its noise estimate goes on from step to step."""
    rng = np.random.default_rng(seed)
    values = {
        **SUBTRACTION,
        "clamping": clamping,
        "smoothing_bits": smoothing_bits,
        "spectral_subtraction_bits": bits,
    }
    file = model("FilterBankSpectralSubtraction", [((11,), U32)], [((11,), U32)] * 2, values)
    found = check_steps(file, [[drawn(rng, U32, 11)] for _ in range(6)] + [[np.full(11, 2**32 - 1, U32)]] * 2)
    assert found[-1][1].tolist() != found[-2][1].tolist()


@settings(max_examples=either(4, 3), deadline=None)
@given(SEEDS, st.integers(0, 40))
def test_pcan(seed: int, shift: int) -> None:
    rng = np.random.default_rng(seed)
    shape, table = ((40,), U32), rng.integers(-(2**15), 2**15, 125).astype(I16)
    ends = np.array([0, 1, 2, 3, 2**32 - 1] * 8, U32)
    steps = [[drawn(rng, U32, 40), drawn(rng, U32, 40)], [ends, ends[::-1].copy()], [drawn(rng, U32, 40), ends]]
    check_steps(model("PCAN", [shape, shape, table], [shape], {"snr_shift": shift}), steps)


@settings(max_examples=either(4, 3), deadline=None)
@given(SEEDS, st.integers(0, 8), st.sampled_from((1, 64, 600, 70000)))
def test_log(seed: int, correction: int, scale: int) -> None:
    rng = np.random.default_rng(seed)
    powers = [2**k + d for k in range(32) for d in (-1, 0, 1)]
    x = np.array([*powers, 2**32 - 1], U32)
    file = model(
        "FilterBankLog",
        [(x.shape, U32)],
        [(x.shape, I16)],
        {"output_scale": scale, "input_correction_bits": correction},
    )
    check_steps(file, [[x], [drawn(rng, U32, x.size)], [drawn(rng, U32, x.size)]])


def front_end() -> bytes:
    """Returns window, scale, spectrum, energy, filter bank, root, noise reduction, gain control and logarithm."""
    rng, build = np.random.default_rng(7), ModelBuilder()
    hann = (4096 * np.hanning(60)).round()
    starts, widths = np.arange(1, 29, 4), np.full(7, 4)
    weights = rng.integers(0, 4097, 28)
    constants = {"w": hann, "up": weights, "down": 4096 - weights, "f": starts, "s": starts - 1, "n": widths}
    constants["gains"] = rng.integers(0, 2**15, 125)
    for name, values in constants.items():
        build.tensor(name, values.shape, I16, data=values)
    types = {"x": (60, I16), "xw": (60, I16), "xs": (60, I16), "z": (66, I16), "e": (33, U32), "b": (6, U64)}
    types |= dict.fromkeys(("r", "y", "noise", "g"), (6, U32)) | {"out": (6, I16)}
    for name, (size, dtype) in types.items():
        build.tensor(name, (size,), dtype)
    build.tensor("bits", (), I32)
    signal_models.add(build, "Window", ["x", "w"], ["xw"], {"shift": 12})
    signal_models.add(build, "FftAutoScale", ["xw"], ["xs", "bits"], {})
    signal_models.add(build, "Rfft", ["xs"], ["z"], {"T": 7, "fft_length": 64})
    signal_models.add(build, "Energy", ["z"], ["e"], {"start_index": 1, "end_index": 30})
    signal_models.add(build, "FilterBank", ["e", "up", "down", "f", "s", "n"], ["b"], {"num_channels": 6})
    signal_models.add(build, "FilterBankSquareRoot", ["b", "bits"], ["r"], {})
    signal_models.add(build, "FilterBankSpectralSubtraction", ["r"], ["y", "noise"], {**SUBTRACTION, "num_channels": 6})
    signal_models.add(build, "PCAN", ["y", "noise", "gains"], ["g"], {"snr_shift": 6})
    signal_models.add(build, "FilterBankLog", ["g"], ["out"], {"output_scale": 64, "input_correction_bits": 3})
    return build.build(["x"], ["out"])


@pytest.mark.parametrize("attributes", ["", "-state=arena -opt=size", "-opt=speed"])
def test_front_end(attributes: str) -> None:
    """All of it in one model, over a tone that comes and goes in noise."""
    rng, t = np.random.default_rng(3), np.arange(60)
    steps = []
    for step in range(24):
        tone = (8000 if step % 8 < 3 else 100) * np.sin(0.4 * (60 * step + t))
        steps.append([(tone + rng.normal(0, 200, 60)).astype(I16)])
    found = check_steps(front_end(), steps, attributes=attributes)
    assert len({int(values[2]) for (values,) in found}) > 5


def test_generated_c_is_clean(tmp_path: Path) -> None:
    """Under sanitizers, with whatever the state holds, and under every warning."""
    module = aboard.compile(front_end(), target="c -runtime=host -state=arena", name="model")
    sanitized.run(module, sanitized.random_feed(module, 1), tmp_path)
    sanitized.compile_strictly(module, tmp_path, ["gcc"])


@pytest.mark.parametrize("dtype", [I16, I32, F32])
@pytest.mark.parametrize("kind", ["Rfft", "Irfft"])
def test_fft_overflows_as_defined(kind: str, dtype: Any, tmp_path: Path) -> None:
    operand, result = (60, 62) if kind == "Rfft" else (62, 60)
    file = model(kind, [((operand,), dtype)], [((result,), dtype)], {"T": TYPE_NUMBERS[dtype], "fft_length": 60})
    module = aboard.compile(file, target="c -runtime=host", name="model")
    x = np.full(operand, -(2.0**15) if dtype is F32 else np.iinfo(dtype).min, dtype)
    (found,) = sanitized.run(module, {"x0": x}, tmp_path).values()
    np.testing.assert_array_equal(found, signal_models.reference(file, [[x]])[0][0])


@pytest.mark.parametrize(
    ("name", "operands", "results", "values", "message"),
    [
        ("Window", [((7,), I16), np.ones(4, I16)], [((7,), I16)], {"shift": 1}, "elements, got 7 for 4 weights"),
        ("Window", [((4,), I16), np.ones(4, I16)], [((4,), I16)], {}, "option shift, got none, expected an integer"),
        ("Window", [((4,), I16), np.ones(4, I16)], [((4,), I16)], {"shift": 32}, "option shift, got 32"),
        ("Window", [((4,), I32), np.ones(4, I16)], [((4,), I16)], {"shift": 3}, "element types, got int32, int16 to"),
        ("FftAutoScale", [((2, 4), I16)], [((2, 4), I16), ((), I32)], {}, "shape of operand 0, got [2, 4], expected 1"),
        ("FftAutoScale", [((4,), I16)], [((4,), I16)], {}, "operands and results, got 1 and 1, expected 1 and 2"),
        ("Energy", [((6,), I16)], [((3,), U32)], {"start_index": 0, "end_index": 4}, "end_index, got 4 for 6 elements"),
        ("Energy", [((6,), I16)], [((3,), U32)], {"start_index": 2, "end_index": 1}, "option end_index, got 1"),
        ("Rfft", [((16,), I16)], [((18,), I16)], {"T": 2, "fft_length": 16}, "option T, got 2, expected an integer"),
        ("Rfft", [((14,), I16)], [((16,), I16)], {"T": 7, "fft_length": 14}, "fft_length, got 14, expected twice a"),
        ("Rfft", [((9,), I16)], [((10,), I16)], {"T": 7, "fft_length": 8}, "elements of a frame, got 9, expected 8"),
        (
            "Irfft",
            [((9,), I16)],
            [((8,), I16)],
            {"T": 7, "fft_length": 8},
            "elements of a spectrum, got 9, expected 10",
        ),
        (
            "FilterBankSpectralSubtraction",
            [((5,), U32)],
            [((5,), U32)] * 2,
            SUBTRACTION,
            "option num_channels, got 11, expected an integer from 5 to 5",
        ),
        (
            "PCAN",
            [((4,), U32), ((4,), U32), np.ones(124, I16)],
            [((4,), U32)],
            {"snr_shift": 6},
            "elements of operand 2, got 124, expected 125",
        ),
        (
            "PCAN",
            [((4,), U32), ((3,), U32), np.ones(125, I16)],
            [((4,), U32)],
            {"snr_shift": 6},
            "elements of operand 1, got 3, expected 4",
        ),
    ],
)
def test_refusals(name: str, operands: list, results: list, values: Mapping[str, Any], message: str) -> None:
    with pytest.raises(ModelError, match=re.escape(message)):
        load(model(name, operands, results, values))


@pytest.mark.parametrize(
    ("index", "replacement", "message"),
    [
        (3, ((2,), I16), "operand 3 is computed at run time, expected a constant"),
        (4, np.zeros(1, I16), "operand 4, got 1 elements, expected 2 at least"),
        (3, np.array([0, 19], I16), "a group of 2 energies from 19 and weights from 2 does not fit the operands"),
        (4, np.array([-1, 0], I16), "a group of 2 energies from 0 and weights from -1 does not fit the operands"),
    ],
)
def test_filter_bank_refusals(index: int, replacement: Any, message: str) -> None:
    weights = np.ones(4, I16)
    operands: list[Any] = [((20,), U32), weights, weights, np.array([0, 2], I16), np.array([0, 2], I16)]
    operands.append(np.array([2, 2], I16))
    operands[index] = replacement
    with pytest.raises(ModelError, match=re.escape(message)):
        load(model("FilterBank", operands, [((1,), U64)], {"num_channels": 1}))
