"""Window, scale and energy of an audio front end with Helium: a vector at once."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from typing_extensions import override

from aboard.ir import Node
from aboard.kernels.contract import KernelCall
from aboard.kernels.portable.signal import (
    SignalEnergyPortable,
    SignalFftAutoScalePortable,
    SignalKernel,
    SignalWindowPortable,
)
from aboard.kernels.registry import implements
from aboard.kernels.view import View
from aboard.target import Target


class _Mve(SignalKernel):
    name = "arm_mve"
    keys = frozenset({"arm_mve"})

    @override
    def lower(self, node: Node, inputs: Sequence[View | None], outputs: Sequence[View], target: Target) -> KernelCall:
        call = super().lower(node, inputs, outputs, target)
        return replace(call, header="arm_mve/signal_window.h", function=f"{call.function}_mve")


@implements
class SignalWindowMve(_Mve, SignalWindowPortable):
    """signal_window."""


@implements
class SignalFftAutoScaleMve(_Mve, SignalFftAutoScalePortable):
    """signal_fft_auto_scale."""


@implements
class SignalEnergyMve(_Mve, SignalEnergyPortable):
    """signal_energy."""
