"""Layers for the DSP extension on an emulated Cortex-M4, beside the reference."""

from __future__ import annotations

import itertools
import tempfile
from collections.abc import Collection, Sequence
from pathlib import Path

import numpy as np

import aboard
from aboard.partition.pipeline import pipeline_of
from aboard.passes import Pipeline
from aboard.passes.trim_windows import TrimWindows
from aboard.target import Target
from support import oracle
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
    opts = itertools.cycle([opt] if opt is None or isinstance(opt, str) else opt)
    modules = [
        aboard.compile(
            model, board=board, name=f"m{i}", opt=(each := next(opts)), passes=_with_whole_windows(board, each)
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


def _with_whole_windows(board: str, opt: str | None) -> str:
    """Returns the passes of a board, of which none removes taps: kernels are tested with windows of padding alone."""
    target = Target(f"c -hardware={board}")
    usual = pipeline_of(target if opt is None else target.overridden({"opt": opt}))
    return str(Pipeline(usual.before, tuple(step for step in usual.after if not isinstance(step, TrimWindows))))


def rows_of(cols: int, stride: int, zero_point: int = -128) -> Layer:
    options = {"Padding": "SAME", "StrideH": stride, "StrideW": stride, "DepthMultiplier": 1}
    shape_out = (1, -(-5 // stride), -(-cols // stride), 4)
    shapes = (1, 5, cols, 4), (1, 3, 3, 4), shape_out
    return Layer("DEPTHWISE_CONV_2D", *shapes, 3, options, zero_point_out=zero_point)
