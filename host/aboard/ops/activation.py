"""Fused activations: a clamp that an op applies to its own result."""

from __future__ import annotations

import math
from enum import Enum

import numpy as np
import numpy.typing as npt

from aboard.ir import DType, Quantization
from aboard.ir.numerics import quotient32, round_half_away
from aboard.ops.registry import SourceNode

#: Largest finite float32: TFLite's limit without an activation.
FLOAT32_MAX = float(np.finfo(np.float32).max)

_REFUSED = {4: "TANH", 5: "SIGN_BIT"}


class Activation(Enum):
    """A fused activation; the value is its number in the TFLite schema (`ActivationFunctionType`)."""

    NONE = 0
    RELU = 1
    RELU_N1_TO_1 = 2
    RELU6 = 3

    @classmethod
    def from_tflite(cls, source: SourceNode, option: str = "FusedActivationFunction") -> Activation:
        """Returns the activation of an operator of a TFLite file.

        Args:
            source: The operator.
            option: Name of the option that holds the number.

        Raises:
            ModelError: TANH, SIGN_BIT (which tflite-micro silently ignores) or a number that is not in the schema; or
                a result whose scale is too small for the limits.
        """
        number = int(source.options[option])
        if number not in {member.value for member in cls}:
            known = ", ".join(member.name for member in cls)
            got = _REFUSED.get(number, str(number))
            raise source.unsupported(
                f"fused activation, got {got}, expected one of {known}. Export the activation as an operator of its own"
            )
        activation = cls(number)
        quant = source.outputs[0].type.quant if source.outputs else None
        wrong = None if quant is None or quant.per_channel else activation.overflow_problem(quant.scale)
        if wrong is not None:
            raise source.unsupported(wrong)
        return activation

    def overflow_problem(self, scale: float) -> str | None:
        """Returns why the limits, divided by a scale, exceed the 32 bits of the reference, or None."""
        largest = max(abs(limit or 0.0) for limit in self.limits)
        if not scale > 0 or quotient32(largest, scale) < 2**31:
            return None
        return (
            f"scale of the result, got {scale:g} with {self.name}, expected more than {largest / 2**31:g}. "
            "Quantise the model again"
        )

    def is_tie(self, scale: float) -> bool:
        """True if a limit lies midway between two integers of a scale: `range` takes the one further from zero."""
        steps = [quotient32(limit or 0.0, scale) for limit in self.limits]
        return any(abs(step - math.trunc(step)) == 0.5 for step in steps if math.isfinite(step))

    @property
    def limits(self) -> tuple[float | None, float | None]:
        """The limits (low, high) of the real result; None for no limit."""
        limits: dict[Activation, tuple[float | None, float | None]] = {
            Activation.NONE: (None, None),
            Activation.RELU: (0.0, None),
            Activation.RELU_N1_TO_1: (-1.0, 1.0),
            Activation.RELU6: (0.0, 6.0),
        }
        return limits[self]

    def range(self, quant: Quantization, dtype: DType = DType.INT8) -> tuple[int, int]:
        """Returns the integers `(low, high)` to which a quantised result is clamped.

        The rule is `CalculateActivationRangeQuantized` of TFLite: limits are divided by the scale in float32 and
        rounded with ties away from zero.

        Args:
            quant: Per-tensor quantisation of the result.
            dtype: An integer element type.
        """
        info = np.iinfo(dtype.value)
        low, high = self.limits

        def quantized(limit: float) -> int:
            # An infinite quotient becomes a limit beyond any integer type.
            return round_half_away(max(min(quotient32(limit, quant.scale), 1e30), -1e30)) + quant.zero_point

        return (
            int(info.min) if low is None else max(int(info.min), quantized(low)),
            int(info.max) if high is None else min(int(info.max), quantized(high)),
        )

    def whole_range(self) -> tuple[int, int]:
        """Returns the integers `(low, high)` that an int32 result without quantisation is clamped to."""
        low, high = self.limits
        return (-(2**31) if low is None else int(low), 2**31 - 1 if high is None else int(high))

    def clamp(self, x: npt.NDArray[np.float32]) -> npt.NDArray[np.float32]:
        """Returns float32 values kept between the limits; NaN stays."""
        low, high = self.limits
        if low is not None:
            x = np.where(x < np.float32(low), np.float32(low), x)
        return x if high is None else np.where(x > np.float32(high), np.float32(high), x)

    def float_range(self) -> tuple[float, float]:
        """Returns the finite float32 values `(low, high)` to which a float result is clamped."""
        low, high = self.limits
        return (-FLOAT32_MAX if low is None else low, FLOAT32_MAX if high is None else high)
