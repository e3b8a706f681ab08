"""Images enter with their channels last, for `-input-layout=nhwc`: as a camera delivers them.

::

    input [1, 3, 32, 32] -> transpose -> conv2d          input [1, 32, 32, 3] -> conv2d
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from typing_extensions import override

from aboard.ir import Graph, Node, Tensor
from aboard.ir.rewriting import free_name
from aboard.ops.axes import inverse
from aboard.ops.transpose import TransposeAttributes
from aboard.passes.contract import Pass
from aboard.passes.registry import register
from aboard.passes.transposition import moved_type

#: For each axis of [image, row, column, channel], the axis of [image, channel, row, column].
_ORDER = (0, 2, 3, 1)


@register
@dataclass(frozen=True)
class InputLayout(Pass):
    """Gives inputs of four axes of an ONNX file their channels last; a transpose behind them restores the file's order.

    `move-transposes` then cancels it with that before the first layer. TFLite files have channels last.
    """

    name: ClassVar[str] = "input-layout"
    summary: ClassVar[str] = "takes images with their channels last"
    changes_borders: ClassVar[bool] = True

    @override
    def run(self, graph: Graph) -> None:
        if graph.format != "ONNX":
            return
        for tensor in [each for each in graph.inputs if len(each.shape) == len(_ORDER) and each.order is None]:
            made = Tensor(tensor.name, moved_type(tensor.type, _ORDER), source=tensor.source, order=_ORDER)
            graph.inputs[graph.inputs.index(tensor)] = made
            tensor.name, tensor.source = free_name(graph, f"{tensor.name}/nchw"), None
            graph.nodes.insert(
                0, Node("transpose", tensor.name, [made], [tensor], TransposeAttributes(inverse(_ORDER)))
            )

    @override
    def pending(self, graph: Graph) -> str | None:
        """Returns None: inputs say themselves in which order their axes are."""
        return None
