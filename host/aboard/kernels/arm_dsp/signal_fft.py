"""Fourier transforms of int16 for cores with the DSP extension: a complex number is a word."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from typing_extensions import override

from aboard.ir import DType, Node
from aboard.kernels.contract import KernelCall
from aboard.kernels.portable.signal import Fft
from aboard.kernels.registry import implements
from aboard.kernels.view import View
from aboard.ops import signal_fft
from aboard.target import Target


class FftDspS16(Fft):
    """The common part of both transforms."""

    name = "dsp_s16"
    keys = frozenset({"arm_dsp"})

    @override
    def refuses(self, node: Node, target: Target) -> str | None:
        if node.output.dtype is not DType.INT16:
            return "is for int16"
        factors = signal_fft.factors(signal_fft.fft_length(node) // 2)
        return None if set(factors) <= {2, 4} else "is for lengths that are powers of two"

    @override
    def lower(self, node: Node, inputs: Sequence[View | None], outputs: Sequence[View], target: Target) -> KernelCall:
        call = super().lower(node, inputs, outputs, target)
        function = call.function.replace("_s16_", "_dsp_")
        return replace(call, header="arm_dsp/signal_fft.h", function=function)


@implements
class RfftDspS16(FftDspS16):
    """signal_rfft."""

    op, header, inverse = "signal_rfft", "arm_dsp/signal_fft.h", False


@implements
class IrfftDspS16(FftDspS16):
    """signal_irfft."""

    op, header, inverse = "signal_irfft", "arm_dsp/signal_fft.h", True
