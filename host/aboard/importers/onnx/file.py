"""Reads the protocol buffer of an ONNX file, and normalises it: fixed dimensions, no functions of its own."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from aboard.errors import ModelError, did_you_mean

if TYPE_CHECKING:
    import onnx

#: Names of the standard's own set of operators.
STANDARD = ("", "ai.onnx")

#: Oldest and newest version of the standard's operators.
OPSETS = range(7, 29)

#: Dimensions of axis 0 without a size are batches.
_BATCH = 1


@dataclass(frozen=True)
class File:
    """A model file with static shapes at its inputs.

    Attributes:
        model: The protocol buffer; functions of the file are inlined.
        opsets: Version of the operators of each domain; the standard's own has the name "".
        notes: What was assumed, as sentences.
    """

    model: onnx.ModelProto
    opsets: Mapping[str, int]
    notes: tuple[str, ...]


def parse(data: bytes, where: str, dimensions: Mapping[str, int]) -> File:
    """Reads a file.

    Args:
        data: The whole file.
        where: File name, the start of every error message.
        dimensions: Sizes of free dimensions by their name in the file.

    Raises:
        ModelError: The file is corrupt, has another version, stores weights elsewhere, or has dimensions without size;
            or the package `onnx` is not installed.
    """
    model = _parsed(data, where)
    opsets = {"" if each.domain in STANDARD else each.domain: each.version for each in model.opset_import}
    if opsets.get("", OPSETS[0]) not in OPSETS:
        raise ModelError(
            f"{where}: opset, got {opsets['']}, expected {OPSETS[0]} to {OPSETS[-1]}. Export the model with another "
            "opset (`opset_version=18`)"
        )
    external = [each.name for each in model.graph.initializer if each.data_location == 1]
    if external:
        raise ModelError(
            f"{where}: weights of {external[0]} and {len(external) - 1} others are stored in another file, expected "
            "all in one. Export with `external_data=False`, or join them: "
            "`onnx.save(onnx.load(path), path, save_as_external_data=False)`"
        )
    notes = _fix_dimensions(model, where, dimensions)
    return File(_inlined(model, where), {"": OPSETS[-1], **opsets}, tuple(notes))


def _parsed(data: bytes, where: str) -> onnx.ModelProto:
    try:
        import onnx
    except ImportError as error:
        raise ModelError(
            f"{where}: an ONNX file, and the package onnx is not installed. Run: pip install onnx"
        ) from error
    from google.protobuf.message import DecodeError

    try:
        model = onnx.load_from_string(data)
        _describe_outputs(model)
        onnx.checker.check_model(model)
    except (DecodeError, onnx.checker.ValidationError, ValueError, RuntimeError) as error:
        reason = str(error).split("\n")[0][:200]
        raise ModelError(f"{where}: the file is not a valid ONNX model ({reason}). Export the model again") from error
    return model


def _describe_outputs(model: onnx.ModelProto) -> None:
    """Gives outputs without a shape an empty one, as the checker wants: exporters know none behind free dimensions."""
    for value in model.graph.output:
        described = value.type.tensor_type
        if value.type.HasField("tensor_type") and described.elem_type and not described.HasField("shape"):
            described.shape.SetInParent()


def _inlined(model: onnx.ModelProto, where: str) -> onnx.ModelProto:
    import onnx.inliner

    if not model.functions:
        return model
    try:
        return onnx.inliner.inline_local_functions(model)
    except (RuntimeError, ValueError) as error:
        raise ModelError(
            f"{where}: functions of the file cannot be inlined ({error}). Export without functions"
        ) from error


def _fix_dimensions(model: onnx.ModelProto, where: str, dimensions: Mapping[str, int]) -> list[str]:
    """Gives every free dimension of an input its size; returns what was assumed."""
    constants = {each.name for each in model.graph.initializer}
    notes, free = list[str](), list[str]()
    names = set[str]()
    for value in model.graph.input:
        if value.name in constants or not value.type.HasField("tensor_type"):
            continue
        for axis, dimension in enumerate(value.type.tensor_type.shape.dim):
            if dimension.HasField("dim_value") and dimension.dim_value >= 0:
                continue
            name = dimension.dim_param
            names.add(name)
            size = dimensions.get(name, _BATCH if axis == 0 else None)
            if size is None:
                free.append(f"axis {axis} of {value.name}" + (f" ({name})" if name else ""))
                continue
            if name not in dimensions:
                notes.append(f"input {value.name}: free dimension {name or axis} is fixed at {size}, a batch of 1")
            dimension.dim_value = size
    unknown = [name for name in dimensions if name not in names]
    if unknown:
        raise ModelError(
            f"{where}: dimension {unknown[0]}: no input has it. {did_you_mean(unknown[0], filter(None, names))}"
        )
    if free:
        raise ModelError(
            f"{where}: inputs have dimensions without a size: {', '.join(free)}; expected static shapes. Give a named "
            "dimension its size with `--dimension NAME=SIZE`, or export the model with fixed shapes"
        )
    return notes


def attributes(protos: Iterable[Any]) -> dict[str, Any]:
    """Returns attributes of a node by name: numbers, text, lists, arrays of tensors, graphs as they are."""
    import onnx
    from onnx import AttributeProto, numpy_helper

    found: dict[str, Any] = {}
    for each in protos:
        if each.type == AttributeProto.TENSOR:
            found[each.name] = numpy_helper.to_array(each.t)
        else:
            value = onnx.helper.get_attribute_value(each)
            found[each.name] = _text(value)
    return found


def _text(value: Any) -> Any:
    if isinstance(value, bytes):
        return value.decode("utf-8", "replace")
    if isinstance(value, list | tuple) or type(value).__name__.startswith("Repeated"):
        return [_text(each) for each in value]
    return value
