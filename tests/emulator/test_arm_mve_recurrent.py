"""Recurrent layers with Helium on an emulated Cortex-M55: the bytes of tflite-micro.

One image carries all models of a test, because building one takes longer than running them all.
"""

from __future__ import annotations

from pathlib import Path

import numpy as np

from emulator.test_arm_dsp_recurrent import check
from ops.test_lstm import Layer
from ops.test_signal_dsp import halfwords, transform
from ops.test_svdf import Filter

BOARD = "arm/mps3_an547"


def test_lstm(tmp_path: Path) -> None:
    # Rows of whole chunks and others, blocks of four units and others, sums of more chunks than stand side by side.
    shapes = [(1, 1), (16, 4), (33, 18), (240, 5)]
    layers = [
        Layer(batch=1 + i % 2, inputs=inputs, units=units, gain=gain, clip=clip, cell_scale=-14 + 2 * i, seed=i)
        for i, (inputs, units) in enumerate(shapes)
        for gain, clip in ((0.5, 0.0), (5.0, 0.25))
    ]
    check([(layer.model(), layer.runs(), "arm_mve_s8") for layer in layers], tmp_path, BOARD)


def test_svdf(tmp_path: Path) -> None:
    shapes = [(1, 1, 1, 1), (16, 5, 2, 16), (33, 3, 1, 19), (240, 13, 1, 9)]
    layers = [
        Filter(state=state, batch=1 + i % 2, inputs=inputs, units=units, rank=rank, memory=memory, seed=i)
        for i, (inputs, units, rank, memory) in enumerate(shapes)
        for state in (np.int8, np.int16)
    ]
    names = {np.int8: "arm_mve_s8", np.int16: "arm_mve_s8_s16"}
    check([(layer.model(), layer.steps(), names[layer.state]) for layer in layers], tmp_path, BOARD)


def test_transforms(tmp_path: Path) -> None:
    rng, cases = np.random.default_rng(0), []
    for kind, length in (("Rfft", 16), ("Rfft", 64), ("Rfft", 128), ("Rfft", 512), ("Irfft", 32), ("Irfft", 128)):
        frame = length + 2 if kind == "Irfft" else length - 3
        ends = [np.full((2, frame), end, np.int16) for end in (-(2**15), 2**15 - 1)]
        steps = [[x] for x in [*(halfwords(rng, 2, frame) for _ in range(3)), *ends]]
        cases.append((transform(kind, frame, length), steps, "arm_mve_s16"))
    check(cases, tmp_path, BOARD)
