"""Shows labelled scenes to an application, and to the same in numpy, and compares.

    PYTHONPATH=../common python evaluate.py build/app.elf
    PYTHONPATH=../common python evaluate.py build/zephyr/zephyr/zephyr.elf mps2-an385

A scene has two pictures. One with a person is recognised if it has a decision; one without, if it has none. An empty
scene, which does not count, follows each scene, so that each decision is a new one.
"""

from __future__ import annotations

import sys
from pathlib import Path

import numpy as np
import numpy.typing as npt

import aboard
import emulator
import front_end
import pictures
from aboard.frontend import averages

HERE = Path(__file__).parent
SCENES, PICTURES = 104, 2
SEED = 99


def stream(seed: int = SEED) -> tuple[npt.NDArray[np.uint8], list[int]]:
    """Returns pictures [count, rows, columns] of all scenes, and 1 for each scene that has a person."""
    rng = np.random.default_rng(seed)
    drawn, labels = pictures.scenes(rng, SCENES, PICTURES)
    # A lens that is covered.
    empty = np.full_like(drawn, 20)
    together = np.stack([drawn, empty], axis=1)
    return together.reshape(-1, *drawn.shape[2:]), [int(label) for label in labels]


def in_numpy(shown: npt.NDArray[np.uint8]) -> emulator.Decisions:
    """Returns class and picture of each decision, as numpy computes the front end and the decisions."""
    model = str(HERE / "person.tflite")
    inputs = front_end.scale(model)(np.stack([front_end.FIT.bilinear(each[..., None]) for each in shown]))
    module = aboard.compile(model, target="c -runtime=host")
    scores = np.concatenate([np.asarray(module.run(each[None])) for each in inputs])
    return [(label, run + 1) for run, label in front_end.DECIDER(averages(scores, front_end.AVERAGED))]


def recognised(decisions: emulator.Decisions, labels: list[int]) -> list[bool]:
    """Returns for each scene whether its decisions are right."""
    found = emulator.decided_in_slots(decisions, len(labels), 2 * PICTURES)
    return [bool(decided) == bool(label) for decided, label in zip(found, labels, strict=True)]


def main() -> None:
    """Prints accuracy and what was measured."""
    shown, labels = stream()
    decisions, measured = emulator.on_device(shown, *sys.argv[1:])
    right = recognised(decisions, labels)
    emulator.report(right, "scenes", equal=decisions == in_numpy(shown), measured=measured)


if __name__ == "__main__":
    main()
