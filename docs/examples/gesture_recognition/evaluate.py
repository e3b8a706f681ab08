"""Plays labelled recordings of simulated motion to an application, and to the same in numpy, and compares.

    PYTHONPATH=../common python evaluate.py build/app.elf
    PYTHONPATH=../common python evaluate.py build/zephyr/zephyr/zephyr.elf mps2-an385

A gesture is recognised if its slot has it as the only decision; other motion, if its slot has none.
"""

from __future__ import annotations

import sys
from pathlib import Path

import numpy as np
import numpy.typing as npt

import aboard
import emulator
import front_end
import motion
from aboard.frontend import averages, frames

HERE = Path(__file__).parent
#: Recordings of each class, samples of a slot, and those in which one recording turns into the next.
RECORDINGS, SLOT, BETWEEN = 22, 200, 25
SEED = 99


def stream(seed: int = SEED) -> tuple[npt.NDArray[np.int16], list[int]]:
    """Returns samples [count, AXES] of all slots one after another, and the class of each slot."""
    rng = np.random.default_rng(seed)
    labels = [int(label) for label in rng.permutation(np.repeat(np.arange(len(front_end.CLASSES)), RECORDINGS))]
    samples = np.zeros((len(labels) * SLOT + BETWEEN, front_end.AXES))
    fade = np.linspace(0, 1, BETWEEN)[:, None]
    for index, label in enumerate(labels):
        kind = front_end.CLASSES[label] if label else motion.OTHERS[index % len(motion.OTHERS)]
        next_one = motion.recording(rng, kind, SLOT + BETWEEN, float(rng.uniform(0.8, 1.2)))[0].astype(float)
        first = index * SLOT
        samples[first : first + BETWEEN] += fade * (next_one[:BETWEEN] - samples[first : first + BETWEEN])
        samples[first + BETWEEN : first + SLOT + BETWEEN] = next_one[BETWEEN:]
    return np.round(samples).astype(np.int16), labels


def in_numpy(samples: npt.NDArray[np.int16]) -> emulator.Decisions:
    """Returns class and sample of each decision, as numpy computes the front end and the decisions."""
    model = str(HERE / "gestures.tflite")
    size, hop, axes = front_end.FRAME, front_end.HOP, front_end.AXES
    inputs = front_end.scale(model)(frames(samples.reshape(-1), size * axes, hop * axes))
    module = aboard.compile(model, target="c -runtime=host")
    scores = np.concatenate([np.asarray(module.run(each.reshape(1, size, 1, axes))) for each in inputs])
    return [(label, run * hop + size) for run, label in front_end.DECIDER(averages(scores, front_end.AVERAGED))]


def recognised(decisions: emulator.Decisions, labels: list[int]) -> list[bool]:
    """Returns for each slot whether its decisions are right."""
    found = emulator.decided_in_slots(decisions, len(labels), SLOT)
    return [decided == ([label] if label else []) for decided, label in zip(found, labels, strict=True)]


def main() -> None:
    """Prints accuracy and what was measured."""
    samples, labels = stream()
    decisions, measured = emulator.on_device(samples, *sys.argv[1:])
    right = recognised(decisions, labels)
    emulator.report(right, "recordings", equal=decisions == in_numpy(samples), measured=measured)


if __name__ == "__main__":
    main()
