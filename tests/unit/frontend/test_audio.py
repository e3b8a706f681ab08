"""Features of sound: the C equals numpy over 10^5 frames; both equal TFLM's signal library and its micro front end."""

from __future__ import annotations

import re
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from aboard import frontend
from aboard.errors import InputError, ProjectError
from aboard.frontend import AudioFrontEnd, GainControl, IntegerScale, NoiseReduction, sources
from support import front_end as c_code
from support import markdown, oracle, signal_models
from support.tflite_builder import ModelBuilder

GOLDENS = markdown.CHECKOUT / "tests" / "data" / "frontend" / "audio.npz"
MICRO = AudioFrontEnd(hop=160, noise_reduction=NoiseReduction(), gain_control=GainControl())
SMALL = AudioFrontEnd(sample_rate=8000, window=100, hop=50, channels=16, low_hz=60, high_hz=3800)


def test_c_equals_numpy_over_100_000_frames(tmp_path: Path) -> None:
    front_end = replace(
        SMALL,
        noise_reduction=NoiseReduction(),
        gain_control=GainControl(),
        coefficients=10,
        scale=IntegerScale(1 / 64, 0.05, zero_after=-3),
    )
    streams = c_code.sound(100 * (1000 * 50 + 50)).reshape(100, -1)
    found = front_end(streams)
    assert found.shape == (100, 1000, 10)
    np.testing.assert_array_equal(c_code.compiled(front_end, streams, tmp_path), found)
    assert len(np.unique(found)) == 256


@pytest.mark.parametrize(
    ("front_end", "block"),
    [
        (SMALL, 1),
        (replace(SMALL, window=96, hop=96, coefficients=16), 1000),
        (replace(SMALL, noise_reduction=NoiseReduction((0.1, 0.2), 0.3, 6), scale=IntegerScale(1 / 64, 0.1)), 100),
        (replace(MICRO, channels=20, coefficients=13), 159),
    ],
    ids=["logarithms", "cepstra", "reduced", "micro"],
)
def test_c_equals_numpy_whatever_the_parts(front_end: AudioFrontEnd, block: int, tmp_path: Path) -> None:
    streams = c_code.sound(2 * 9000, seed=block).reshape(2, -1)
    np.testing.assert_array_equal(c_code.compiled(front_end, streams, tmp_path, block), front_end(streams))


def signal_library(front_end: AudioFrontEnd) -> bytes:
    """Returns a model of TFLM's signal operators with the tables of a front end."""
    tables, channels, bins = sources.constants(front_end), front_end.channels, front_end.fft_length // 2 + 1
    build, subtraction = ModelBuilder(), front_end.subtraction
    results = {
        "x": ((front_end.window,), np.int16),
        "windowed": ((front_end.window,), np.int16),
        "shifted": ((front_end.window,), np.int16),
        "bits": ((), np.int32),
        "spectrum": ((2 * bins,), np.int16),
        "energies": ((bins,), np.uint32),
        "sums": ((channels,), np.uint64),
        "roots": ((channels,), np.uint32),
        "left": ((channels,), np.uint32),
        "noise": ((channels,), np.uint32),
        "controlled": ((channels,), np.uint32),
        "logs": ((channels,), np.int16),
    }
    for name, (shape, dtype) in results.items():
        build.tensor(name, shape, dtype)
    for field in ("window", "above", "below", "energies", "starts", "widths", "gains"):
        build.tensor(f"table_{field}", tables[field].shape, tables[field].dtype, data=tables[field])
    groups = [f"table_{field}" for field in ("above", "below", "energies", "starts", "widths")]
    coefficients = vars(subtraction) | {"num_channels": channels, "spectral_subtraction_bits": subtraction.bits}
    del coefficients["bits"]
    coefficients.pop("rounding", None)
    for operator, inputs, outputs, options in (
        ("Window", ["x", "table_window"], ["windowed"], {"shift": 12}),
        ("FftAutoScale", ["windowed"], ["shifted", "bits"], {}),
        ("Rfft", ["shifted"], ["spectrum"], {"T": 7, "fft_length": front_end.fft_length}),
        ("Energy", ["spectrum"], ["energies"], {"start_index": 0, "end_index": bins}),
        ("FilterBank", ["energies", *groups], ["sums"], {"num_channels": channels}),
        ("FilterBankSquareRoot", ["sums", "bits"], ["roots"], {}),
        ("FilterBankSpectralSubtraction", ["roots"], ["left", "noise"], coefficients),
        ("PCAN", ["left", "noise", "table_gains"], ["controlled"], {"snr_shift": front_end.snr_shift}),
        (
            "FilterBankLog",
            ["controlled"],
            ["logs"],
            {"input_correction_bits": front_end.correction_bits, "output_scale": 64},
        ),
    ):
        signal_models.add(build, operator, inputs, outputs, options)
    return build.build(["x"], ["logs"])


def test_features_equal_those_of_tflms_signal_library() -> None:
    stream = c_code.sound(160 * 60 + 320, seed=3)
    steps = [[frame] for frame in frontend.frames(stream, MICRO.window, MICRO.hop)]
    wanted = np.stack([outputs[0] for outputs in oracle.tflm_steps(signal_library(MICRO), steps)])
    np.testing.assert_array_equal(MICRO(stream), wanted)
    assert wanted.std() > 100


def test_features_equal_those_of_the_micro_front_end() -> None:
    """The golden is of the package pymicro-features, with its fixed parameters.

    It forms its filter bank with `log1pf` of a C library, so that few weights are others, by 1. Of frames with -32768,
    it has another maximum than the signal library.
    """
    with np.load(GOLDENS) as golden:
        samples = c_code.sound(golden["micro_samples"], seed=1).clip(min=-32767)
        own, wanted = MICRO(samples), golden["micro"]
        weights = np.stack([golden["micro_above"] - MICRO.bank.above, golden["micro_below"] - MICRO.bank.below])
        assert np.abs(weights).max() == 1
        assert np.count_nonzero(weights) <= 6
        assert np.count_nonzero(own != wanted) <= 2
        same = replace(MICRO)
        vars(same)["bank"] = replace(MICRO.bank, above=golden["micro_above"], below=golden["micro_below"])
        np.testing.assert_array_equal(same(samples), wanted)


def test_logarithms_and_cepstra_are_near_those_of_scipy() -> None:
    """Loud noise and tones: fixed point costs at most 0.04 in a logarithm, 0.005 on average."""
    front_end = AudioFrontEnd(coefficients=13)
    with np.load(GOLDENS) as golden:
        samples = golden["loud"]
        logs = replace(front_end, coefficients=0)(samples)
        error = np.abs(logs / 64 - golden["logarithms"])
        assert error.max() < 0.04
        assert error.mean() < 0.008
        cepstra = front_end(samples)
        assert np.abs(cepstra - golden["cepstra_of_logs"]).max() <= 1
        assert np.abs(cepstra / 64 - golden["cepstra"]).max() < 0.06


def test_the_window_is_that_of_scipy() -> None:
    with np.load(GOLDENS) as golden:
        assert np.abs(MICRO.window_weights / 4096 - golden["window"]).max() <= 0.51 / 4096


def test_short_streams_have_no_frames() -> None:
    assert MICRO(np.zeros(479, np.int16)).shape == (0, 40)
    assert MICRO(np.zeros((2, 480), np.int16)).tolist() == [[[0] * 40]] * 2


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"hop": 481}, "front end: hop, got 481, expected 1 to 480. Change it"),
        ({"high_hz": 8001}, "front end: high_hz, got 8001, expected 1 to 8000.0. Change it"),
        (
            {"gain_control": GainControl()},
            "front end: gain_control needs the estimates of noise_reduction. Set noise_reduction",
        ),
        (
            {"noise_reduction": NoiseReduction(remaining=2)},
            "front end: noise_reduction.remaining, got 2, expected 0 to 1. Change it",
        ),
        (
            {"channels": 128},
            "front end: channel 0 of 128 has no frequency of 256. Use fewer channels, or a longer window",
        ),
    ],
)
def test_wrong_parameters_are_refused(changes: dict[str, object], message: str) -> None:
    with pytest.raises(InputError, match=re.escape(message)):
        replace(AudioFrontEnd(), **changes)


def test_samples_that_are_not_int16_are_refused() -> None:
    with pytest.raises(
        InputError, match=r"samples, got float64\[480\], expected int16 with one axis at least\. Convert"
    ):
        MICRO(np.zeros(480))
    with pytest.raises(InputError, match=r"frames, got size 4 and hop 5, expected 1 <= hop <= size\. Change them"):
        frontend.frames(np.zeros(9), 4, 5)


def test_a_written_front_end_states_its_bytes(tmp_path: Path) -> None:
    place = frontend.write(MICRO, tmp_path / "out", "micro")
    header = (place / "include" / "micro.h").read_text(encoding="utf-8")
    assert "#define MICRO_STATE_BYTES 1128\n" in header
    assert f"Flash for tables: {sources.tables_bytes(MICRO)} bytes." in header
    (place / "include" / "micro.h").write_text("mine")
    with pytest.raises(ProjectError, match="micro"):
        frontend.write(MICRO, place, "micro")
    with pytest.raises(InputError, match="front end: name, got 'My-Name', expected lower-case letters"):
        frontend.write(MICRO, tmp_path / "other", "My-Name")
