"""Plays labelled recordings to an application, and to the same in numpy, and compares.

    python evaluate.py build/app.elf

Each recording is 1.6 s of the machine, with a defect or without, and 1.6 s without. A recording with a defect is
recognised if there is one decision in it at least; one without, if there is none.
"""

from __future__ import annotations

import re
import subprocess
import sys
import tempfile
from pathlib import Path

import numpy as np
import numpy.typing as npt

import aboard
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


def in_numpy(samples: npt.NDArray[np.int16]) -> list[int]:
    """Returns the sample of each decision, as numpy computes the front end and the decisions."""
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
    return [int(ends[run]) for run, _ in front_end.DECIDER(averages(scores, front_end.AVERAGED))]


def on_device(samples: npt.NDArray[np.int16], image: Path) -> tuple[list[int], dict[str, int]]:
    """Returns the sample of each decision, and what the application has measured, in QEMU."""
    with tempfile.TemporaryDirectory() as folder:
        samples.astype("<i2").tofile(Path(folder) / "samples.raw")
        command = ["qemu-system-arm", "-machine", "mps2-an386", "-icount", "shift=0", "-display", "none"]
        command += ["-semihosting-config", "enable=on,target=native", "-kernel", str(image.resolve())]
        done = subprocess.run(command, cwd=folder, capture_output=True, text=True, check=True, timeout=600)
    printed = done.stdout + done.stderr
    decisions = [int(sample) for sample in re.findall(r"^0 (\d+)$", printed, re.MULTILINE)]
    return decisions, {name: int(value) for name, value in re.findall(r"^([a-z ]+): (\d+)$", printed, re.MULTILINE)}


def recognised(decisions: list[int], labels: npt.NDArray[np.int8]) -> int:
    """Returns the number of recordings that are recognised."""
    found = np.zeros(len(labels), np.int8)
    found[[min((sample - 1) // (2 * HALF), len(labels) - 1) for sample in decisions]] = 1
    return int((found == labels).sum())


def main() -> None:
    """Prints accuracy and what was measured."""
    samples, labels = stream()
    decisions, measured = on_device(samples, Path(sys.argv[1]))
    right = recognised(decisions, labels)
    print(f"{right} of {len(labels)} recordings recognised ({100 * right / len(labels):.1f} %)")
    print("decisions equal those of numpy" if decisions == in_numpy(samples) else "decisions differ from numpy")
    for name, value in measured.items():
        print(f"{name}: {value:,}")


if __name__ == "__main__":
    main()
