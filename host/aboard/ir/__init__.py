"""The intermediate representation: types, graph, verifier, printer."""

from aboard.ir.graph import Attributes, Graph, Node, State, Tensor
from aboard.ir.types import Array, ChannelMap, DType, Quantization, Rounding, TensorType

__all__ = [
    "Array",
    "Attributes",
    "ChannelMap",
    "DType",
    "Graph",
    "Node",
    "Quantization",
    "Rounding",
    "State",
    "Tensor",
    "TensorType",
]
