"""Tensors that must have the same quantisation: operands and results of nodes that move or select elements."""

from __future__ import annotations

from aboard import ops
from aboard.ir import DType, Graph, Node, Tensor

#: Nodes beside those that move or select: TensorFlow Lite's reference kernels do not rescale their result.
_UNSCALED = ("average_pool2d", "resize_bilinear")

#: Operators that fix the scale of their result.
FIXED = ("softmax", "logistic", "tanh")


class Groups:
    """The groups of a graph. A group has the name of one of its tensors."""

    def __init__(self, graph: Graph) -> None:
        self._leader: dict[str, str] = {}
        self._fixed: dict[str, str] = {}
        self.members: dict[str, list[Tensor]] = {}
        reals = [tensor for tensor in graph.tensors() if tensor.dtype is DType.FLOAT32 and not tensor.is_constant]
        for node in graph.nodes:
            if keeps_scale(node):
                for tensor in [*node.operands[1:], *node.outputs]:
                    if tensor.dtype is DType.FLOAT32 and not tensor.is_constant:
                        self._join(node.operands[0].name, tensor.name)
        for tensor in reals:
            self.members.setdefault(self.of(tensor), []).append(tensor)
        for node in graph.nodes:
            if node.op in FIXED:
                self._fixed[self.of(node.output)] = node.op

    def of(self, tensor: Tensor) -> str:
        """Returns the group of a tensor of real numbers that is no constant."""
        return self._find(tensor.name)

    def fixed(self, tensor: Tensor) -> str | None:
        """Returns the operator that fixes the scale of a tensor's group; None if there is none."""
        return self._fixed.get(self.of(tensor))

    def _find(self, name: str) -> str:
        while (leader := self._leader.get(name, name)) != name:
            name = leader
        return name

    def _join(self, first: str, second: str) -> None:
        self._leader[self._find(second)] = self._find(first)


def keeps_scale(node: Node) -> bool:
    """True for a node whose integer results have the scale of its operands."""
    op = ops.get(node.op)
    return op.moves_data or op.selects or node.op in _UNSCALED
