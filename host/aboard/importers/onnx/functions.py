"""What the standard says of an operator: defaults of attributes, and the operators that define it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from typing import TYPE_CHECKING, Any

from aboard.importers.onnx import file as files
from aboard.ir import Array, Tensor

if TYPE_CHECKING:
    import onnx


@dataclass(frozen=True)
class Body:
    """The operators that define an operator.

    Attributes:
        inputs: Names of its operands in the body.
        outputs: Names of its results in the body.
        nodes: In execution order.
    """

    inputs: tuple[str, ...]
    outputs: tuple[str, ...]
    nodes: tuple[onnx.NodeProto, ...]


def schema(node: onnx.NodeProto, opset: int) -> tuple[Mapping[str, Any], int]:
    """Returns the defaults of a node's attributes, and the version in which its definition was introduced."""
    return _schema(node.op_type, opset, "" if node.domain in files.STANDARD else node.domain)


@cache
def _schema(kind: str, opset: int, domain: str) -> tuple[Mapping[str, Any], int]:
    from onnx import defs

    try:
        found = defs.get_schema(kind, opset, domain)
    except defs.SchemaError:
        return {}, 0
    given = [each.default_value for each in found.attributes.values() if each.default_value.name]
    return files.attributes(given), found.since_version


def body(file: files.File, node: onnx.NodeProto, operands: Sequence[Tensor | Array | None]) -> Body | None:
    """Returns the operators that define the operator of a node; None for one that no others define.

    Args:
        file: The model.
        node: The node.
        operands: Values of its operands, whose shapes and types a definition may depend on.
    """
    import onnx
    from onnx import defs, helper, inliner

    domain = "" if node.domain in files.STANDARD else node.domain
    opset = file.opsets.get(domain, 1)
    try:
        found = defs.get_schema(node.op_type, opset, domain)
    except defs.SchemaError:
        return None
    # The stubs of the package lack these two.
    if not (getattr(found, "has_function", False) or getattr(found, "has_context_dependent_function", False)):
        return None
    given = [(name, value) for name, value in zip(node.input, operands, strict=True) if name and value is not None]
    inputs = [
        helper.make_tensor_value_info(name, helper.np_dtype_to_tensor_dtype(_numpy(value)), value.shape)
        for name, value in dict(given).items()
    ]
    outputs = [onnx.ValueInfoProto(name=name) for name in node.output if name]
    graph = helper.make_graph([node], "body", inputs, outputs)
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid(*each) for each in file.opsets.items()])
    model.ir_version = file.model.ir_version
    try:
        inlined = inliner.inline_selected_functions(model, [(domain, node.op_type)], inline_schema_functions=True)
    except (RuntimeError, ValueError):
        return None
    if any(each.op_type == node.op_type for each in inlined.graph.node):
        return None
    return Body(tuple(node.input), tuple(node.output), tuple(inlined.graph.node))


def _numpy(value: Tensor | Array) -> Any:
    return value.dtype.numpy if isinstance(value, Tensor) else value.dtype
