"""Products of matrices of int8 whose kernels take every way: orders of axes, ends of rows and columns, batches."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from support.tflite_builder import ModelBuilder


@dataclass(frozen=True)
class Case:
    """A product of [batch, rows, depth] and [batch, depth, cols], each perhaps stored by columns."""

    rows: int
    depth: int
    cols: int
    batches: tuple[int, int] = (1, 1)
    adj_x: bool = False
    adj_y: bool = False
    zero_points: tuple[int, int] = (-7, 5)

    def __str__(self) -> str:
        return f"{self.batches}-{self.rows}x{self.depth}x{self.cols}-{self.adj_x:d}{self.adj_y:d}-{self.zero_points}"

    @property
    def shapes(self) -> tuple[tuple[int, ...], tuple[int, ...]]:
        """Shapes of the operands."""
        x, y = (self.rows, self.depth), (self.depth, self.cols)
        return (self.batches[0], *(x[::-1] if self.adj_x else x)), (
            self.batches[1],
            *(y[::-1] if self.adj_y else y),
        )


CASES = [
    Case(5, 16, 8),
    Case(3, 37, 9, adj_y=True),
    Case(6, 13, 4, (3, 1), adj_x=True),
    Case(1, 70, 6, (2, 2), adj_x=True, adj_y=True),
    Case(4, 3, 1, (1, 3)),
    Case(7, 32, 12, zero_points=(-128, 0)),
    Case(2, 64, 5, adj_y=True, zero_points=(127, -128)),
]


def model(cases: Sequence[Case]) -> bytes:
    """Returns a model with inputs `x<n>` and `y<n>`, and an output `z<n>`, for each case."""
    build, inputs, outputs = ModelBuilder(), list[str](), list[str]()
    for number, case in enumerate(cases):
        for name, shape, zero in zip("xy", case.shapes, case.zero_points, strict=True):
            build.tensor(f"{name}{number}", shape, np.int8, scale=0.05, zero_point=zero)
            inputs.append(f"{name}{number}")
        result = (max(case.batches), case.rows, case.cols)
        build.tensor(f"z{number}", result, np.int8, scale=0.2 * case.depth**0.5, zero_point=11)
        options = {"AdjX": case.adj_x, "AdjY": case.adj_y}
        build.op("BATCH_MATMUL", [f"x{number}", f"y{number}"], [f"z{number}"], options)
        outputs.append(f"z{number}")
    return build.build(inputs, outputs)


def values(case: Case, seed: int = 0) -> list[np.ndarray]:
    """Returns random operands of the whole range."""
    rng = np.random.default_rng(seed)
    return [rng.integers(-128, 128, shape).astype(np.int8) for shape in case.shapes]
