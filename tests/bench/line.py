"""Measures how much of a serial line's rate arrives as data, and what noise costs; the firmware is a host process.

python tests/bench/line.py                     at the usual rates
python tests/bench/line.py --baud 3000000      at this one

The line is a pair of pseudo-terminals that passes bytes as slowly as the rate says, so the figures are those of
protocol, host and process; a real adapter adds its latency, 1 to 16 ms for each request over USB.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "tests"))

import numpy as np  # noqa: E402  behind the line above, as what follows

import aboard  # noqa: E402
from aboard.base import resources  # noqa: E402
from aboard.base.table import table  # noqa: E402  likewise
from aboard.device.session import Session  # noqa: E402  likewise
from aboard.project.project import Project  # noqa: E402  likewise
from aboard.rpc.throughput import LineRate  # noqa: E402  likewise
from aboard.runners.native import NativeRunner  # noqa: E402  likewise
from aboard.transports.lossy import LossyTransport, Noise  # noqa: E402  likewise
from aboard.transports.serial import SerialTransport  # noqa: E402  likewise
from support.cable import Cable  # noqa: E402  likewise
from support.element_models import build, real  # noqa: E402  likewise

RATES = (115_200, 460_800, 921_600, 3_000_000)
FRAMES = (128, 512, 2048)
_BOARD = "host/native"
_VALUES = 1024
_SECONDS = 2.0
_CALLS = 1000


def make(folder: Path, frame_bytes: int) -> Project:
    """Builds an image with an input of 4096 bytes."""
    model = build("RELU", [real((1, _VALUES))], real((1, _VALUES)))
    module = aboard.compile(model, board=_BOARD, name="relu")
    project = aboard.create(module, board=_BOARD, path=folder, options={"frame_bytes": frame_bytes})
    project.build()
    return project


def measure(project: Project, baud: int, folder: Path) -> LineRate:
    """Runs the image behind a line of this rate."""
    with NativeRunner(project.board) as runner:
        line = runner.start(project)
        cable = Cable(folder / "port", line, baud)
        with Session.attach(project, SerialTransport(cable.port, baud)) as session:
            rate = session.measure_line(max(3, int(_SECONDS * baud / 10 / (4 * _VALUES))))
        cable.unplug()
        line.close()
    return rate


def calls(folder: Path, noise: Noise) -> float:
    """Returns how many seconds calls of `digits` take on a line with this noise; all of them have to be right."""
    model = resources.models() / "digits.tflite"
    project = aboard.create(aboard.compile(model, board=_BOARD), board=_BOARD, path=folder)
    project.build()
    inputs = np.random.default_rng(5).integers(-128, 128, (16, 1, 8, 8, 1)).astype(np.int8)
    reference = aboard.compile(model, target="c -runtime=host")
    expected = [np.asarray(reference.run(x)) for x in inputs]
    runner = NativeRunner(project.board)
    with Session.attach(project, LossyTransport(runner.start(project), noise, seed=8), runner) as session:
        begun = time.perf_counter()
        for call in range(_CALLS):
            np.testing.assert_array_equal(np.asarray(session.run(inputs[call % 16])), expected[call % 16])
        return time.perf_counter() - begun


def main(arguments: Sequence[str] | None = None) -> int:
    """Prints a table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--baud", type=int, nargs="+", default=RATES)
    rows = []
    with tempfile.TemporaryDirectory() as name:
        for frame in FRAMES:
            project = make(Path(name) / str(frame), frame)
            for baud in parser.parse_args(arguments).baud:
                rate = measure(project, baud, Path(name))
                shares = (f"{100 * (share or 0):.0f} %" for share in (rate.write_share, rate.read_share))
                rows.append((frame, baud, *shares, f"{1000 * rate.round_trip_s:.2f} ms"))
        print(table(("frame bytes", "baud", "written", "read", "shortest request"), rows))
        clean, noisy = (calls(Path(name) / title, noise) for title, noise in (("c", Noise()), ("n", Noise(flip=0.01))))
    print(
        f"\n{_CALLS} calls of digits: {clean:.2f} s; with 1 % of the bytes damaged {noisy:.2f} s, "
        f"{noisy / clean:.1f} times as long"
    )
    return 0


if __name__ == "__main__":
    sys.exit(main())
