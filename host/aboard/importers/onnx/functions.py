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
    from onnx import defs

    domain = "" if node.domain in files.STANDARD else node.domain
    opset = file.opsets.get(domain, 1)
    try:
        found = defs.get_schema(node.op_type, opset, domain)
    except defs.SchemaError:
        return None
    function = _function(found, opset, _with_defaults(node, found), operands)
    if function is None:
        return None
    return _inlined(file, _with_defaults(node, found), operands, function)


def _with_defaults(node: onnx.NodeProto, schema: onnx.defs.OpSchema) -> onnx.NodeProto:
    """Returns a node with all attributes that have a value: the inliner leaves out those that the node leaves out."""
    import onnx

    whole = onnx.NodeProto()
    whole.CopyFrom(node)
    given = {each.name for each in node.attribute}
    defaults = [each.default_value for each in schema.attributes.values()]
    whole.attribute.extend(each for each in defaults if each.name and each.name not in given)
    return whole


def _function(
    schema: Any, opset: int, node: onnx.NodeProto, operands: Sequence[Tensor | Array | None]
) -> onnx.FunctionProto | None:
    """Returns the definition of an operator; None if the standard has none for this version.

    Args:
        schema: The operator's; the stubs of the package lack what is asked for here.
        opset: Version.
        node: The node, with all attributes.
        operands: Values of its operands, whose types a definition may depend on.
    """
    import onnx

    if schema.has_context_dependent_function:
        types = [_type(value).SerializeToString() for value in operands]
        text = schema.get_context_dependent_function_with_opset_version(opset, node.SerializeToString(), types)
    elif schema.has_function:
        text = schema.get_function_with_opset_version(opset)
    else:
        return None
    return onnx.FunctionProto.FromString(text) if text else None


def _type(value: Tensor | Array | None) -> onnx.TypeProto:
    import onnx
    from onnx import helper

    if value is None:
        return onnx.TypeProto()
    return helper.make_tensor_type_proto(helper.np_dtype_to_tensor_dtype(_numpy(value)), value.shape)


#: Domain of an operator while its definition is put in its place.
_DEFINED = "aboard.defined"


def _inlined(
    file: files.File, node: onnx.NodeProto, operands: Sequence[Tensor | Array | None], function: onnx.FunctionProto
) -> Body | None:
    import onnx
    from onnx import helper, inliner

    node.domain = function.domain = _DEFINED
    function.name = node.op_type
    inputs = [
        helper.make_value_info(name, _type(value))
        for name, value in dict(zip(node.input, operands, strict=True)).items()
        if name
    ]
    outputs = [onnx.ValueInfoProto(name=name) for name in node.output if name]
    opsets = {**file.opsets, _DEFINED: 1}
    model = helper.make_model(
        helper.make_graph([node], "body", inputs, outputs),
        opset_imports=[helper.make_opsetid(*each) for each in opsets.items()],
        functions=[function],
        ir_version=file.model.ir_version,
    )
    try:
        inlined = inliner.inline_local_functions(model)
    except (RuntimeError, ValueError):
        return None
    if any(each.domain == _DEFINED for each in inlined.graph.node):
        return None
    return Body(tuple(node.input), tuple(node.output), tuple(inlined.graph.node))


def _numpy(value: Tensor | Array) -> Any:
    return value.dtype.numpy if isinstance(value, Tensor) else value.dtype
