"""Fourier transforms of int16 with Helium: four complex numbers at once."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from typing_extensions import override

from aboard.ir import Node
from aboard.kernels.arm_dsp.signal_fft import FftDspS16
from aboard.kernels.contract import KernelCall
from aboard.kernels.registry import implements
from aboard.kernels.view import View
from aboard.target import Target


class _MveS16(FftDspS16):
    name = "arm_mve_s16"
    keys = frozenset({"arm_mve"})
    align = 4  # vectors are gathered from words

    @override
    def lower(self, node: Node, inputs: Sequence[View | None], outputs: Sequence[View], target: Target) -> KernelCall:
        call = super().lower(node, inputs, outputs, target)
        function = call.function.replace("_dsp_", "_mve_")
        return replace(call, header="arm_mve/signal_fft.h", function=function)


@implements
class RfftMveS16(_MveS16):
    """signal_rfft."""

    op, header, inverse = "signal_rfft", "arm_mve/signal_fft.h", False


@implements
class IrfftMveS16(_MveS16):
    """signal_irfft."""

    op, header, inverse = "signal_irfft", "arm_mve/signal_fft.h", True
