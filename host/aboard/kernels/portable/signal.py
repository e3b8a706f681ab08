"""Kernels of an audio front end on any core: one C function for each op, called once for the whole node."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Mapping, Sequence
from typing import ClassVar, cast

import numpy as np
from typing_extensions import override

from aboard.ir import DType, Node
from aboard.kernels.contract import (
    Argument,
    ConstantArg,
    Implementation,
    InputArg,
    KernelCall,
    OutputArg,
    PackedConstant,
)
from aboard.kernels.registry import implements
from aboard.kernels.view import Literal, View
from aboard.ops import signal_fft, signal_filter_bank, signal_pcan, signal_window
from aboard.ops.signal_numbers import numbers
from aboard.target import Target


class SignalKernel(Implementation):
    """A kernel on whole tensors without gaps: operands, results, then packed constants are its arguments.

    Attributes:
        header: C header.
        params_type: C type of the parameters; None for that of the function's own name.
    """

    name = "portable"
    header: ClassVar[str]
    params_type: ClassVar[str | None] = None

    @abstractmethod
    def params(self, node: Node) -> Mapping[str, Literal]:
        """Returns the parameters of the C function."""

    def function(self, node: Node) -> str:
        """Returns the name of the C function."""
        return f"aboard_{node.op}"

    def constants(self, node: Node) -> list[PackedConstant]:
        """Returns the packed constants."""
        del node
        return []

    def arguments(self, node: Node) -> list[Argument]:
        """Returns operands and results in their order, then the packed constants."""
        return [
            *(operand(node, index) for index in range(len(node.inputs))),
            *(result(node, index) for index in range(len(node.outputs))),
            *(ConstantArg(constant) for constant in self.constants(node)),
        ]

    @override
    def runs_in_place(self, node: Node) -> tuple[tuple[int, int], ...]:
        return tuple(pair for pair in self.in_place if pair[0] < len(node.outputs) and pair[1] < len(node.inputs))

    @override
    def lower(self, node: Node, inputs: Sequence[View | None], outputs: Sequence[View], target: Target) -> KernelCall:
        function, rows = self.function(node), outputs[0].rows
        return KernelCall(
            header=self.header,
            function=function,
            params_type=self.params_type or f"{function}_t",
            params=self.params(node),
            arguments=tuple(self.arguments(node)),
            rows=rows,
            step_rows=rows,
        )


def operand(node: Node, index: int) -> InputArg:
    """Returns the argument for an operand."""
    return InputArg(index, f"const {node.input(index).dtype.c} *")


def result(node: Node, index: int) -> OutputArg:
    """Returns the argument for a result."""
    return OutputArg(index, f"{node.outputs[index].dtype.c} *")


@implements
class SignalWindowPortable(SignalKernel):
    """signal_window."""

    op, header = "signal_window", "portable/signal_window.h"
    in_place = ((0, 0),)

    @override
    def params(self, node: Node) -> Mapping[str, Literal]:
        return {
            "elements": node.output.type.elements,
            "length": node.input(1).type.elements,
            "shift": cast(signal_window.WindowAttributes, node.attrs).shift,
        }


@implements
class SignalFftAutoScalePortable(SignalKernel):
    """signal_fft_auto_scale."""

    op, header = "signal_fft_auto_scale", "portable/signal_window.h"
    in_place = ((0, 0),)

    @override
    def params(self, node: Node) -> Mapping[str, Literal]:
        return {"elements": node.output.type.elements}


@implements
class SignalEnergyPortable(SignalKernel):
    """signal_energy."""

    op, header = "signal_energy", "portable/signal_window.h"

    @override
    def params(self, node: Node) -> Mapping[str, Literal]:
        attrs = cast(signal_window.EnergyAttributes, node.attrs)
        return {"elements": node.output.type.elements, "start": attrs.start, "end": attrs.end}


class Fft(SignalKernel):
    """A transform; its tables are constants."""

    inverse: ClassVar[bool]

    @override
    def params(self, node: Node) -> Mapping[str, Literal]:
        count = signal_fft.fft_length(node) // 2
        frame, factors = node.input(0).shape[-1], signal_fft.factors(count)
        frames = node.input(0).type.elements // frame
        return {
            "frames": frames,
            "in_length": frame,
            "count": count,
            "steps": len(factors),
            "factors": factors,
        }

    @override
    def function(self, node: Node) -> str:
        return f"aboard_signal_fft_{_suffix(node)}_{'irfft' if self.inverse else 'rfft'}"

    @override
    def constants(self, node: Node) -> list[PackedConstant]:
        count, dtype = signal_fft.fft_length(node) // 2, node.output.dtype
        n = numbers(dtype)
        tables = {
            "twiddles": signal_fft.twiddles(n, count, inverse=self.inverse),
            "halves": signal_fft.super_twiddles(n, count, inverse=self.inverse),
        }
        return [
            PackedConstant(name, np.stack(pair, axis=-1).reshape(-1).astype(dtype.numpy))
            for name, pair in tables.items()
        ]

    @override
    def lower(self, node: Node, inputs: Sequence[View | None], outputs: Sequence[View], target: Target) -> KernelCall:
        call, suffix = super().lower(node, inputs, outputs, target), _suffix(node)
        return KernelCall(
            f"portable/signal_fft_{suffix}.h",
            call.function,
            f"aboard_signal_fft_{suffix}_t",
            call.params,
            call.arguments,
            call.rows,
            call.step_rows,
        )


def _suffix(node: Node) -> str:
    return {DType.INT16: "s16", DType.INT32: "s32"}.get(node.output.dtype, "f32")


@implements
class SignalRfftPortable(Fft):
    """signal_rfft."""

    op, header, inverse = "signal_rfft", "portable/signal_fft.h", False


@implements
class SignalIrfftPortable(Fft):
    """signal_irfft."""

    op, header, inverse = "signal_irfft", "portable/signal_fft.h", True


class _Channels(SignalKernel):
    header = "portable/signal_filter_bank.h"

    @override
    def params(self, node: Node) -> Mapping[str, Literal]:
        return {"channels": node.output.type.elements}


@implements
class SignalFilterBankPortable(_Channels):
    """signal_filter_bank; the groups are packed."""

    op, params_type = "signal_filter_bank", "aboard_signal_channels_t"

    @override
    def arguments(self, node: Node) -> list[Argument]:
        groups = np.asarray(signal_filter_bank.groups_of(node), np.int16)
        constants = [
            ConstantArg(PackedConstant(name, groups[:, column]))
            for column, name in enumerate(("energies", "starts", "widths"))
        ]
        return [*(operand(node, index) for index in range(3)), result(node, 0), *constants]


@implements
class SignalFilterBankSquareRootPortable(_Channels):
    """signal_filter_bank_square_root."""

    op, params_type = "signal_filter_bank_square_root", "aboard_signal_channels_t"


@implements
class SignalFilterBankSpectralSubtractionPortable(_Channels):
    """signal_filter_bank_spectral_subtraction."""

    op = "signal_filter_bank_spectral_subtraction"
    in_place = ((0, 0), (1, 1))

    @override
    def params(self, node: Node) -> Mapping[str, Literal]:
        attrs = cast(signal_filter_bank.SubtractionAttributes, node.attrs)
        return {
            "channels": node.output.type.elements,
            "smoothing": [attrs.smoothing, attrs.alternate_smoothing],
            "remaining": [attrs.one_minus_smoothing, attrs.alternate_one_minus_smoothing],
            "least": attrs.min_signal_remaining,
            "smoothing_bits": attrs.smoothing_bits,
            "bits": attrs.bits,
            "clamping": attrs.clamping,
        }


@implements
class SignalPcanPortable(_Channels):
    """signal_pcan."""

    op = "signal_pcan"
    in_place = ((0, 0),)

    @override
    def params(self, node: Node) -> Mapping[str, Literal]:
        attrs = cast(signal_pcan.PcanAttributes, node.attrs)
        return {"channels": node.output.type.elements, "snr_shift": attrs.snr_shift}


@implements
class SignalFilterBankLogPortable(_Channels):
    """signal_filter_bank_log."""

    op = "signal_filter_bank_log"

    @override
    def params(self, node: Node) -> Mapping[str, Literal]:
        attrs = cast(signal_filter_bank.LogAttributes, node.attrs)
        return {
            "channels": node.output.type.elements,
            "correction_bits": attrs.correction_bits,
            "scale": attrs.scale,
        }

    @override
    def constants(self, node: Node) -> list[PackedConstant]:
        return [PackedConstant("logarithms", signal_filter_bank.log_table())]
