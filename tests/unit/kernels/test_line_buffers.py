"""How many rows of results a line buffer for Helium serves."""

from __future__ import annotations

from dataclasses import dataclass

import pytest

from aboard.importers import load
from aboard.kernels.arm_mve.line_buffer import lines_at_once
from aboard.kernels.view import View
from aboard.target import Target
from support.weighted_models import Layer


@dataclass(frozen=True)
class _Layer:
    """A 3x3 convolution: rows of its operand and of the buffer that these are in, 0 for all; rows of a stripe."""

    height: int = 64
    stride: int = 1
    depth: int = 16
    options: str = ""
    buffer: int = 0
    stripe: int = 0

    @property
    def lines(self) -> int:
        """Rows of results whose windows the line buffer holds."""
        rows, depth = -(-self.height // self.stride), self.depth
        options = {"Padding": "SAME", "StrideH": self.stride, "StrideW": 1}
        layer = Layer("CONV_2D", (1, self.height, 4, depth), (8, 3, 3, depth), (1, rows, 4, 8), 0, options)
        (node,) = load(layer.model(), name="model").nodes
        x = View(self.height, 4, depth, 4 * depth, depth, self.buffer or self.height, 1)
        y = View(rows, 4, 8, 32, 8, rows, 1, stripe_height=self.stripe)
        return lines_at_once(node, x, y, Target(f"c -mcpu=cortex-m55{self.options}"))


@pytest.mark.parametrize(("height", "stride", "lines"), [(7, 1, 1), (8, 1, 2), (16, 1, 3), (64, 1, 3), (16, 2, 2)])
def test_further_rows_are_an_eighth_of_the_operand_at_most(height: int, stride: int, lines: int) -> None:
    assert _Layer(height, stride).lines == lines


@pytest.mark.parametrize(
    "layer",
    [
        _Layer(options=" -opt=size"),
        _Layer(options=" -ram-max=20000"),
        _Layer(depth=3),
        _Layer(stride=4),
        _Layer(buffer=8),
    ],
    ids=["size", "limit", "few channels", "windows apart", "rolling buffer"],
)
def test_one_row_where_memory_is_scarce_or_further_rows_are_not_there(layer: _Layer) -> None:
    assert _Layer().lines == 3
    assert layer.lines == 1


def test_stripes_fill_it_anew() -> None:
    assert _Layer(stripe=2).lines == 0
