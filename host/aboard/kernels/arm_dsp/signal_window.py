"""Window and scale of an audio front end for cores with the DSP extension: two elements at once."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from typing_extensions import override

from aboard.ir import Node
from aboard.kernels.contract import KernelCall
from aboard.kernels.portable.signal import SignalFftAutoScalePortable, SignalKernel, SignalWindowPortable
from aboard.kernels.registry import implements
from aboard.kernels.view import View
from aboard.target import Target


class _Dsp(SignalKernel):
    name = "dsp"
    keys = frozenset({"arm_dsp"})

    @override
    def lower(self, node: Node, inputs: Sequence[View | None], outputs: Sequence[View], target: Target) -> KernelCall:
        call = super().lower(node, inputs, outputs, target)
        return replace(call, header="arm_dsp/signal_window.h", function=f"{call.function}_dsp")


@implements
class SignalWindowDsp(_Dsp, SignalWindowPortable):
    """signal_window."""


@implements
class SignalFftAutoScaleDsp(_Dsp, SignalFftAutoScalePortable):
    """signal_fft_auto_scale."""
