"""Plays the labelled clips of test.npz to an application, and to the same in numpy, and compares.

    python evaluate.py build/app.elf

A clip is recognised if its slot has its keyword as the only decision; a clip of another word, if it has none.
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
import speech
from aboard.frontend import averages

HERE = Path(__file__).parent
#: Samples between two clips: quiet noise.
PAUSE = 4400
Decisions = list[tuple[int, int]]


def stream() -> tuple[npt.NDArray[np.int16], npt.NDArray[np.int8], int]:
    """Returns the clips one after another, their labels, and the samples of a clip."""
    with np.load(HERE / "test.npz") as file:
        clips = speech.expanded(file["clips"])
        pauses = np.random.default_rng(0).integers(-20, 21, (len(clips), PAUSE)).astype(np.int16)
        return np.hstack([clips, pauses]).reshape(-1), file["labels"], clips.shape[1] + PAUSE


def in_numpy(samples: npt.NDArray[np.int16]) -> Decisions:
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


def on_device(samples: npt.NDArray[np.int16], image: Path) -> tuple[Decisions, dict[str, int]]:
    """Returns class and sample of each decision, and what the application has measured, in QEMU."""
    with tempfile.TemporaryDirectory() as folder:
        samples.astype("<i2").tofile(Path(folder) / "samples.raw")
        command = ["qemu-system-arm", "-machine", "mps2-an386", "-icount", "shift=0", "-display", "none"]
        command += ["-semihosting-config", "enable=on,target=native", "-kernel", str(image.resolve())]
        done = subprocess.run(command, cwd=folder, capture_output=True, text=True, check=True, timeout=600)
    printed = done.stdout + done.stderr
    decisions = [(int(label), int(sample)) for label, sample in re.findall(r"^(\d+) (\d+)$", printed, re.MULTILINE)]
    return decisions, {name: int(value) for name, value in re.findall(r"^([a-z ]+): (\d+)$", printed, re.MULTILINE)}


def recognised(decisions: Decisions, labels: npt.NDArray[np.int8], slot: int) -> int:
    """Returns the number of clips whose decisions are right."""
    heard: list[list[int]] = [[] for _ in labels]
    for label, sample in decisions:
        heard[min((sample - 1) // slot, len(labels) - 1)].append(label)
    return sum(found == ([label] if label else []) for found, label in zip(heard, labels.tolist(), strict=True))


def main() -> None:
    """Prints accuracy and what was measured."""
    samples, labels, slot = stream()
    decisions, measured = on_device(samples, Path(sys.argv[1]))
    right = recognised(decisions, labels, slot)
    print(f"{right} of {len(labels)} clips recognised ({100 * right / len(labels):.1f} %)")
    print("decisions equal those of numpy" if decisions == in_numpy(samples) else "decisions differ from numpy")
    for name, value in measured.items():
        print(f"{name}: {value:,}")


if __name__ == "__main__":
    main()
