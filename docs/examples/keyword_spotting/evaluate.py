"""Plays the labelled clips of test.npz to an application, and to the same in numpy, and compares.

    PYTHONPATH=../common python evaluate.py build/app.elf
    PYTHONPATH=../common python evaluate.py build/zephyr/zephyr/zephyr.elf mps2-an385

A clip is recognised if its slot has its keyword as the only decision; a clip of another word, if it has none.
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
from aboard.frontend import averages

HERE = Path(__file__).parent
#: Samples between two clips: quiet noise.
PAUSE = 4400


def stream() -> tuple[npt.NDArray[np.int16], npt.NDArray[np.int8], int]:
    """Returns the clips one after another, their labels, and the samples of a clip."""
    with np.load(HERE / "test.npz") as file:
        clips = speech.expanded(file["clips"])
        pauses = np.random.default_rng(0).integers(-20, 21, (len(clips), PAUSE)).astype(np.int16)
        return np.hstack([clips, pauses]).reshape(-1), file["labels"], clips.shape[1] + PAUSE


def in_numpy(samples: npt.NDArray[np.int16]) -> emulator.Decisions:
    """Returns class and sample of each decision, as numpy computes the front end and the decisions."""
    model = str(HERE / "keywords.tflite")
    features, hop = front_end.for_model(model)(samples), front_end.FRONT_END.hop
    starts = range(0, len(features) - front_end.FRAMES + 1, front_end.FRAMES_PER_RUN)
    module = aboard.compile(model, target="c -runtime=host")
    inputs = [features[start : start + front_end.FRAMES].reshape(1, front_end.FRAMES, 1, -1) for start in starts]
    scores = np.concatenate([np.asarray(module.run(each)) for each in inputs])
    decided = front_end.DECIDER(averages(scores, front_end.AVERAGED))
    window = front_end.FRONT_END.window
    ends = [(run, (starts[run] + front_end.FRAMES - 1) * hop + window) for run, _ in decided]
    # The application counts whole blocks of samples, which are as long as the hop.
    return [(label, -(-end // hop) * hop) for (_, label), (_, end) in zip(decided, ends, strict=True)]


def recognised(decisions: emulator.Decisions, labels: npt.NDArray[np.int8], slot: int) -> list[bool]:
    """Returns for each clip whether its decisions are right."""
    heard = emulator.decided_in_slots(decisions, len(labels), slot)
    return [found == ([label] if label else []) for found, label in zip(heard, labels.tolist(), strict=True)]


def main() -> None:
    """Prints accuracy and what was measured."""
    samples, labels, slot = stream()
    decisions, measured = emulator.on_device(samples, *sys.argv[1:])
    right = recognised(decisions, labels, slot)
    emulator.report(right, "clips", equal=decisions == in_numpy(samples), measured=measured)


if __name__ == "__main__":
    main()
