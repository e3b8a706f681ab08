"""Runs a model with state for some steps: every evaluation and the generated C against tflite-micro."""

from __future__ import annotations

import tempfile
from collections.abc import Sequence
from pathlib import Path

import numpy as np

import aboard
from aboard.compiler.pipeline import Module
from support import one_op, oracle, sanitized, streams

STEPS = 5


def draws(shape: Sequence[int], dtype: type, seed: int = 0, steps: int = STEPS) -> list[list[np.ndarray]]:
    """Returns random inputs for some runs; the extremes of integers occur."""
    rng = np.random.default_rng(seed)
    if np.dtype(dtype).kind == "f":
        return [[rng.normal(0, 1, shape).astype(dtype)] for _ in range(steps)]
    info, found = np.iinfo(dtype), []
    for _ in range(steps):
        x = rng.integers(info.min, info.max, shape, endpoint=True).astype(dtype)
        x[..., 0] = rng.choice([info.min, info.max], x[..., 0].shape)
        found.append([x])
    return found


def module(model: bytes, attributes: str = "-state=arena") -> Module:
    """Returns a model compiled for this process."""
    return aboard.compile(model, target=f"{one_op.HOST} {attributes}", name="model")


def compiled(model: bytes, steps: Sequence[Sequence[np.ndarray]], *, sanitize: bool = False) -> list[list[np.ndarray]]:
    """Returns the outputs of each run of the generated C.

    With `sanitize` it compiles without warnings, and the first step runs under sanitizers as well.
    """
    built, found = module(model), []
    for (x,) in steps:
        results = built.run(x)
        found.append(list(results.values()) if isinstance(results, dict) else [results])
    if sanitize:
        feed = {built.manifest.inputs[0].name: steps[0][0]}
        with tempfile.TemporaryDirectory() as folder:
            checked = sanitized.run(built, feed, Path(folder))
            sanitized.compile_strictly(built, Path(folder), ["gcc"])
        for got, wanted in zip(checked.values(), found[0], strict=True):
            np.testing.assert_array_equal(got, wanted, err_msg="sanitized")
    return found


def check(model: bytes, steps: Sequence[Sequence[np.ndarray]], *, sanitize: bool = False) -> list[list[np.ndarray]]:
    """Fails unless all outputs of all steps are the reference's; returns these.

    Integers are equal; float32 is near.
    """
    expected = oracle.tflm_steps(model, steps)
    ways = {"evaluate": streams.evaluated(model, steps), "generated C": compiled(model, steps, sanitize=sanitize)}
    for name, results in ways.items():
        for step, (got, wanted) in enumerate(zip(results, expected, strict=True)):
            for mine, right in zip(got, wanted, strict=True):
                assert mine.dtype == right.dtype
                relative = 1e-5 if mine.dtype.kind == "f" else 0
                np.testing.assert_allclose(mine, right, rtol=relative, atol=relative, err_msg=f"{name}, step {step}")
    return expected
