"""Averages, sums and extremes of int8 with Helium: eight sums or sixteen extremes at once."""

from __future__ import annotations

from aboard.kernels.arm_dsp.reduction import OfInt8
from aboard.kernels.portable.extremes import ReduceMaxPortable, ReduceMinPortable
from aboard.kernels.portable.mean import MeanS8, SumS8
from aboard.kernels.registry import implements


class _Mve(OfInt8):
    name = "arm_mve_s8"
    keys = frozenset({"arm_mve"})
    header = "arm_mve/reduction.h"
    # With fewer elements, most lanes of a vector are idle.
    least = 4
    per_element, per_result = 0.35, 30.0


@implements
class MeanMve(_Mve, MeanS8):
    """mean."""

    function = "mean_mve"
    exact = False


@implements
class SumMve(_Mve, SumS8):
    """sum."""

    function = "mean_mve"
    exact = False


@implements
class ReduceMaxMve(_Mve, ReduceMaxPortable):
    """reduce_max."""

    function = "reduce_max_mve"


@implements
class ReduceMinMve(_Mve, ReduceMinPortable):
    """reduce_min."""

    function = "reduce_min_mve"
