"""Inputs and outputs become the integers that the layers behind and before them compute with, for `-io=int8|uint8`.

::

    float32 input -> quantize -> conv2d -> ... -> dequantize -> float32 output
       int8 input             -> conv2d -> ...               ->    int8 output
"""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from dataclasses import dataclass
from typing import ClassVar

from typing_extensions import override

from aboard.errors import ModelError
from aboard.ir import DType, Graph, Node, Quantization, Tensor, TensorType
from aboard.ir.rewriting import free_name, merged_sources
from aboard.passes.contract import Pass
from aboard.passes.registry import register

#: What layers compute with.
_INTEGERS = (DType.INT8, DType.INT16)

#: Difference between an unsigned integer of 8 bits and the signed one for the same number.
_OFFSET = 128


@register
@dataclass(frozen=True)
class QuantiseBorder(Pass):
    """Removes the nodes at the border that convert float32 and the layers' integers.

    Inputs must all become integers; an output stays float32 if layers compute real numbers for it. Integers of 16 bits
    stay such.

    Attributes:
        dtype: `int8` or `uint8`.
    """

    dtype: str = DType.INT8.value

    choices: ClassVar[Mapping[str, tuple[str, ...]]] = {"dtype": (DType.INT8.value, DType.UINT8.value)}
    name: ClassVar[str] = "quantise-border"
    summary: ClassVar[str] = "removes conversions of inputs and outputs"
    changes_borders: ClassVar[bool] = True

    @override
    def run(self, graph: Graph) -> None:
        for tensor in list(graph.inputs):
            if tensor.dtype in (DType.FLOAT32, DType.UINT8):
                _take_integers(graph, tensor)
        for tensor in list(graph.outputs):
            if tensor.dtype in (DType.FLOAT32, DType.UINT8):
                _give_integers(graph, tensor)
        if self.dtype == DType.UINT8.value:
            _make_unsigned(graph)

    @override
    def pending(self, graph: Graph) -> str | None:
        """Returns None: an output of real numbers stays as it is."""
        return None


def _take_integers(graph: Graph, tensor: Tensor) -> None:
    """Makes an input the integers that its readers convert it to.

    Raises:
        ModelError: A reader of float32 needs real numbers, or readers need different integers.
    """
    readers = graph.consumers(tensor)
    converted = [node for node in readers if node.op == "quantize" and node.output.dtype in _INTEGERS]
    kinds = {node.output.type for node in converted}
    if tensor.dtype is DType.UINT8 and len(converted) < len(readers):
        return
    other = next((node for node in readers if node not in converted or graph.is_result(node.output)), None)
    if other is not None or len(kinds) != 1:
        reason = f"{len(kinds)} conversions to integers" if other is None else f"{other.op} {other.name}"
        raise ModelError(
            f"{graph.source or graph.name}: readers of input {tensor.name}, got {reason}, expected one conversion to "
            "integers that -io can leave out. Quantise the whole model, or leave -io out"
        )
    made = dataclasses.replace(converted[0].output, name=tensor.name, order=tensor.order)
    graph.inputs[graph.inputs.index(tensor)] = made
    for node in converted:
        graph.remove([node])
        graph.replace_uses(node.output, made)


def _give_integers(graph: Graph, tensor: Tensor) -> None:
    """Makes an output the integers that it is converted from, if it is."""
    node = graph.producer(tensor)
    if node is None or node.op not in ("dequantize", "quantize") or node.input(0).dtype not in _INTEGERS:
        return
    operand = node.input(0)
    before = graph.producer(operand)
    if before is None or before.op == "subgraph" or graph.is_result(operand) or graph.consumers(tensor):
        return
    made = dataclasses.replace(operand, name=tensor.name, order=tensor.order)
    graph.remove([node])
    before.sources = merged_sources(before, node)
    before.outputs = [made if each is operand else each for each in before.outputs]
    graph.replace_uses(operand, made)
    graph.outputs[graph.outputs.index(tensor)] = made


def _make_unsigned(graph: Graph) -> None:
    """Converts inputs and outputs of int8 from and to uint8: each integer plus 128."""
    for tensor in [each for each in graph.inputs if each.dtype is DType.INT8 and each.type.quant is not None]:
        border = _unsigned(tensor)
        tensor.name = free_name(graph, f"{tensor.name}/int8")
        graph.inputs[graph.inputs.index(tensor)] = border
        graph.nodes.insert(0, Node("quantize", tensor.name, [border], [tensor]))
    for tensor in [each for each in graph.outputs if each.dtype is DType.INT8 and each.type.quant is not None]:
        border = _unsigned(tensor)
        tensor.name = free_name(graph, f"{tensor.name}/int8")
        graph.outputs[graph.outputs.index(tensor)] = border
        graph.nodes.append(Node("quantize", f"{border.name}/uint8", [tensor], [border]))


def _unsigned(tensor: Tensor) -> Tensor:
    quant = Quantization((tensor.quant.scale,), (tensor.quant.zero_point + _OFFSET,))
    return Tensor(tensor.name, TensorType(tensor.shape, DType.UINT8, quant), order=tensor.order)
