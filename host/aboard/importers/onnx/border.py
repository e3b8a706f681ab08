"""Inputs and outputs of the graph of an ONNX file."""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from typing import TYPE_CHECKING

from aboard.base.manifest_records import MOST_AXES
from aboard.errors import ModelError
from aboard.importers.diagnostics import Diagnostics
from aboard.importers.onnx.builder import DTYPES, TYPES, constant_tensor
from aboard.importers.onnx.names import Names
from aboard.ir import Array, DType, Node, Tensor, TensorType
from aboard.ops.reshape import ReshapeAttributes

if TYPE_CHECKING:
    import onnx


#: TensorProto.STRING.
_STRING = 8


class Border:
    """Reads what callers of a model give and get."""

    def __init__(
        self,
        values: dict[str, Tensor | Array | None],
        nodes: list[Node],
        names: Names,
        diagnostics: Diagnostics,
    ) -> None:
        """Shares its arguments with the reader.

        Args:
            values: What each name of the file stands for.
            nodes: Nodes of the graph.
            names: Names of the graph.
            diagnostics: Takes the problems.
        """
        self._values = values
        self._nodes = nodes
        self._names = names
        self._diagnostics = diagnostics

    def inputs(self, proto: onnx.GraphProto) -> list[Tensor]:
        """Returns the inputs, and makes them values; one with a problem, which is noted, becomes None."""
        found = []
        for each in proto.input:
            if each.name in self._values:  # files of old versions name weights as inputs too
                continue
            tensor_type = self._type(each)
            self._values[each.name] = None
            if tensor_type is not None:
                tensor = Tensor(each.name, tensor_type, None, self._names.numbers[each.name])
                self._values[each.name] = tensor
                found.append(tensor)
        return found

    def _type(self, value: onnx.ValueInfoProto) -> TensorType | None:
        kind = value.type.WhichOneof("value")
        if kind != "tensor_type":
            text = f"got {(kind or 'no type').removesuffix('_type')}, expected a tensor. Export the model with tensors"
            self._diagnostics.add(f"input {value.name}", text, [value.name])
            return None
        described = value.type.tensor_type
        dtype = _dtype(described.elem_type)
        shape = tuple(int(each.dim_value) for each in described.shape.dim)
        if dtype is None:
            got = _type_name(described.elem_type)
            text = f"element type, got {got}, expected one of {TYPES}. Export the model in float32 or quantised"
            self._diagnostics.add(f"input {value.name}", text, [value.name])
            return None
        if not described.HasField("shape") or 0 in shape:
            stated = list(shape) if described.HasField("shape") else "none"
            text = f"shape, got {stated}, expected a size from 1 for each axis. Export the model with fixed shapes"
            self._diagnostics.add(f"input {value.name}", text, [value.name])
            return None
        if len(shape) > MOST_AXES:
            self._diagnostics.add(f"input {value.name}", _too_many_axes(shape), [value.name])
            return None
        return TensorType(shape, dtype)

    def outputs(self, proto: onnx.GraphProto) -> list[Tensor]:
        """Returns the outputs; each is computed by a node under its own name, as callers get a buffer for each."""
        found = list[Tensor]()
        for each in proto.output:
            value = self._values.get(each.name)
            if value is None:
                text = "is neither computed nor an input, expected a value. Export the model again"
                self._diagnostics.add(f"output {each.name}", text, [each.name])
                continue
            tensor = self._output(each, value)
            if tensor is None:
                continue
            made = any(result is tensor for node in self._nodes for result in node.outputs)
            if not made or any(other is tensor for other in found) or tensor.name != each.name:
                tensor = self._copy(tensor, each.name)
            found.append(tensor)
        return found

    def _output(self, value: onnx.ValueInfoProto, found: Tensor | Array) -> Tensor | None:
        try:
            tensor = constant_tensor(found, f"output {value.name}")
        except ModelError as error:
            self._diagnostics.add(f"output {value.name}", str(error).removeprefix(f"output {value.name}: "))
            return None
        wanted = _dtype(value.type.tensor_type.elem_type)
        if value.type.WhichOneof("value") == "sequence_type":
            wanted = DType.FLOAT32  # The maps of a ZipMap, whose probabilities are a tensor here.
        if tensor.text and value.type.tensor_type.elem_type == _STRING:
            wanted = DType.INT64
        if wanted is DType.UINT8 and tensor.dtype is DType.INT8 and tensor.type.quant is not None:
            tensor = self._unsigned(tensor, value.name)
        if 0 in tensor.shape or tensor.dtype is not wanted:
            expected = _type_name(value.type.tensor_type.elem_type)
            text = f"got {tensor.type}, expected {expected} with elements. Export the model again"
            self._diagnostics.add(f"output {value.name}", text, [value.name])
            return None
        if len(tensor.shape) > MOST_AXES:
            self._diagnostics.add(f"output {value.name}", _too_many_axes(tensor.shape), [value.name])
            return None
        return tensor

    def _unsigned(self, tensor: Tensor, name: str) -> Tensor:
        """Returns the unsigned integers that a tensor of signed ones stands for."""
        points = tuple(point + 128 for point in tensor.quant.zero_points)
        quant = dataclasses.replace(tensor.quant, zero_points=points)
        if tensor.name == name:
            tensor.name = self._names.free(f"{name}/signed")
            for node in self._nodes:
                node.name = node.outputs[0].name
        unsigned = Tensor(name, TensorType(tensor.shape, DType.UINT8, quant), None, self._names.numbers.get(name))
        self._nodes.append(Node("quantize", name, [tensor], [unsigned]))
        return unsigned

    def _copy(self, tensor: Tensor, name: str) -> Tensor:
        if tensor.name == name:
            tensor.name = self._names.free(f"{name}/value")
        elif tensor.is_constant and tensor.name == "constant":
            tensor.name = self._names.free(f"{name}/constant")
        copy = Tensor(name, tensor.type, None, self._names.numbers.get(name), text=tensor.text)
        self._nodes.append(Node("reshape", name, [tensor], [copy], ReshapeAttributes(tensor.shape)))
        return copy


def _dtype(number: int) -> DType | None:
    return DTYPES.get(_type_name(number))


def _too_many_axes(shape: Sequence[int]) -> str:
    return f"shape, got {list(shape)}, expected at most {MOST_AXES} axes. Reshape it in the model"


def _type_name(number: int) -> str:
    import onnx

    try:
        name = onnx.TensorProto.DataType.Name(number).lower()
    except ValueError:
        return f"type {number}"
    return "float32" if name == "float" else str(name)
