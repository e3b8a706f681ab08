"""Builds the graph of an ONNX file: goes through the nodes in their order.

Every name of the file stands for a tensor of the graph, or for an array that is known. Nodes of known arrays are
computed here; others are read by the functions of `operators/`. An operator without a function that the standard
defines by other operators is replaced by these.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import TYPE_CHECKING

import numpy as np

from aboard.errors import AboardError, ModelError
from aboard.importers.diagnostics import Diagnostics
from aboard.importers.onnx import affine, control, folding, functions, moved_integers
from aboard.importers.onnx import file as files
from aboard.importers.onnx.border import Border
from aboard.importers.onnx.builder import Builder, constant_tensor
from aboard.importers.onnx.names import Names
from aboard.importers.onnx.operator import Operator, readers
from aboard.ir import Array, DType, Graph, Node, Tensor, TensorType
from aboard.ops.verify import verify

if TYPE_CHECKING:
    import onnx


def read(file: files.File, where: str) -> Graph:
    """Returns the verified graph of a file.

    Raises:
        ModelError: The file has problems; the message lists all.
    """
    return _Reader(file, where).graph()


class _Reader:
    def __init__(self, file: files.File, where: str) -> None:
        self._file = file
        self._where = where
        self._diagnostics = Diagnostics(where)
        self._values: dict[str, Tensor | Array | None] = {}
        self._nodes: list[Node] = []
        self._names = Names(file.model.graph)
        self._border = Border(self._values, self._nodes, self._names, self._diagnostics)
        self._count = 0
        self._weights: dict[int, Tensor | None] = {}
        self._distributions: dict[int, Tensor] = {}
        self._notes = list(file.notes)

    def graph(self) -> Graph:
        """Returns the verified graph."""
        proto = self._file.model.graph
        self._values |= self._stored(proto)
        inputs = self._border.inputs(proto)
        for node in proto.node:
            self._node(node)
        self._diagnostics.report()
        outputs = self._border.outputs(proto)
        self._diagnostics.report()
        graph = Graph("model", inputs, outputs, self._nodes, self._where)
        graph.notes = [*self._notes, *map(_text_note, filter(lambda each: each.text, outputs))]
        moved_integers.quantise(graph)
        try:
            verify(graph)
            affine.fold(graph)
            verify(graph)
        except AboardError as error:
            raise ModelError(f"{self._where}: {error}") from error
        return graph

    def _stored(self, proto: onnx.GraphProto) -> dict[str, Tensor | Array | None]:
        """Returns the weights of a graph by name; None for those with a problem, which is noted."""
        from onnx import numpy_helper

        if proto.sparse_initializer:
            name = proto.sparse_initializer[0].values.name
            self._diagnostics.add(f"weights {name}", "are sparse, expected dense ones. Export the model again")
        found: dict[str, Tensor | Array | None] = {}
        for each in proto.initializer:
            try:
                found[each.name] = numpy_helper.to_array(each)
            except (ValueError, TypeError, KeyError) as error:
                text = f"cannot be read ({str(error)[:100]}). The file is corrupt; export the model again"
                self._diagnostics.add(f"weights {each.name}", text)
                found[each.name] = None
        return found

    def _node(self, node: onnx.NodeProto) -> None:
        """Reads one node; a problem is noted, and its results are not usable."""
        number, self._count = self._count, self._count + 1
        label = f"node {number} {node.op_type}" + (f" ({node.name[:60]})" if node.name else "")
        for name in node.output:
            self._values.setdefault(name, None)
        if any(name and self._values.get(name) is None for name in node.input):
            return  # Noted where the value should have come from.
        if any(name in self._values and self._values[name] is None for name in _captured(node)):
            return
        try:
            results = self._read(node, number, label)
            self._values.update((name, value) for name, value in zip(node.output, results, strict=False) if name)
            self._names.results(node, results, self._nodes)
        except _UnknownError as error:
            within = "" if error.kind == _kind(node) else f"inside {_kind(node)}, "
            self._diagnostics.operator(number, error.kind, within)
        except ModelError as error:
            text = str(error).removeprefix(f"{self._where}: ").removeprefix(label)
            self._diagnostics.add(label, text.lstrip(":, "))

    def _read(self, node: onnx.NodeProto, number: int, label: str) -> Sequence[Tensor | Array | None]:
        """Returns the results of a node."""
        operands = [self._values[name] if name else None for name in node.input]
        known = self._folded(node, operands, label)
        if known is not None:
            return known
        kind = _kind(node)
        if kind in control.KINDS:
            return self._control(node, number, label, operands)
        if kind not in readers():
            body = functions.body(self._file, node, operands)
            if body is None:
                raise _UnknownError(kind)
            return self._inline(body, node, operands, label)
        if kind == "ai.onnx.ml.ArrayFeatureExtractor":
            operands = [_single(each) for each in operands]
        source = self._operator(node, number, label, [self._tensor(each, label) for each in operands])
        make = Builder(source, self._weights, self._distributions)
        _refuse_empty(source, source.inputs[:1] if kind != "Concat" else [])
        text = _text(source, kind)
        made = readers()[kind](source, make) if kind != "Cast" or not text else source.input(0)
        if text and isinstance(made, Tensor):
            made.text = text
        self._notes += make.notes
        _refuse_empty(source, [tensor for each in make.nodes for tensor in (*each.operands, *each.outputs)])
        self._nodes += make.nodes
        return [made] if isinstance(made, Tensor) else made

    def _folded(
        self, node: onnx.NodeProto, operands: Sequence[Tensor | Array | None], label: str
    ) -> list[Array] | None:
        """Returns the results of a node that is known here; None for any other."""
        if node.op_type in ("Shape", "Size", "EyeLike") and isinstance(operands[0], Tensor):
            operands = [np.zeros(operands[0].shape, operands[0].dtype.numpy)]
        if any(isinstance(each, Tensor) and each.data is None for each in operands) or not folding.foldable(node):
            return None
        arrays = [each.data if isinstance(each, Tensor) else each for each in operands]
        try:
            results = folding.fold(node, arrays, self._file.opsets)
        except ValueError as error:
            raise ModelError(
                f"{label}: its operands are constant and cannot be computed ({error}). Export the model again"
            ) from error
        if not all(isinstance(each, np.ndarray | np.generic) for each in results):
            raise ModelError(
                f"{label}: results, got no tensors, expected tensors. Export the model without sequences and maps"
            )
        return [np.asarray(each) for each in results]

    def _inline(
        self, body: functions.Body, node: onnx.NodeProto, operands: Sequence[Tensor | Array | None], label: str
    ) -> list[Tensor | Array | None]:
        """Reads the nodes that the standard defines an operator by, and returns the results."""
        values = dict(zip(body.inputs, operands, strict=False))
        outputs = body.outputs[: len(node.output)]
        return self._scope(values, body.nodes, outputs, lambda kind: f"{label}, {kind} of its definition")

    def _control(
        self, node: onnx.NodeProto, number: int, label: str, operands: Sequence[Tensor | Array | None]
    ) -> list[Tensor | Array | None]:
        """Reads a branch or a loop, whose graphs see the values around them."""

        def read(graph: onnx.GraphProto, given: Sequence[Tensor | Array | None]) -> list[Tensor | Array | None]:
            if len(given) != len(graph.input):
                raise source.unsupported(
                    f"inner graph {graph.name}, got {len(graph.input)} inputs, expected {len(given)}. Export again"
                )
            values = {**self._values, **dict(zip((each.name for each in graph.input), given, strict=True))}
            values |= self._stored(graph)
            outputs = [each.name for each in graph.output]
            return self._scope(values, graph.node, outputs, lambda kind: f"{label}, {kind} inside it")

        source = self._operator(node, number, label, [])
        make = Builder(source, self._weights, self._distributions)
        make.nodes = self._nodes
        return control.results(source, make, operands, read)

    def _scope(
        self,
        values: dict[str, Tensor | Array | None],
        nodes: Iterable[onnx.NodeProto],
        outputs: Iterable[str],
        label: Callable[[str], str],
    ) -> list[Tensor | Array | None]:
        """Reads nodes for which names stand for other values, and returns values of theirs."""
        outer, self._values = self._values, values
        try:
            for each in nodes:
                operators = self._read(each, self._count - 1, label(each.op_type))
                self._values.update(zip(each.output, operators, strict=False))
            return [self._values.get(name) for name in outputs]
        finally:
            self._values = outer

    def _operator(self, node: onnx.NodeProto, number: int, label: str, operands: list[Tensor | None]) -> Operator:
        opset = self._file.opsets.get("" if node.domain in files.STANDARD else node.domain, 1)
        defaults, since = functions.schema(node, opset)
        options = {**defaults, **files.attributes(node.attribute)}
        name = next((name for name in node.output if name), label)
        return Operator(
            node.op_type,
            number,
            f"{self._where}: {label}",
            operands,
            [Tensor(name, TensorType((), DType.FLOAT32))],
            options,
            opset=opset,
            since=since,
            results=tuple(node.output),
        )

    def _tensor(self, value: Tensor | Array | None, label: str) -> Tensor | None:
        """Returns a value as an operand; an array becomes a constant."""
        return None if value is None else constant_tensor(value, label)


class _UnknownError(Exception):
    """No function reads an operator.

    Attributes:
        kind: Its name.
    """

    def __init__(self, kind: str) -> None:
        super().__init__(kind)
        self.kind = kind


#: Operators that move elements of operand 0, whatever these stand for.
_MOVING = (
    *("Cast", "Flatten", "Gather", "Identity", "Reshape", "Slice", "Squeeze", "Transpose", "Unsqueeze"),
    "ai.onnx.ml.ArrayFeatureExtractor",
)


def _text(source: Operator, kind: str) -> tuple[str, ...]:
    """Returns what the integers of operand 0 stand for, and so those of the result; empty for numbers.

    Raises:
        ModelError: The operator would compute with text, or convert it.
    """
    given = [each is not None and bool(each.text) for each in source.inputs]
    if not any(given):
        return ()
    if any(given[1:]) or kind not in _MOVING or (kind == "Cast" and int(source.options["to"]) != _STRING):
        raise source.unsupported("operand, got text, expected numbers. Train the model with classes that are numbers")
    return source.input(0).text


def _single(value: Tensor | Array | None) -> Tensor | Array | None:
    """Returns a table of doubles, from which exporters take results before they convert these, as float32."""
    is_double = isinstance(value, np.ndarray) and value.dtype == np.float64
    return value.astype(np.float32) if is_double and isinstance(value, np.ndarray) else value


#: TensorProto.STRING.
_STRING = 8


def _text_note(output: Tensor) -> str:
    names = ", ".join(f"{index} {each!r}" for index, each in enumerate(output.text[:_MOST_NAMED]))
    more = f", and {len(output.text) - _MOST_NAMED} more" if len(output.text) > _MOST_NAMED else ""
    return f"output {output.name}: an index in place of text: {names}{more}"


#: Classes that a note names.
_MOST_NAMED = 32


def _captured(node: onnx.NodeProto) -> Iterator[str]:
    """Yields the names that the inner graphs of a node read, of their own values and of those around them."""
    for attribute in node.attribute:
        for inner in attribute.g.node:
            yield from inner.input
            yield from _captured(inner)


def _refuse_empty(source: Operator, tensors: Sequence[Tensor | None]) -> None:
    """Raises for a tensor without elements, which the file may name, but no kernel computes with."""
    for tensor in tensors:
        if tensor is not None and 0 in tensor.shape:
            raise source.unsupported(
                f"operands or results, got one of shape {list(tensor.shape)}, expected elements. Tensors without "
                "elements can be joined with others, and no more"
            )


def _kind(node: onnx.NodeProto) -> str:
    return node.op_type if node.domain in files.STANDARD else f"{node.domain}.{node.op_type}"
