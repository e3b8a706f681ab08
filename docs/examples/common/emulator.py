"""Runs an application of the examples on the emulated board (../board), and prints what came of it."""

from __future__ import annotations

import re
import subprocess
import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy.typing as npt

#: Class and sample (or picture) of each decision.
Decisions = list[tuple[int, int]]


def on_device(samples: npt.NDArray[Any], image: str, machine: str = "mps2-an386") -> tuple[Decisions, dict[str, int]]:
    """Returns the decisions and what the application has measured, in QEMU.

    Args:
        samples: What the sensor gives, one sample after another.
        image: The application, an ELF file.
        machine: QEMU's name of the board.
    """
    with tempfile.TemporaryDirectory() as folder:
        samples.astype(samples.dtype.newbyteorder("<")).tofile(Path(folder) / "samples.raw")
        command = ["qemu-system-arm", "-machine", machine, "-icount", "shift=0,sleep=off", "-display", "none"]
        command += ["-monitor", "none", "-serial", "stdio", "-semihosting-config", "enable=on,target=native"]
        command += ["-kernel", str(Path(image).resolve())]
        done = subprocess.run(command, cwd=folder, capture_output=True, text=True, check=True, timeout=600)
    printed = done.stdout + done.stderr
    decisions = [(int(label), int(sample)) for label, sample in re.findall(r"^(\d+) (\d+)$", printed, re.MULTILINE)]
    return decisions, {name: int(value) for name, value in re.findall(r"^([a-z ]+): (\d+)$", printed, re.MULTILINE)}


def decided_in_slots(decisions: Decisions, slots: int, length: int) -> list[list[int]]:
    """Returns the classes that were decided in each of `slots` parts of the samples, of `length` samples."""
    found: list[list[int]] = [[] for _ in range(slots)]
    for label, sample in decisions:
        found[min((sample - 1) // length, slots - 1)].append(label)
    return found


def report(right: Sequence[bool], what: str, *, equal: bool, measured: dict[str, int]) -> None:
    """Prints accuracy, whether the device has decided as numpy does, and what was measured."""
    print(f"{sum(right)} of {len(right)} {what} recognised ({100 * sum(right) / len(right):.1f} %)")
    print("decisions equal those of numpy" if equal else "decisions differ from numpy")
    for name, value in measured.items():
        print(f"{name}: {value:,}")
