"""circular_buffer: the last inputs of a stream, the oldest first.

Operands: input [batch, 1, width, channels], and the state: the result of the run before, at first what stands for 0.
Result: [batch, slots, width, channels].

Source: TensorFlow Lite Micro's `circular_buffer.cc` and `circular_buffer_common.cc`. The operator lets only every n-th
run go on. Only those that let every run go on are supported: a run of compiled code has all its results.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from typing_extensions import override

from aboard.ir import Array, DType, Node, State, Tensor, TensorType
from aboard.ops.registry import Op, SourceNode, register, require

#: Numbers of slots for which the reference lets every run go on where the operator does not say how many.
_EVERY_RUN = (5, 13, 25)


@register
class CircularBuffer(Op):
    """Drops the oldest input and appends the newest."""

    name = "circular_buffer"
    selects = True
    tflite = ("CUSTOM CIRCULAR_BUFFER",)
    types = (DType.INT8,)

    @override
    def from_tflite(self, source: SourceNode) -> Node:
        """Returns the node, with its state.

        Raises:
            ModelError: Types or shapes are not supported, or only some runs go on.
        """
        x, result = source.input(0), source.outputs[0]
        slots = result.shape[1] if len(result.shape) == 4 else 0
        cycles = int(source.options.get("cycles_max", 0)) or (1 if slots in _EVERY_RUN else 2)
        if cycles != 1:
            raise source.unsupported(
                f"cycles_max, got {cycles}, expected 1. The operator ends all other runs before the results of the "
                f"model are computed; make a model of the layers behind it, and run that model every {cycles} steps"
            )
        state = Tensor(f"{result.name}/inputs", result.type)
        node = source.node(self.name, [x, state])
        wrong = self.problem(node)
        if wrong is not None:
            raise source.unsupported(f"{wrong}. Export the model again")
        return node

    def problem(self, node: Node) -> str | None:
        """Returns what is wrong with types or shapes, or None."""
        x, result = node.input(0), node.output
        if x.dtype is not DType.INT8 or x.type.quant is None or x.type.quant.per_channel:
            return f"input, got {x.type}, expected int8 with one scale"
        if x.type.quant != result.type.quant or result.dtype is not DType.INT8:
            return f"quantisation of input and result, got {x.type} and {result.type}, expected the same"
        if len(x.shape) != 4 or x.shape[1] != 1 or x.shape[0] != 1:
            return f"shape of the input, got {x.shape}, expected (1, 1, width, channels)"
        return None

    @override
    def own_states(self, node: Node) -> list[State]:
        """Returns the state, whose next value is the result."""
        zero = np.full(node.output.shape, node.output.quant.zero_point, np.int8)
        return [State(node.input(1).name, node.input(1), node.output, zero)]

    @override
    def infer(self, node: Node) -> list[TensorType]:
        (_, _, width, channels), slots = node.input(0).shape, node.input(1).shape[1:2]
        return [TensorType((1, *slots, width, channels), DType.INT8, node.output.type.quant)]

    @override
    def verify(self, node: Node) -> None:
        """Checks what `problem` finds, and that there is a state.

        Raises:
            VerifyError: One of them is wrong.
        """
        require(len(node.inputs) == 2, node, f"operands, got {len(node.inputs)}, expected 2")
        wrong = self.problem(node)
        require(wrong is None, node, wrong or "")

    @override
    def evaluate(self, node: Node, operands: Sequence[Array | None]) -> list[Array]:
        """Returns the state's slots but the first, and the input."""
        x, state = (np.asarray(operand) for operand in operands)
        return [np.concatenate([state[:, 1:], x], axis=1)]
