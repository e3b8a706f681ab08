"""The tensors of an ONNX file while it is written: names, constants, and images with their channels second.

The intermediate representation has images with their channels last, ONNX has them second. A tensor that operators of
ONNX compute as an image is known under two names: as it is, and as the image. The transpose between the two is written
when somebody asks for the other one, so that a chain of convolutions has none.
"""

from __future__ import annotations

import importlib
from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from aboard.errors import ToolError
from aboard.importers.free_names import FreeNames
from aboard.ir import DType, Graph, Tensor

#: Order of the axes of an image with the channels second, and back.
TO_IMAGE, FROM_IMAGE = (0, 3, 1, 2), (0, 2, 3, 1)

#: Versions of the standard's operators: one that has all that are written, and the first whose QuantizeLinear knows
#: int16. onnxruntime moves the conversions of the later one in a way that it refuses then.
OPSET, OPSET_OF_INT16 = 20, 21

_FORMAT_VERSION = 10


class NoFormError(Exception):
    """Why no operators of ONNX compute a node."""


class Writing:
    """A file in the making."""

    def __init__(self, graph: Graph) -> None:
        try:
            self._onnx: Any = importlib.import_module("onnx")
        except ImportError as error:
            raise ToolError("onnx: not installed. Install it with: pip install onnx") from error
        self._graph = graph
        self._free = FreeNames(tensor.name for tensor in graph.tensors())
        self._nodes: list[Any] = []
        self._constants: list[Any] = []
        self._known: dict[tuple[int, str], str] = {}
        self._stored: dict[int, Tensor] = {}
        for tensor in graph.inputs:
            self._known[id(tensor), ""] = tensor.name

    def add(self, kind: str, inputs: Iterable[str], outputs: Sequence[str], **attributes: Any) -> None:
        """Adds an operator."""
        self._nodes.append(self._onnx.helper.make_node(kind, list(inputs), list(outputs), **attributes))

    def make(self, kind: str, inputs: Iterable[str], wanted: str, **attributes: Any) -> str:
        """Adds an operator with one result, and returns the name of that, which is free and like the wanted one."""
        name = self._free.take(wanted)
        self.add(kind, inputs, [name], **attributes)
        return name

    def constant(self, values: npt.ArrayLike, dtype: type[np.generic], wanted: str = "constant") -> str:
        """Returns the name of a new constant."""
        name = self._free.take(wanted)
        self._constants.append(self._onnx.numpy_helper.from_array(np.asarray(values, dtype), name))
        return name

    def integers(self, values: Iterable[int], wanted: str) -> str:
        """Returns the name of a new constant of int64, such as a shape."""
        return self.constant(list(values), np.int64, wanted)

    def name(self, tensor: Tensor) -> str:
        """Returns the name of a tensor with the axes of the graph."""
        return self._name(tensor, "", ())

    def image(self, tensor: Tensor) -> str:
        """Returns the name of a tensor of four axes with the channels second."""
        return self._name(tensor, "image", TO_IMAGE)

    def moved(self, tensor: Tensor, order: tuple[int, ...]) -> str:
        """Returns the name of weights whose axes have another order: constants, or constants that were dequantised."""
        return self._name(tensor, str(order), order)

    def is_image(self, tensor: Tensor) -> bool:
        """True if a tensor is known with the channels second already."""
        return (id(tensor), "image") in self._known

    def give(self, tensor: Tensor, name: str, *, image: bool = False) -> None:
        """Says which name a computed tensor has."""
        self._known[id(tensor), "image" if image else ""] = name

    def result(self, tensor: Tensor, *, image: bool = False) -> str:
        """Returns a name for a tensor that an operator is about to compute: its own where it has the graph's axes."""
        name = self._free.take(f"{tensor.name}/image") if image else tensor.name
        self.give(tensor, name, image=image)
        return name

    def keep(self, tensor: Tensor, stored: Tensor) -> None:
        """Says that a tensor is a constant of integers that is dequantised: it is written for those who read it."""
        self._stored[id(tensor)] = stored

    def _name(self, tensor: Tensor, form: str, order: tuple[int, ...]) -> str:
        known = self._known.get((id(tensor), form))
        if known is None:
            known = self._known[id(tensor), form] = self._written(tensor, form, order)
        return known

    def _written(self, tensor: Tensor, form: str, order: tuple[int, ...]) -> str:
        axes = order or tuple(range(len(tensor.shape)))
        if tensor.data is not None:
            return self.constant(tensor.data.transpose(axes), tensor.data.dtype.type, tensor.name)
        stored = self._stored.get(id(tensor))
        if stored is not None:
            return self._dequantised(stored, axes)
        if form == "":
            return self._turned(self._known[id(tensor), "image"], FROM_IMAGE, tensor.name, own=True)
        return self._turned(self.name(tensor), order, f"{tensor.name}/{form}", own=False)

    def _turned(self, name: str, order: tuple[int, ...], wanted: str, *, own: bool) -> str:
        result = wanted if own else self._free.take(wanted)
        self.add("Transpose", [name], [result], perm=order)
        return result

    def _dequantised(self, stored: Tensor, axes: tuple[int, ...]) -> str:
        quant, data = stored.quant, np.asarray(stored.data)
        integers = self.constant(data.transpose(axes), data.dtype.type, stored.name)
        single = not quant.per_channel
        scales = self.constant(quant.scale if single else quant.scales, np.float32, f"{stored.name}/scale")
        points = self.constant(
            quant.zero_point if single else quant.zero_points, data.dtype.type, f"{stored.name}/zero"
        )
        axis = {} if quant.axis is None or single else {"axis": axes.index(quant.axis)}
        return self.make("DequantizeLinear", [integers, scales, points], f"{stored.name}/real", **axis)

    def file(self, description: str) -> bytes:
        """Returns the file, with what it says of itself."""
        helper = self._onnx.helper
        opset = OPSET_OF_INT16 if any(t.dtype is DType.INT16 for t in self._graph.tensors()) else OPSET
        for tensor in self._graph.outputs:
            name = self.name(tensor)
            if name != tensor.name:
                self.add("Identity", [name], [tensor.name])
        ends = [[self._information(tensor) for tensor in part] for part in (self._graph.inputs, self._graph.outputs)]
        graph = helper.make_graph(self._nodes, self._graph.name or "model", *ends, self._constants)
        model = helper.make_model(
            graph,
            opset_imports=[helper.make_opsetid("", opset)],
            producer_name="aboard",
            ir_version=_FORMAT_VERSION,
            doc_string=description,
        )
        data: bytes = model.SerializeToString()
        return data

    def _information(self, tensor: Tensor) -> Any:
        return self._onnx.helper.make_tensor_value_info(tensor.name, self.number_of(tensor.dtype), list(tensor.shape))

    def number_of(self, dtype: DType) -> int:
        """Returns the number of an element type in the standard."""
        return int(self._onnx.helper.np_dtype_to_tensor_dtype(dtype.numpy))
