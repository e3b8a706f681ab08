"""Kernels that keep samples from run to run, on any core."""

from __future__ import annotations

from collections.abc import Mapping
from typing import cast

from typing_extensions import override

from aboard.ir import DType, Node
from aboard.kernels.contract import Argument, Scratch, ScratchArg
from aboard.kernels.portable.signal import SignalKernel, operand, result
from aboard.kernels.registry import implements
from aboard.kernels.view import Literal
from aboard.ops import signal_stream


class _Stream(SignalKernel):
    """A kernel with states. A node without one of them passes memory in its place that the kernel does not touch."""

    header = "portable/signal_stream.h"

    def before(self, node: Node, index: int, ctype: str) -> Argument:
        """Returns the argument for a state that is operand `index`, or for memory in its place."""
        return operand(node, index) if index < len(node.inputs) else _nothing(f"const {ctype} *")

    def after(self, node: Node, index: int, ctype: str) -> Argument:
        """Returns the argument for the next value of a state that is result `index`, or for memory in its place."""
        return result(node, index) if index < len(node.outputs) else _nothing(f"{ctype} *")


def _nothing(ctype: str) -> Argument:
    """Returns memory of one element."""
    return ScratchArg(Scratch(4), ctype)


@implements
class SignalDelayPortable(_Stream):
    """signal_delay."""

    op = "signal_delay"
    in_place = ((1, 1),)

    @override
    def params(self, node: Node) -> Mapping[str, Literal]:
        samples = node.output.shape[-1]
        kept = cast(signal_stream.DelayAttributes, node.attrs).length
        return {"streams": node.output.type.elements // samples, "samples": samples, "kept": kept}

    @override
    def arguments(self, node: Node) -> list[Argument]:
        before, after = self.before(node, 1, "int16_t"), self.after(node, 1, "int16_t")
        return [operand(node, 0), before, result(node, 0), after]


@implements
class SignalOverlapAddPortable(_Stream):
    """signal_overlap_add."""

    op, params_type = "signal_overlap_add", "aboard_signal_overlap_add_t"
    in_place = ((1, 1),)

    @override
    def function(self, node: Node) -> str:
        return f"aboard_signal_overlap_add_{'f32' if node.output.dtype is DType.FLOAT32 else 's16'}"

    @override
    def params(self, node: Node) -> Mapping[str, Literal]:
        shape = node.input(0).shape
        return {
            "streams": node.input(0).type.elements // (shape[-1] * shape[-2]),
            "frames": shape[-2],
            "size": shape[-1],
            "step": signal_stream.frame_attributes(node).step,
        }

    @override
    def arguments(self, node: Node) -> list[Argument]:
        ctype = node.output.dtype.c
        return [operand(node, 0), self.before(node, 1, ctype), result(node, 0), self.after(node, 1, ctype)]


@implements
class SignalFramerPortable(_Stream):
    """signal_framer."""

    op = "signal_framer"
    in_place = ((2, 1), (3, 2))

    @override
    def params(self, node: Node) -> Mapping[str, Literal]:
        attrs, shape = signal_stream.frame_attributes(node), node.input(0).shape
        return {
            "streams": node.input(0).type.elements // shape[-1],
            "frames": shape[-1] // attrs.step,
            "size": attrs.size,
            "step": attrs.step,
            "kept": signal_stream.samples_before(node),
            "counted": len(node.inputs) > 2,
        }

    @override
    def arguments(self, node: Node) -> list[Argument]:
        return [
            operand(node, 0),
            self.before(node, 1, "int16_t"),
            self.before(node, 2, "int32_t"),
            result(node, 0),
            result(node, 1),
            self.after(node, 2, "int16_t"),
            self.after(node, 3, "int32_t"),
        ]


@implements
class SignalStackerPortable(_Stream):
    """signal_stacker."""

    op = "signal_stacker"
    in_place = ((2, 1), (3, 2))

    @override
    def params(self, node: Node) -> Mapping[str, Literal]:
        attrs, channels = signal_stream.stacker_attributes(node), node.input(0).type.elements
        return {
            "channels": channels,
            "kept": channels * (attrs.frames - 1),
            "right": attrs.right,
            "step": attrs.step,
        }

    @override
    def arguments(self, node: Node) -> list[Argument]:
        return [
            operand(node, 0),
            operand(node, 1),
            self.before(node, 2, "int16_t"),
            result(node, 0),
            result(node, 1),
            result(node, 2),
            self.after(node, 3, "int16_t"),
        ]
