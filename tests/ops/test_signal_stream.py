"""Delay, overlap and add, framer and stacker against tflite-micro, over sequences of steps."""

from __future__ import annotations

import re
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

import aboard
from aboard.device import input_files
from aboard.errors import ModelError
from aboard.importers import load
from support import sanitized
from support.signal_models import add, check_steps, model
from support.tflite_builder import ModelBuilder

I16, F32 = np.int16, np.float32


def draws(shape: tuple[int, ...], steps: int, dtype: Any = I16) -> list[list[np.ndarray]]:
    rng = np.random.default_rng(steps)
    if dtype is F32:
        return [[rng.standard_normal(shape).astype(F32)] for _ in range(steps)]
    return [[rng.integers(-(2**15), 2**15, shape).astype(I16)] for _ in range(steps)]


@pytest.mark.parametrize("length", [0, 1, 4, 5, 12])
def test_delay(length: int) -> None:
    """Shorter than a frame, as long, longer, and none."""
    file = model("Delay", [((2, 5), I16)], [((2, 5), I16)], {"delay_length": length})
    check_steps(file, draws((2, 5), 6))
    assert len(load(file).states) == (length > 0)


@pytest.mark.parametrize("dtype", [I16, F32])
@pytest.mark.parametrize("step", [1, 2, 3, 5])
def test_overlap_add(step: int, dtype: Any) -> None:
    """Overlaps of less and more than half a frame, and none."""
    values = {"T": 7 if dtype is I16 else 0, "frame_step": step}
    check_steps(model("OverlapAdd", [((2, 3, 5), dtype)], [((2, 3 * step), dtype)], values), draws((2, 3, 5), 6, dtype))


@pytest.mark.parametrize(
    ("size", "step", "samples", "prefill"),
    [
        (5, 2, 4, False),
        (5, 2, 4, True),
        (4, 2, 2, False),
        (4, 2, 6, True),
        (3, 3, 6, False),
        (3, 3, 3, True),
        (2, 5, 5, False),
        (11, 2, 4, False),
    ],
)
def test_framer(size: int, step: int, samples: int, prefill: bool) -> None:
    values = {"frame_size": size, "frame_step": step, "prefill": prefill}
    results = [((2, samples // step, size), I16), ((), np.bool_)]
    found = check_steps(model("Framer", [((2, samples), I16)], results, values), draws((2, samples), 8), valid=1)
    assert found[-1][1]
    assert found[0][1] == (prefill or size <= step)


@pytest.mark.parametrize(
    ("left", "right", "step"), [(0, 0, 1), (1, 1, 1), (2, 1, 2), (0, 3, 2), (3, 0, 4), (1, 2, 4), (2, 0, 1)]
)
def test_stacker(left: int, right: int, step: int) -> None:
    values = {
        "num_channels": 3,
        "stacker_left_context": left,
        "stacker_right_context": right,
        "stacker_step": step,
    }
    results = [((3 * (left + right + 1),), I16), ((), np.bool_)]
    found = check_steps(model("Stacker", [((3,), I16)], results, values), draws((3,), 14), valid=1)
    assert [index for index, (_, valid) in enumerate(found) if valid] == list(range(right, 14, step))


def test_a_state_takes_no_name_of_the_file() -> None:
    build = ModelBuilder()
    for name in ("x", "y", "y/samples", "y/next_samples"):
        build.tensor(name, (5,), I16)
    add(build, "Delay", ["x"], ["y"], {"delay_length": 2})
    add(build, "Delay", ["y"], ["y/samples"], {"delay_length": 5})
    add(build, "Delay", ["y/samples"], ["y/next_samples"], {"delay_length": 1})
    file = build.build(["x"], ["y/next_samples"])
    check_steps(file, draws((5,), 4))
    assert len({tensor.name for tensor in load(file).tensors()}) == 10


def test_a_front_end_takes_random_inputs_of_64_bits() -> None:
    record = SimpleNamespace(name="x", shape=(1000,), dtype="uint64")
    (drawn,) = input_files.random([record], np.random.default_rng(0)).values()
    assert drawn.dtype == np.uint64
    assert drawn.max() > 2**63


def test_generated_c_is_clean(tmp_path: Path) -> None:
    """Under sanitizers, with whatever the state holds, and under every warning."""
    build = ModelBuilder()
    shapes = {"x": (2, 4), "d": (2, 4), "f": (2, 2, 11), "o": (2, 6), "flat": (12,), "stack": (48,)}
    for name, shape in shapes.items():
        build.tensor(name, shape, I16)
    build.tensor("whole", (), np.bool_).tensor("valid", (), np.bool_)
    build.tensor("shape", (1,), np.int32, data=[12])
    add(build, "Delay", ["x"], ["d"], {"delay_length": 3})
    add(build, "Framer", ["d"], ["f", "whole"], {"frame_size": 11, "frame_step": 2, "prefill": False})
    add(build, "OverlapAdd", ["f"], ["o"], {"T": 7, "frame_step": 3})
    build.op("RESHAPE", ["o", "shape"], ["flat"])
    contexts = {"stacker_left_context": 1, "stacker_right_context": 2, "stacker_step": 2}
    add(build, "Stacker", ["flat"], ["stack", "valid"], {"num_channels": 12, **contexts})
    module = aboard.compile(
        build.build(["x"], ["stack", "valid", "whole"]), target="c -runtime=host -state=arena", name="model"
    )
    sanitized.run(module, sanitized.random_feed(module, 1), tmp_path)
    sanitized.compile_strictly(module, tmp_path, ["gcc"])


@pytest.mark.parametrize(
    ("name", "shape", "results", "values", "message"),
    [
        ("Delay", (5,), [((5,), I16)], {"delay_length": -1}, "option delay_length, got -1"),
        ("OverlapAdd", (5,), [((4,), I16)], {"T": 7, "frame_step": 4}, "shape of operand 0, got [5], expected 2"),
        ("OverlapAdd", (2, 5), [((12,), I16)], {"T": 7, "frame_step": 6}, "frame_step, got 6, expected at most 5"),
        (
            "Framer",
            (5,),
            [((2, 4), I16), ((), np.bool_)],
            {"frame_size": 4, "frame_step": 2, "prefill": False},
            "samples, got 5, expected a multiple of frame_step 2",
        ),
        (
            "Framer",
            (4,),
            [((1, 2), I16), ((), np.bool_)],
            {"frame_size": 2, "frame_step": 4, "prefill": True},
            "frame_step with prefill, got 4, expected at most frame_size 2",
        ),
        (
            "Stacker",
            (3,),
            [((6,), I16), ((), np.bool_)],
            {"num_channels": 3, "stacker_left_context": 1, "stacker_right_context": 0, "stacker_step": 3},
            "option stacker_step, got 3, expected an integer from 1 to 2",
        ),
    ],
)
def test_refusals(name: str, shape: tuple[int, ...], results: list, values: dict[str, Any], message: str) -> None:
    with pytest.raises(ModelError, match=re.escape(message)):
        load(model(name, [(shape, I16)], results, values))
