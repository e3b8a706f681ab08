"""From integers to the quantisation of a model's input, as `firmware/frontend/scale.h` computes it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from aboard.errors import InputError
from aboard.ir.numerics import MOST_EXACT_SHIFT, multiply_exactly, quantize_multiplier

#: `aboard_requantize_exactly` limits its result, so that a zero point can be added.
_MOST = 1 << 30


@dataclass(frozen=True)
class IntegerScale:
    """Brings integers to int8: what stands for the same real number.

    A real number is `before` * (x - `zero_before`), and `after` * (result - `zero_after`).

    Attributes:
        before: Real number of a step of the operand, greater than 0.
        after: Real number of a step of the result: the scale of the model's input.
        zero_before: The integer that stands for 0 in the operand.
        zero_after: The integer that stands for 0 in the result: the zero point of the model's input.
    """

    before: float
    after: float
    zero_before: int = 0
    zero_after: int = 0

    def __post_init__(self) -> None:
        """Checks the numbers.

        Raises:
            InputError: A scale is not greater than 0, their ratio is out of range, or a zero point is.
        """
        if not (self.before > 0 and self.after > 0):
            raise InputError(f"scales, got {self.before} and {self.after}, expected numbers above 0. Change them")
        multiplier, shift = quantize_multiplier(self.before / self.after)
        if multiplier == 0 or shift > MOST_EXACT_SHIFT:
            ratio = self.before / self.after
            raise InputError(f"ratio of scales, got {ratio:g}, expected 2^-32 to 2^{MOST_EXACT_SHIFT}. Change them")
        if not (-(2**15) <= self.zero_before < 2**15 and -128 <= self.zero_after < 128):
            raise InputError(
                f"zero points, got {self.zero_before} and {self.zero_after}, expected one of int16 and one of int8. "
                "Change them"
            )

    @property
    def fields(self) -> dict[str, int]:
        """The fields of `aboard_scale_t`."""
        multiplier, shift = quantize_multiplier(self.before / self.after)
        return {"from": self.zero_before, "multiplier": multiplier, "shift": shift, "to": self.zero_after}

    def __call__(self, x: npt.NDArray[Any]) -> npt.NDArray[np.int8]:
        """Returns integers of int16, uint8 or int8 as int8."""
        multiplier, shift = quantize_multiplier(self.before / self.after)
        steps = multiply_exactly(x.astype(np.int64) - self.zero_before, multiplier, shift).clip(-_MOST, _MOST)
        found: npt.NDArray[np.int8] = (steps + self.zero_after).clip(-128, 127).astype(np.int8)
        return found
