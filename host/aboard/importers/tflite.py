"""Imports TFLite files. What an operator means its op knows (`aboard.ops`); here stand only tensors and their order."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable

import numpy as np

from aboard import ops
from aboard.errors import AboardError, ModelError
from aboard.importers import tflite_options
from aboard.importers.registry import Importer, register
from aboard.importers.tflite_file import IDENTIFIER, File, FileTensor, parse, type_name
from aboard.ir import Array, DType, Graph, Node, Quantization, Tensor, TensorType
from aboard.ops import SourceNode
from aboard.ops.verify import check_node, verify

_TYPES = {dtype.value.upper(): dtype for dtype in DType}
_MAX_RANK = 6
_MAX_BYTES = 2**31 - 1


@register
class TFLiteImporter(Importer):
    """Reads TFLite files: one subgraph, static shapes, operators that `aboard.ops` knows."""

    format = "TFLite"
    suffixes = (".tflite", ".lite")

    def recognises(self, data: bytes) -> bool:
        """True when the file has the identifier of TFLite."""
        return data[4:8] == IDENTIFIER

    def read(self, data: bytes, where: str) -> Graph:
        """Returns the graph of a file; see `Importer.read`."""
        return _Import(parse(data, where), where).graph()


class _Import:
    """One import: collects what is not supported over the whole file, and reports it at once."""

    def __init__(self, file: File, where: str) -> None:
        self._file = file
        self._where = where
        self._problems: list[str] = []
        self._unknown_operators = False
        self._tensors: dict[int, Tensor] = {}
        self._names: Counter[str] = Counter()

    def graph(self) -> Graph:
        """Returns the verified graph.

        Raises:
            ModelError: With everything that is wrong.
        """
        self._check_order()
        inputs = [self._model_input(number) for number in self._file.inputs]
        nodes = [node for number in range(len(self._file.operators)) if (node := self._node(number)) is not None]
        outputs = [self._tensor(number, "the model's outputs") for number in self._file.outputs]
        self._report()
        graph = Graph("model", [t for t in inputs if t], [t for t in outputs if t], nodes, self._where)
        try:
            verify(graph)
        except AboardError as error:
            raise ModelError(f"{self._where}: {error}. The file is corrupt") from error
        return graph

    def _report(self) -> None:
        if not self._problems:
            return
        known = [f"Supported operators: {', '.join(ops.tflite_kinds())}"] if self._unknown_operators else []
        if len(self._problems) == 1:
            raise ModelError(". ".join([f"{self._where}: {self._problems[0]}", *known]))
        head = f"{self._where}: {len(self._problems)} problems, all of which have to be solved:"
        raise ModelError("\n".join([head, *(f"  {problem}" for problem in self._problems), *known]))

    def _corrupt(self, what: str) -> ModelError:
        return ModelError(f"{self._where}: {what}. The file is corrupt; export or download the model again")

    # Structure: what the numbers in the file refer to.

    def _check_order(self) -> None:
        """Checks that every tensor number exists, and that everything is computed once and before it is read."""
        file = self._file
        if not (file.inputs and file.outputs and file.operators):
            raise self._corrupt(
                f"inputs, outputs and operators, got {len(file.inputs)}, {len(file.outputs)} and "
                f"{len(file.operators)}, expected at least 1 each"
            )
        for what, numbers in (("inputs", file.inputs), ("outputs", file.outputs)):
            self._check_numbers(f"the model's {what}", numbers)
            if len(set(numbers)) != len(numbers):
                raise self._corrupt(f"the model's {what}, got {list(numbers)}, expected each tensor once")
        made_by = self._producers()
        known = set(file.inputs)
        for number, operator in enumerate(file.operators):
            for tensor in operator.inputs:
                self._check_read(number, tensor, known, made_by)
            known.update(operator.outputs)
        for tensor in file.outputs:
            if tensor in file.inputs:
                raise ModelError(
                    f"{self._where}: output {self._label(tensor)} of the model is its input as well, expected a tensor "
                    "that an operator computes. Leave it out of the outputs when exporting"
                )
            if tensor not in made_by:
                raise self._corrupt(f"output {self._label(tensor)} of the model is computed by no operator")

    def _check_numbers(self, user: str, numbers: Iterable[int], optional: bool = False) -> None:
        count = len(self._file.tensors)
        for number in numbers:
            if not (-1 if optional else 0) <= number < count:
                raise self._corrupt(f"{user} name tensor {number}, expected 0 to {count - 1}")

    def _producers(self) -> dict[int, int]:
        """Returns which operator computes each tensor."""
        made_by: dict[int, int] = {}
        for number, operator in enumerate(self._file.operators):
            user = f"node {number} {operator.kind}"
            self._check_numbers(f"operands of {user}", operator.inputs, optional=True)
            self._check_numbers(f"results of {user}", operator.outputs)
            if not operator.outputs:
                raise self._corrupt(f"{user} has no results")
            for tensor in operator.outputs:
                if tensor in made_by or tensor in self._file.inputs:
                    raise self._corrupt(f"{user} computes {self._label(tensor)}, which has a value already")
                made_by[tensor] = number
        return made_by

    def _check_read(self, number: int, tensor: int, known: set[int], made_by: dict[int, int]) -> None:
        if tensor < 0 or tensor in known:
            return
        user = f"node {number} {self._file.operators[number].kind} reads {self._label(tensor)}"
        if tensor in made_by:
            raise self._corrupt(
                f"{user} before node {made_by[tensor]} computes it: operators are not in execution order, or in a cycle"
            )
        if not self._file.buffer(self._file.tensors[tensor].buffer) and not self._file.tensors[tensor].variable:
            raise self._corrupt(f"{user}, which is neither an input, nor a constant, nor computed")

    def _label(self, tensor: int) -> str:
        return f"tensor {tensor} ({self._file.tensors[tensor].name[:60]})"

    # Content.

    def _node(self, number: int) -> Node | None:
        """Returns the node for an operator; None when something is wrong with it (which is then noted)."""
        operator = self._file.operators[number]
        user = f"node {number} {operator.kind}"
        where = f"{self._where}: {user}"
        inputs = [self._tensor(tensor, user) if tensor >= 0 else None for tensor in operator.inputs]
        outputs = [self._tensor(tensor, user, computed=True) for tensor in operator.outputs]
        build = ops.from_tflite(operator.kind)
        if build is None:
            self._problems.append(f"{user}: operator is not supported")
            self._unknown_operators = True
            return None
        expected = tflite_options.expected_table(operator.kind)
        if operator.table not in (expected, tflite_options.NONE):
            self._problems.append(
                f"{user}: options table, got {operator.table}, expected {expected}. The file is corrupt; export or "
                "download the model again"
            )
            return None
        present = [tensor for tensor in outputs if tensor is not None]
        missing = any(tensor is None and n >= 0 for tensor, n in zip(inputs, operator.inputs, strict=True))
        if missing or len(present) < len(outputs):
            return None
        source = SourceNode(operator.kind, number, where, inputs, present, operator.options)
        try:
            node = build(source)
            check_node(node)
        except AboardError as error:
            text = str(error).removeprefix(f"{self._where}: ")
            self._problems.append(text if text.startswith(user) else f"{user}: {text}")
            return None
        return node

    def _model_input(self, number: int) -> Tensor | None:
        tensor = self._file.tensors[number]
        if self._file.buffer(tensor.buffer):
            raise self._corrupt(f"input {self._label(number)} of the model holds constant values")
        # Converters write 1 for a dimension that they do not know; only for the batch is that what is meant.
        if any(size < 0 for size in tensor.signature[1:]):
            self._problems.append(
                f"input {tensor.name}: shape, got {list(tensor.signature)} with dynamic dimensions, "
                "expected fixed ones. Export the model with a fixed input shape"
            )
        return self._tensor(number, "the model's inputs", computed=True)

    def _tensor(self, number: int, user: str, *, computed: bool = False) -> Tensor | None:
        """Returns a tensor of the file; None, with the problem noted, when it is of a kind that is not supported."""
        if number not in self._tensors:
            stated = self._file.tensors[number]
            reason = _unsupported(stated)
            if reason is not None:
                self._problems.append(f"{user}: {self._label(number)}: {reason}")
                return None
            tensor_type = TensorType(stated.shape, _TYPES[type_name(stated.type)], self._quantization(number))
            content = b"" if computed else self._file.buffer(stated.buffer)
            data = self._constant(number, tensor_type, content) if content else None
            self._tensors[number] = Tensor(self._unique_name(number), tensor_type, data, number)
        return self._tensors[number]

    def _unique_name(self, number: int) -> str:
        stated = self._file.tensors[number].name or f"tensor_{number}"
        name = stated
        while name in self._names:
            self._names[stated] += 1
            name = f"{stated}_{self._names[stated]}"
        self._names[name] += 1
        return name

    def _constant(self, number: int, tensor_type: TensorType, content: bytes) -> Array:
        if len(content) != tensor_type.bytes:
            raise self._corrupt(
                f"constant {self._label(number)} of type {tensor_type}, got {len(content)} bytes, "
                f"expected {tensor_type.bytes}"
            )
        values = np.frombuffer(content, tensor_type.dtype.numpy.newbyteorder("<")).reshape(tensor_type.shape)
        if tensor_type.dtype is DType.BOOL:
            values = np.frombuffer(content, np.uint8).reshape(tensor_type.shape) != 0
        return values.astype(tensor_type.dtype.numpy, copy=False)

    def _quantization(self, number: int) -> Quantization | None:
        """Returns the quantisation of a tensor; None for float tensors, of which some converters state one."""
        stated = self._file.tensors[number]
        dtype = _TYPES[type_name(stated.type)]
        if not stated.scales or dtype in (DType.FLOAT16, DType.FLOAT32, DType.BOOL):
            return None
        count = len(stated.scales)
        zero_points = stated.zero_points or (0,) * count
        if len(zero_points) == 1:
            zero_points *= count
        if len(zero_points) != count:
            raise self._corrupt(f"{self._label(number)} has {count} scales and {len(zero_points)} zero points")
        # A weight channel of zeros may have the scale 0; nothing that is computed may.
        if not all(np.isfinite(scale) and scale >= 0 for scale in stated.scales) or (
            count == 1 and not stated.scales[0]
        ):
            raise self._corrupt(f"{self._label(number)}: scale, got {min(stated.scales)}, expected a positive number")
        limits = np.iinfo(dtype.value)
        outside = [point for point in zero_points if not limits.min <= point <= limits.max]
        if outside:
            raise self._corrupt(
                f"{self._label(number)}: zero point, got {outside[0]}, expected a value of {dtype.value}"
            )
        if count == 1:
            return Quantization(stated.scales, zero_points)
        if not 0 <= stated.axis < len(stated.shape) or stated.shape[stated.axis] != count:
            raise self._corrupt(
                f"{self._label(number)} of shape {list(stated.shape)}: got {count} scales along axis {stated.axis}, "
                "expected one for each index of an axis"
            )
        return Quantization(stated.scales, zero_points, stated.axis)


def _unsupported(tensor: FileTensor) -> str | None:
    """Returns what about a tensor is not supported, and what to do; None where nothing is."""
    if type_name(tensor.type) not in _TYPES:
        return (
            f"element type, got {type_name(tensor.type)}, expected one of {', '.join(sorted(_TYPES))}. "
            "Convert the model to int8 or float32"
        )
    if any(size < 1 for size in tensor.shape):
        return (
            f"shape, got {list(tensor.shape)}, expected dimensions of at least 1. "
            "Export the model with a fixed input shape"
        )
    if len(tensor.shape) > _MAX_RANK:
        return f"shape of {len(tensor.shape)} dimensions, expected at most {_MAX_RANK}. Reshape it in the model"
    if TensorType(tensor.shape, _TYPES[type_name(tensor.type)]).bytes > _MAX_BYTES:
        return f"shape, got {list(tensor.shape)}, expected less than 2 GB in all. Use a smaller model"
    if tensor.variable:
        return "variables are not supported. Export the model without state, and pass the state as input and output"
    if tensor.sparse:
        return "sparse constants are not supported. Convert the model without sparsity"
    return None
