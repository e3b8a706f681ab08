"""Reductions of int8 whose kernels for the DSP extension and Helium take every way: words, ends, sums of many."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from support.tflite_builder import ModelBuilder


@dataclass(frozen=True)
class Case:
    """A reduction."""

    kind: str
    shape: tuple[int, ...]
    axes: tuple[int, ...]
    keep: bool = True

    def __str__(self) -> str:
        return f"{self.kind}-{'x'.join(map(str, self.shape))}-{''.join(map(str, self.axes))}"

    @property
    def result(self) -> tuple[int, ...]:
        """Shape of the result."""
        kept = [1 if axis in self.axes else extent for axis, extent in enumerate(self.shape)]
        return tuple(e for axis, e in enumerate(kept) if self.keep or axis not in self.axes)


CASES = [
    Case("MEAN", (1, 7, 7, 16), (1, 2)),
    Case("MEAN", (2, 20, 20, 13), (1, 2)),
    Case("SUM", (2, 3, 4, 5), (0, 2)),
    Case("MEAN", (3, 4, 21), (2,), keep=False),
    Case("SUM", (4, 5, 37), (1, 2)),
    Case("REDUCE_MAX", (1, 6, 5, 35), (1, 2)),
    Case("REDUCE_MIN", (2, 3, 4, 6), (0, 2)),
    Case("REDUCE_MAX", (5, 19), (1,), keep=False),
    Case("REDUCE_MIN", (3, 4, 32), (0, 2), keep=False),
]


def model(cases: Sequence[Case], dtype: type = np.int8) -> bytes:
    """Returns a model with an input `x<n>` and an output `y<n>` for each case."""
    build = ModelBuilder()
    zeros = (0, 0) if dtype == np.int16 else (-7, 5)
    for number, case in enumerate(cases):
        sums = case.kind in ("MEAN", "SUM")
        scale = 0.05 * (np.prod(case.shape) / np.prod(case.result)) ** 0.5 if case.kind == "SUM" else 0.02
        build.tensor(f"x{number}", case.shape, dtype, scale=0.05, zero_point=zeros[0])
        build.tensor(f"a{number}", (len(case.axes),), np.int32, data=case.axes)
        quant = {"scale": float(scale), "zero_point": zeros[1]} if sums else {"scale": 0.05, "zero_point": zeros[0]}
        build.tensor(f"y{number}", case.result, dtype, **quant)
        build.op(case.kind, [f"x{number}", f"a{number}"], [f"y{number}"], {"KeepDims": case.keep})
    return build.build([f"x{n}" for n in range(len(cases))], [f"y{n}" for n in range(len(cases))])


def values(case: Case, seed: int = 0) -> np.ndarray:
    """Returns an operand: elements of one sign in half of the results, so that sums are far from 0."""
    rng = np.random.default_rng(seed)
    x = rng.integers(-128, 128, case.shape).astype(np.int8)
    return np.where(rng.random(case.shape[-1]) < 0.5, np.where(x < 0, -1 - x, x), x).astype(np.int8)
