"""Plays the labelled words of test.npz, with noise, to an application, and to the same in numpy, and compares.

    PYTHONPATH=../common python evaluate.py build/app.elf
    PYTHONPATH=../common python evaluate.py build/zephyr/zephyr/zephyr.elf mps2-an385

A wake word is recognised if its slot has one decision; another word, if its slot has none.
"""

from __future__ import annotations

import sys
from pathlib import Path

import numpy as np
import numpy.typing as npt

import aboard
import emulator
import front_end
import speech
from aboard.frontend import averages, frames

HERE = Path(__file__).parent
#: Samples of a clip, where its word begins, and samples of quiet noise after it.
CLIP, WORD, PAUSE = 10400, 400, 3200
SEED = 99


def stream() -> tuple[npt.NDArray[np.int16], list[int]]:
    """Returns the clips one after another, and 1 for each that is the wake word."""
    rng = np.random.default_rng(SEED)
    with np.load(HERE / "test.npz") as file:
        words, labels = file["words"], file["labels"]
    parts = []
    for codes in words:
        word = speech.expanded(codes[: np.flatnonzero(codes)[-1] + 1]) / 2**15
        parts += [speech.mixed(rng, word, WORD, CLIP), rng.integers(-20, 21, PAUSE).astype(np.int16)]
    return np.concatenate(parts), [int(label) for label in labels]


def scores(samples: npt.NDArray[np.int16]) -> npt.NDArray[np.int8]:
    """Returns the scores of all runs [runs, classes], as numpy computes the front end."""
    encoder, scorer = str(HERE / "encoder.tflite"), str(HERE / "scorer.tflite")
    features = front_end.for_model(encoder)(samples)
    channels = features.shape[1]
    parts = frames(features.reshape(-1), front_end.FRAMES * channels, front_end.FRAMES_PER_RUN * channels)
    models = [aboard.compile(each, target="c -runtime=host") for each in (encoder, scorer)]
    results = [np.asarray(models[0].run(each.reshape(1, -1, 1, channels))) for each in parts]
    encoded = front_end.link(encoder, scorer)(np.concatenate(results))
    starts = range(len(encoded) - front_end.ENCODED + 1)
    windows = [encoded[start : start + front_end.ENCODED].reshape(1, front_end.ENCODED, 1, -1) for start in starts]
    return np.concatenate([np.asarray(models[1].run(each)) for each in windows])


def in_numpy(samples: npt.NDArray[np.int16]) -> emulator.Decisions:
    """Returns class and sample of each decision, as numpy computes the front end and the decisions."""
    hop, window = front_end.FRONT_END.hop, front_end.FRONT_END.window
    first = front_end.FRAMES - 1 + (front_end.ENCODED - 1) * front_end.FRAMES_PER_RUN
    decided = front_end.DECIDER(averages(scores(samples), front_end.AVERAGED))
    ends = [(label, (first + run * front_end.FRAMES_PER_RUN) * hop + window) for run, label in decided]
    # The application counts whole blocks of samples, which are as long as the hop.
    return [(label, -(-end // hop) * hop) for label, end in ends]


def recognised(decisions: emulator.Decisions, labels: list[int]) -> list[bool]:
    """Returns for each clip whether its decisions are right."""
    found = emulator.decided_in_slots(decisions, len(labels), CLIP + PAUSE)
    return [len(decided) == label for decided, label in zip(found, labels, strict=True)]


def main() -> None:
    """Prints accuracy and what was measured."""
    samples, labels = stream()
    decisions, measured = emulator.on_device(samples, *sys.argv[1:])
    right = recognised(decisions, labels)
    emulator.report(right, "clips", equal=decisions == in_numpy(samples), measured=measured)


if __name__ == "__main__":
    main()
