"""softmax of int8 with Helium."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import ClassVar

from typing_extensions import override

from aboard.ir import Node
from aboard.kernels.contract import KernelCall
from aboard.kernels.portable.softmax import SoftmaxS8, SoftmaxS8S16
from aboard.kernels.registry import implements
from aboard.kernels.view import View
from aboard.target import Target

#: Channels of a vector.
_CHANNELS = 4


class _Vectors(SoftmaxS8):
    """Exponentials of four channels at once.

    Attributes:
        vector_function: C function.
    """

    keys = frozenset({"arm_mve"})
    vector_function: ClassVar[str]

    @override
    def refuses(self, node: Node, target: Target) -> str | None:
        """Refuses other element types, and pixels of less than a vector."""
        few = f"is for at least {_CHANNELS} channels" if node.output.shape[-1] < _CHANNELS else None
        return super().refuses(node, target) or few

    @override
    def lower(self, node: Node, inputs: Sequence[View | None], outputs: Sequence[View], target: Target) -> KernelCall:
        call = super().lower(node, inputs, outputs, target)
        return replace(call, header="arm_mve/softmax.h", function=self.vector_function)


@implements
class SoftmaxMve(_Vectors):
    """softmax of int8."""

    name = "arm_mve_s8"
    vector_function = "aboard_softmax_mve"


@implements
class SoftmaxS16Mve(_Vectors, SoftmaxS8S16):
    """softmax of int8 with a result of int16."""

    name = "arm_mve_s8_s16"
    vector_function = "aboard_softmax_s16_mve"
