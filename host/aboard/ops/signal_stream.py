"""Ops that keep samples from run to run: delay, overlap and add, frames of a stream, stacks of frames."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import cast

import numpy as np
from typing_extensions import override

from aboard.ir import Array, Attributes, DType, Node
from aboard.ops.registry import SourceNode, register
from aboard.ops.signal import Kept, SignalOp, Signature, integer

_I16 = (DType.INT16,)
_MOST = 2**24
_COUNT = DType.INT32


@dataclass(frozen=True)
class DelayAttributes(Attributes):
    """Attributes of `signal_delay`.

    Attributes:
        length: Samples by which each stream is delayed.
    """

    length: int


@register
class SignalDelay(SignalOp):
    """Delays streams: the last axis of the operand is the next samples of a stream; the first samples are 0."""

    name = "signal_delay"
    attributes = DelayAttributes
    tflite = ("CUSTOM SignalDelay",)
    signatures = (Signature(_I16, _I16),)
    ranks = (None,)

    @override
    def read(self, source: SourceNode) -> DelayAttributes:
        return DelayAttributes(integer(source, "delay_length", 0, _MOST))

    @override
    def shapes(self, node: Node) -> list[tuple[int, ...]]:
        return [node.input(0).shape]

    @override
    def kept(self, node: Node) -> list[Kept]:
        length = cast(DelayAttributes, node.attrs).length
        return [Kept("samples", (*node.input(0).shape[:-1], length), DType.INT16)] if length else []

    @override
    def evaluate(self, node: Node, operands: Sequence[Array | None]) -> list[Array]:
        x = np.asarray(operands[0])
        if len(operands) == 1:
            return [x]
        both = np.concatenate([np.asarray(operands[1]), x], axis=-1)
        return [both[..., : x.shape[-1]], both[..., x.shape[-1] :]]


@dataclass(frozen=True)
class FrameAttributes(Attributes):
    """Attributes of ops on frames.

    Attributes:
        size: Samples of a frame; 0 where the shape of the operand says it.
        step: Samples from the start of a frame to the start of the next.
        prefill: Whether a stream begins with zeros, so that all frames are valid.
    """

    size: int
    step: int
    prefill: bool = False


@register
class SignalOverlapAdd(SignalOp):
    """Adds overlapping frames (..., frames, size) to a stream (..., frames * step); sums of int16 saturate."""

    name = "signal_overlap_add"
    attributes = FrameAttributes
    tflite = ("CUSTOM SignalOverlapAdd",)
    signatures = (Signature(_I16, _I16), Signature((DType.FLOAT32,), (DType.FLOAT32,)))
    ranks = (None,)

    @override
    def read(self, source: SourceNode) -> FrameAttributes:
        number = {DType.INT16: 7, DType.FLOAT32: 0}.get(source.input(0).dtype)
        if number is not None:
            integer(source, "T", number, number)
        return FrameAttributes(0, integer(source, "frame_step", 1, _MOST))

    @override
    def problem(self, node: Node) -> str | None:
        shape, step = node.input(0).shape, frame_attributes(node).step
        if len(shape) < 2:
            return f"shape of operand 0, got {list(shape)}, expected 2 dimensions at least"
        return f"frame_step, got {step}, expected at most {shape[-1]}" if step > shape[-1] else None

    @override
    def shapes(self, node: Node) -> list[tuple[int, ...]]:
        shape = node.input(0).shape
        return [(*shape[:-2], shape[-2] * frame_attributes(node).step)]

    @override
    def kept(self, node: Node) -> list[Kept]:
        shape = node.input(0).shape
        overlap = shape[-1] - frame_attributes(node).step
        return [Kept("overlap", (*shape[:-2], overlap), node.input(0).dtype)] if overlap else []

    @override
    def evaluate(self, node: Node, operands: Sequence[Array | None]) -> list[Array]:
        x, step = np.asarray(operands[0]), frame_attributes(node).step
        frames = x.reshape(-1, *x.shape[-2:])
        overlap = x.shape[-1] - step
        kept = np.asarray(operands[1]) if overlap else np.zeros(0, x.dtype)
        sums = np.zeros((len(frames), x.shape[-1]), x.dtype)
        sums[:, :overlap] = kept.reshape(len(frames), overlap)
        found = []
        for frame in range(x.shape[-2]):
            sums = _added(sums, frames[:, frame])
            found.append(sums[:, :step])
            sums = np.concatenate([sums[:, step:], np.zeros_like(sums[:, :step])], axis=1)
        y = np.stack(found, axis=1).reshape(node.output.shape)
        return [y, sums[:, :overlap].reshape(kept.shape)] if overlap else [y]


def _added(a: Array, b: Array) -> Array:
    if a.dtype == np.float32:
        return a.astype(np.float32) + b.astype(np.float32)
    return np.clip(a.astype(np.int32) + b.astype(np.int32), -(2**15), 2**15 - 1).astype(np.int16)


@register
class SignalFramer(SignalOp):
    """Cuts streams (..., samples) into overlapping frames (..., samples / step, size).

    Result 1 says whether all frames are whole: without `prefill`, the first are not. The reference leaves those as they
    were in memory; here the samples before the stream are 0.
    """

    name = "signal_framer"
    attributes = FrameAttributes
    tflite = ("CUSTOM SignalFramer",)
    signatures = (Signature(_I16, (DType.INT16, DType.BOOL)),)
    ranks = (None,)

    @override
    def read(self, source: SourceNode) -> FrameAttributes:
        size, step = integer(source, "frame_size", 1, _MOST), integer(source, "frame_step", 1, _MOST)
        return FrameAttributes(size, step, bool(integer(source, "prefill", -(2**31), 2**31 - 1)))

    @override
    def problem(self, node: Node) -> str | None:
        attrs, samples = frame_attributes(node), node.input(0).shape[-1]
        if samples % attrs.step:
            return f"samples, got {samples}, expected a multiple of frame_step {attrs.step}"
        if attrs.prefill and attrs.step > attrs.size:
            return f"frame_step with prefill, got {attrs.step}, expected at most frame_size {attrs.size}"
        return None

    @override
    def shapes(self, node: Node) -> list[tuple[int, ...]]:
        shape, attrs = node.input(0).shape, frame_attributes(node)
        return [(*shape[:-1], shape[-1] // attrs.step, attrs.size), ()]

    @override
    def kept(self, node: Node) -> list[Kept]:
        attrs, before = frame_attributes(node), samples_before(node)
        if not before:
            return []
        samples = Kept("samples", (*node.input(0).shape[:-1], before), DType.INT16)
        return [samples] if attrs.prefill else [samples, Kept("missing_steps", (), _COUNT, before // attrs.step)]

    @override
    def evaluate(self, node: Node, operands: Sequence[Array | None]) -> list[Array]:
        x, attrs, before = np.asarray(operands[0]), frame_attributes(node), samples_before(node)
        missing = int(np.asarray(operands[2])) if len(operands) > 2 else 0
        stream = np.concatenate([np.asarray(operands[1]), x], axis=-1) if before else x
        frames = x.shape[-1] // attrs.step
        starts = attrs.step * np.arange(frames)
        y = np.stack([stream[..., start : start + attrs.size] for start in starts], axis=-2)
        results = [y, np.asarray(missing == 0)]
        if before:
            results.append(stream[..., x.shape[-1] :])
        return results if len(operands) < 3 else [*results, np.asarray(max(missing - frames, 0), np.int32)]


def samples_before(node: Node) -> int:
    """Returns how many samples before the operand a `signal_framer` keeps."""
    attrs = frame_attributes(node)
    return attrs.size - attrs.step if attrs.prefill else (attrs.size - 1) // attrs.step * attrs.step


def frame_attributes(node: Node) -> FrameAttributes:
    """Returns the attributes of a `signal_overlap_add` or `signal_framer` node."""
    return cast(FrameAttributes, node.attrs)


@dataclass(frozen=True)
class StackerAttributes(Attributes):
    """Attributes of `signal_stacker`, all in frames.

    Attributes:
        left: Frames before the frame in question.
        right: Frames behind it.
        step: Frames from one stack to the next.
    """

    left: int
    right: int
    step: int

    @property
    def frames(self) -> int:
        """Frames of a stack."""
        return self.left + self.right + 1


@register
class SignalStacker(SignalOp):
    """Joins a frame with those before and behind it. The first frame stands for those before it.

    Result 1 says whether there is a stack in this run: the first comes when all frames behind are there, the others
    every `step` runs. In the runs between, the reference leaves result 0 as it was in memory; here it has the last
    frames.
    """

    name = "signal_stacker"
    attributes = StackerAttributes
    tflite = ("CUSTOM SignalStacker",)
    signatures = (Signature(_I16, (DType.INT16, DType.BOOL)),)

    @override
    def read(self, source: SourceNode) -> StackerAttributes:
        channels = source.input(0).type.elements
        integer(source, "num_channels", channels, channels)
        left, right = (integer(source, f"stacker_{side}_context", 0, 2**16) for side in ("left", "right"))
        return StackerAttributes(left, right, integer(source, "stacker_step", 1, left + right + 1))

    @override
    def shapes(self, node: Node) -> list[tuple[int, ...]]:
        return [(node.input(0).type.elements * stacker_attributes(node).frames,), ()]

    @override
    def kept(self, node: Node) -> list[Kept]:
        before = node.input(0).type.elements * (stacker_attributes(node).frames - 1)
        # No frame is missing before the first run alone.
        return [Kept("missing_frames", (), _COUNT), *([Kept("frames", (before,), DType.INT16)] if before else [])]

    @override
    def evaluate(self, node: Node, operands: Sequence[Array | None]) -> list[Array]:
        x, missing, attrs = np.asarray(operands[0]), int(np.asarray(operands[1])), stacker_attributes(node)
        before = np.asarray(operands[2]) if len(operands) > 2 else x[:0]
        if missing == 0:
            before, missing = np.tile(x, attrs.frames - 1), attrs.right + 1
        y = np.concatenate([before, x])
        valid = missing == 1
        left = attrs.step if valid else missing - 1
        kept = [y[x.size :]] if before.size else []
        return [y, np.asarray(valid), np.asarray(left, np.int32), *kept]


def stacker_attributes(node: Node) -> StackerAttributes:
    """Returns the attributes of a `signal_stacker` node."""
    return cast(StackerAttributes, node.attrs)
