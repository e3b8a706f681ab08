"""An ONNX file as objects: read, edited, written, and evaluated by onnxruntime without optimisations."""

from __future__ import annotations

from typing import Any

import numpy as np
import onnx
from onnx import helper, numpy_helper

from aboard.check.onnx_session import open_session

# What importers merge with the operator before it, if nothing else reads its result.
_MERGED = {"Relu", "Clip", "LeakyRelu", "QuantizeLinear", "DequantizeLinear"}


class OnnxFile:
    """The nodes and constants of a file, which may be edited."""

    def __init__(self, data: bytes) -> None:
        self.model = onnx.load_from_string(data)
        self.nodes = self.model.graph.node
        self._constants = {each.name: each for each in self.model.graph.initializer}
        self._writers = {name: number for number, node in enumerate(self.nodes) for name in node.output}

    def written(self) -> bytes:
        """Returns the file."""
        return self.model.SerializeToString()

    def constant(self, name: str) -> np.ndarray | None:
        """Returns the values of an initializer, a copy; None for any other tensor."""
        found = self._constants.get(name)
        return None if found is None else np.array(numpy_helper.to_array(found))

    def real(self, name: str) -> np.ndarray:
        """Returns the values of a constant that DequantizeLinear makes of integers."""
        node = self.nodes[self._writers[name]]
        values, scales = (self.constant(each).astype(np.float64) for each in node.input[:2])
        axis = self.attributes(self._writers[name]).get("axis", 1)
        return values * (scales.reshape([-1] + [1] * (values.ndim - 1 - axis)) if scales.size > 1 else scales)

    def replace(self, layer: int, place: int, values: np.ndarray) -> None:
        """Gives one operand of one node other values; other nodes that read the constant keep theirs."""
        name = self.nodes[layer].input[place]
        if len(self.readers(name)) > 1:
            name = f"{name}_of_{layer}"
            self.nodes[layer].input[place] = name
            self._constants[name] = self.model.graph.initializer.add()
        self._constants[name].CopyFrom(numpy_helper.from_array(values, name))

    def readers(self, name: str) -> list[int]:
        """Returns the nodes that read a tensor."""
        return [number for number, node in enumerate(self.nodes) if name in node.input]

    def writer(self, name: str) -> int | None:
        """Returns the node that computes a tensor; None if it is an input or a constant."""
        return self._writers.get(name)

    def attributes(self, layer: int) -> dict[str, Any]:
        """Returns a node's attributes."""
        return {each.name: helper.get_attribute_value(each) for each in self.nodes[layer].attribute}

    def set(self, layer: int, **attributes: Any) -> None:
        """Gives a node attributes; None removes one."""
        node = self.nodes[layer]
        kept = [each for each in node.attribute if each.name not in attributes]
        del node.attribute[:]
        new = [helper.make_attribute(name, value) for name, value in attributes.items() if value is not None]
        node.attribute.extend([*kept, *new])

    def make(self, layer: int, kind: str, *operands: float, **attributes: Any) -> None:
        """Makes a node one of another kind, with its first operand, then float32 constants, and these attributes."""
        node = self.nodes[layer]
        names = [f"{node.output[0]}_operand_{number}" for number in range(len(operands))]
        for name, value in zip(names, operands, strict=True):
            self.model.graph.initializer.append(numpy_helper.from_array(np.array(value, np.float32), name))
        made = helper.make_node(kind, [node.input[0], *names], list(node.output), name=node.name, **attributes)
        node.CopyFrom(made)

    def merged(self, layer: int) -> tuple[str, ...]:
        """Returns the tensors behind a node that importers may merge with its result."""
        name, found = self.nodes[layer].output[0], []
        while len(readers := self.readers(name)) == 1 and self._merges(readers[0]):
            name = self.nodes[readers[0]].output[0]
            found.append(name)
        return tuple(found)

    def _merges(self, layer: int) -> bool:
        node = self.nodes[layer]
        with_constant = any(name in self._constants for name in node.input)
        return node.op_type in _MERGED or (node.op_type == "Add" and with_constant)


class Run:
    """A file in onnxruntime, with every tensor as an output."""

    def __init__(self, data: bytes) -> None:
        try:
            self._session = open_session(data, every_tensor=True)
        except Exception as error:  # its exceptions have no common base
            raise RuntimeError(str(error)) from error

    def value(self, feed: dict[str, np.ndarray], name: str) -> np.ndarray:
        """Returns a tensor for values by the names of inputs."""
        try:
            (found,) = self._session.run([name], feed)
        except Exception as error:
            raise RuntimeError(str(error)) from error
        return np.asarray(found)
