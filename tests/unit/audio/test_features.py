"""Features on the host equal those of tflite-micro, in C and in numpy, however a stream is divided."""

from __future__ import annotations

import itertools

import numpy as np
import pytest

from aboard.audio import Features
from aboard.errors import InputError
from support import models, oracle, signal_models
from support.element_models import Value, build

_WINDOW, _STEP = 32, 12


def front_end() -> bytes:
    """Returns a front end with a state: each window is delayed by 5 samples."""
    return signal_models.model("Delay", [((_WINDOW,), np.int16)], [((_WINDOW,), np.int16)], {"delay_length": 5})


def samples(count: int, seed: int = 0) -> np.ndarray:
    return np.random.default_rng(seed).integers(-32768, 32768, count).astype(np.int16)


def reference(model: bytes, stream: np.ndarray, window: int, step: int, shape: tuple[int, ...]) -> np.ndarray:
    """Returns the features that tflite-micro computes, whose one interpreter keeps its state."""
    starts = range(0, len(stream) - window + 1, step)
    steps = [[stream[start : start + window].reshape(shape)] for start in starts]
    return np.stack([outputs[0] for outputs in oracle.tflm_steps(model, steps)])


@pytest.mark.parametrize("compiled", [True, False])
def test_a_stream_in_blocks_of_any_length_gives_the_bits_of_tflite_micro(compiled: bool) -> None:
    stream, features = samples(200), Features(front_end(), _STEP, compiled=compiled)
    expected = reference(front_end(), stream, _WINDOW, _STEP, (_WINDOW,))
    cuts = [0, 1, 31, 32, 33, 120, 120, 200]
    parts = [features(stream[start:end]) for start, end in itertools.pairwise(cuts)]
    assert [len(part) for part in parts] == [0, 0, 1, 0, 7, 0, 7]
    np.testing.assert_array_equal(np.concatenate(parts), expected)
    assert (features.window, features.step, features.shape, features.dtype) == (_WINDOW, _STEP, (_WINDOW,), np.int16)


def test_a_reset_begins_a_new_stream() -> None:
    stream, features = samples(100), Features(front_end(), _STEP)
    first = features(stream)
    assert not np.array_equal(features(stream), first)
    features.reset()
    np.testing.assert_array_equal(features(stream), first)


def test_clips_are_streams_of_their_own() -> None:
    clips = np.stack([samples(100, seed) for seed in range(3)])
    features = Features(front_end(), _STEP)
    features(samples(40))
    found = features.clips(clips)
    assert found.shape == (3, 6, _WINDOW)
    for clip, each in zip(clips, found, strict=True):
        np.testing.assert_array_equal(each, reference(front_end(), clip, _WINDOW, _STEP, (_WINDOW,)))
    assert features.clips(clips[:, :20]).shape == (3, 0, _WINDOW)


@pytest.mark.parametrize("name", models.available(["audio_features"]))
@pytest.mark.parametrize("compiled", [True, False])
def test_a_real_front_end_gives_the_bits_of_tflite_micro(name: str, compiled: bool) -> None:
    data = models.read(name)
    count = 3000 if compiled else 20
    tone = 9000 * np.sin(np.arange(480 + 160 * (count - 1)) / 5) * np.linspace(0, 1, 480 + 160 * (count - 1))
    stream = (tone + np.random.default_rng(1).normal(0, 900, len(tone))).astype(np.int16)
    features = Features(data, 160, compiled=compiled)
    found = features(stream)
    assert found.shape == (count, 40)
    assert len(np.unique(found)) > 30
    np.testing.assert_array_equal(found, reference(data, stream, 480, 160, (1, 480)))


def test_other_models_and_other_samples_are_refused() -> None:
    relu = build("RELU", [Value((4,), np.float32)], Value((4,), np.float32))
    with pytest.raises(InputError, match=r"expected one input of int16 samples and one output\. Give"):
        Features(relu, 1)
    for step in (0, 33):
        with pytest.raises(InputError, match=rf"step, got {step} samples, expected 1 to 32"):
            Features(front_end(), step)
    features = Features(front_end(), _STEP, compiled=False)
    with pytest.raises(InputError, match=r"samples, got float32\[40\], expected int16 on one axis"):
        features(np.zeros(40, np.float32))
    with pytest.raises(InputError, match=r"clips, got int16\[40\], expected int16 \[clips, samples\]"):
        features.clips(np.zeros(40, np.int16))
