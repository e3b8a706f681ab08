"""Plays labelled recordings to an application, and to the same in numpy, and compares.

    PYTHONPATH=../common python evaluate.py build/app.elf
    PYTHONPATH=../common python evaluate.py build/zephyr/zephyr/zephyr.elf mps2-an385

Each recording is 1.6 s of the machine, with a defect or without, and 1.6 s without. A recording with a defect is
recognised if there is one decision in it at least; one without, if there is none.
"""

from __future__ import annotations

import sys
from pathlib import Path

import numpy as np
import numpy.typing as npt

import aboard
import emulator
import front_end
import machine
from aboard.frontend import averages

HERE = Path(__file__).parent
RECORDINGS, HALF = 104, 12800


def stream() -> tuple[npt.NDArray[np.int16], npt.NDArray[np.int8]]:
    """Returns the recordings one after another, and 1 for each that has a defect."""
    rng = np.random.default_rng(99)
    labels = rng.permutation(np.arange(RECORDINGS) % 2).astype(np.int8)
    kinds = [machine.DEFECTS[int(index)] for index in np.cumsum(labels) % len(machine.DEFECTS)]
    parts = []
    for label, kind in zip(labels, kinds, strict=True):
        parts += [machine.sound(rng, HALF, kind if label else None), machine.sound(rng, HALF)]
    return np.concatenate(parts), labels


def in_numpy(samples: npt.NDArray[np.int16]) -> emulator.Decisions:
    """Returns class (0) and sample of each decision, as numpy computes the front end and the decisions."""
    model = str(HERE / "autoencoder.tflite")
    features = front_end.for_model(model)(samples)
    runs = len(features) // front_end.FRAMES
    inputs = features[: runs * front_end.FRAMES].reshape(runs, 1, -1)
    module, restored = aboard.compile(model, target="c -runtime=host"), front_end.restored(model)
    results = restored(np.stack([np.asarray(module.run(each)) for each in inputs]))
    errors = ((results.astype(np.int32) - inputs) ** 2).sum(axis=(1, 2)) >> front_end.ERROR_SHIFT
    scores = (np.minimum(errors, 255) - 128).astype(np.int8)[:, None]
    settings = front_end.FRONT_END
    ends = (np.arange(runs) * front_end.FRAMES + front_end.FRAMES - 1) * settings.hop + settings.window
    return [(0, int(ends[run])) for run, _ in front_end.DECIDER(averages(scores, front_end.AVERAGED))]


def recognised(decisions: emulator.Decisions, labels: npt.NDArray[np.int8]) -> list[bool]:
    """Returns for each recording whether it is recognised."""
    heard = emulator.decided_in_slots(decisions, len(labels), 2 * HALF)
    return [bool(found) == bool(label) for found, label in zip(heard, labels, strict=True)]


def main() -> None:
    """Prints accuracy and what was measured."""
    samples, labels = stream()
    decisions, measured = emulator.on_device(samples, *sys.argv[1:])
    right = recognised(decisions, labels)
    emulator.report(right, "recordings", equal=decisions == in_numpy(samples), measured=measured)


if __name__ == "__main__":
    main()
