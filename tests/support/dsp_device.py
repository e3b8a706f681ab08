"""Layers for the DSP extension on an emulated Cortex-M4, beside the reference."""

from __future__ import annotations

import itertools
import tempfile
from collections.abc import Collection, Sequence
from pathlib import Path

import numpy as np

import aboard
from support import oracle, whole_windows
from support.dsp_layers import NAMES
from support.weighted_models import Layer

BOARD = "arm/mps2_an386"


def check(
    cases: Sequence[tuple[bytes, np.ndarray]],
    board: str = BOARD,
    opt: str | Sequence[str] | None = None,
    names: Collection[str] = NAMES,
) -> None:
    """Fails unless all models, in one image, give the reference's bytes, with some of the DSP extension's kernels.

    Args:
        cases: The models, and their inputs.
        board: The board.
        opt: The preference; several ones take turns.
        names: The kernels.
    """
    given = list(itertools.islice(itertools.cycle([opt] if opt is None or isinstance(opt, str) else opt), len(cases)))
    modules = [
        aboard.compile(
            model,
            board=board,
            name=f"m{i}",
            opt=given[i],
            passes=whole_windows.passes(f"c -hardware={board}", given[i]),
        )
        for i, (model, _) in enumerate(cases)
    ]
    for module in modules:
        assert {node.implementation for node in module.manifest.nodes} <= set(names)
    with tempfile.TemporaryDirectory() as folder:
        project = aboard.create(modules, board=board, path=Path(folder) / "project")
        project.build()
        with project.session() as device:
            for number, (model, x) in enumerate(cases):
                (wanted,) = oracle.tflm(model, x)
                np.testing.assert_array_equal(device.run(x, model=f"m{number}"), wanted, err_msg=f"model {number}")


def rows_of(cols: int, stride: int, zero_point: int = -128) -> Layer:
    options = {"Padding": "SAME", "StrideH": stride, "StrideW": stride, "DepthMultiplier": 1}
    shape_out = (1, -(-5 // stride), -(-cols // stride), 4)
    shapes = (1, 5, cols, 4), (1, 3, 3, 4), shape_out
    return Layer("DEPTHWISE_CONV_2D", *shapes, 3, options, zero_point_out=zero_point)
