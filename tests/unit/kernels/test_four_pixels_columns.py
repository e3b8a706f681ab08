"""Units of windows that loads gather: their offsets, and the weights at their bytes."""

from __future__ import annotations

import numpy as np
import pytest

from aboard.kernels.arm_mve.four_pixels_columns import Gather, possible, possible_taps


@pytest.mark.parametrize("unit", [1, 2, 4])
@pytest.mark.parametrize(
    ("rows", "run", "stride", "taps", "apart"), [(3, 8, 96, 3, 16), (2, 4, 40, 5, 8), (3, 12, 60, 1, 0)]
)
def test_windows_are_gathered_as_their_weights_are_spread(
    unit: int, rows: int, run: int, stride: int, taps: int, apart: int
) -> None:
    rng = np.random.default_rng(7)
    found = Gather(unit, rows, run, stride, taps, apart)
    memory = rng.integers(-128, 128, found.furthest + unit)
    weights = rng.integers(-128, 128, (5, rows * taps * run))
    window = [memory[r * stride + t * apart + c] for r in range(rows) for t in range(taps) for c in range(run)]
    offsets = found.offsets().view(f"<u{unit}").astype(int)
    gathered = np.concatenate([memory[at : at + unit] for at in offsets])
    spread = found.spread(weights)
    assert len(gathered) == 16 * found.chunks >= spread.shape[1]
    assert (spread @ gathered[: spread.shape[1]] == weights @ window).all()


def test_units_divide_all_distances() -> None:
    assert [each.unit for each in possible_taps((3, 3), 8, 8, 16, (96,))] == [4, 2, 1]
    assert [each.unit for each in possible_taps((3, 3), 6, 12, 12, (84,))] == [2, 1]
    assert [each.unit for each in possible_taps((3, 3), 6, 6, 6, (63,))] == [1]
    assert [each.stride for each in possible_taps((3, 3), 6, 6, 6, (63, 66)) if each.unit == 2] == [66]


def test_bytes_have_offsets_of_a_byte() -> None:
    assert list(possible_taps((3, 3), 3, 3, 6, (120,))) == [Gather(1, 3, 3, 120, 3, 6)]
    assert list(possible_taps((3, 3), 3, 3, 6, (123,))) == []


def test_whole_vectors_are_copied() -> None:
    assert list(possible_taps((3, 3), 16, 16, 32, (256,))) == []
    assert list(possible(3, 16, 16, (256,), beyond=True)) == []
