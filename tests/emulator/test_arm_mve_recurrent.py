"""Recurrent layers with Helium on an emulated Cortex-M55: the bytes of tflite-micro.

One image carries all models of a test, because building one takes longer than running them all.
"""

from __future__ import annotations

from pathlib import Path

from emulator.test_arm_dsp_recurrent import check
from ops.test_lstm import Layer

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
