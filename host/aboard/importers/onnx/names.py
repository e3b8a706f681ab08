"""Names of the graph: those of the file for its values, and names of their own for all others."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from aboard.importers.free_names import FreeNames
from aboard.ir import Array, Node, Tensor

if TYPE_CHECKING:
    import onnx


class Names:
    """Gives the tensors and nodes of a graph their names.

    Attributes:
        numbers: Number of each value of the file, in the order in which the file mentions them.
    """

    def __init__(self, proto: onnx.GraphProto) -> None:
        names = [each.name for each in proto.input] + [each.name for each in proto.initializer]
        names += [name for node in proto.node for name in node.output if name]
        self.numbers = {name: number for number, name in enumerate(dict.fromkeys(names))}
        self._names = FreeNames(self.numbers)
        self._named: dict[int, Tensor] = {}
        self._named_nodes = 0

    def results(self, node: onnx.NodeProto, values: Sequence[Tensor | Array | None], nodes: Sequence[Node]) -> None:
        """Names what a node of the file has become.

        Args:
            node: The node of the file.
            values: Its results.
            nodes: All nodes of the graph; those that are new since the last call have no names.
        """
        made = {id(tensor) for each in nodes[self._named_nodes :] for tensor in each.outputs}
        for name, value in zip(node.output, values, strict=False):
            if name and isinstance(value, Tensor) and id(value) in made and value.source is None:
                value.name, value.source = name, self.numbers.get(name)
        first = next((name for name in node.output if name), node.op_type)
        for each in nodes[self._named_nodes :]:
            for tensor in [*each.operands, *each.outputs]:
                if tensor.source is None and id(tensor) not in self._named:
                    self._named[id(tensor)] = tensor
                    tensor.name = self.free(f"{first}/{'constant' if tensor.is_constant else each.op}")
            each.name = each.outputs[0].name
        self._named_nodes = len(nodes)

    def free(self, wanted: str) -> str:
        """Returns a name that nothing has, `wanted` if possible, and takes it."""
        return self._names.take(wanted)
