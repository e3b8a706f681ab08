"""Imports TFLite files: the first subgraph becomes the graph. The ops (`aboard.ops`) read their operators.

A file is corrupt if it breaks the format: an index is out of range, a constant has another size than its type,
operators are not in execution order. Any other file that cannot be compiled is unsupported, and the message names the
feature.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable

from typing_extensions import override

from aboard import ops
from aboard.errors import AboardError, ModelError
from aboard.importers import tflite_shapes, tflite_state
from aboard.importers.diagnostics import Diagnostics
from aboard.importers.registry import Importer, register
from aboard.importers.tflite_compiled import compiled_for
from aboard.importers.tflite_file import IDENTIFIER, File, FileOperator, parse
from aboard.ir import Array, Graph, Node, Tensor, TensorType
from aboard.ops import SourceNode
from aboard.ops.registry import Build
from aboard.ops.reshape import ReshapeAttributes
from aboard.ops.verify import verify


@register
class TFLiteImporter(Importer):
    """Reads TFLite files: static shapes, state in variables, operators that `aboard.ops` knows."""

    format = "TFLite"
    suffixes = (".tflite", ".lite")

    @override
    def recognises(self, data: bytes) -> bool:
        """True if the file has the identifier of TFLite."""
        return data[4:8] == IDENTIFIER

    @override
    def read(self, data: bytes, where: str) -> Graph:
        return _Import(parse(data, where), where).graph()


class _Import:
    """One import; it collects all problems of the file before it reports them."""

    def __init__(self, file: File, where: str) -> None:
        kinds = {*ops.tflite_kinds(), *tflite_shapes.ALWAYS, *tflite_state.KINDS}
        self._where = where
        self._diagnostics = Diagnostics(where, sorted(kinds))
        self._context = Context(file, where, self._diagnostics, Variables(self._diagnostics.add))
        self._reader = SubgraphReader(self._context)
        self._copies: list[Node] = []

    def graph(self) -> Graph:
        """Returns the verified graph.

        Raises:
            ModelError: The file has problems; the message lists all.
        """
        subgraphs, reader = self._context.file.subgraphs, self._reader
        compiled = compiled_for(operator.kind for subgraph in subgraphs for operator in subgraph.operators)
        if compiled is not None:
            raise ModelError(f"{self._where}: {compiled}")
        self._made_by = self._producers()
        self._check_order()
        inputs = [self._model_input(number) for number in self._file.inputs]
        nodes = [node for number in range(len(self._file.operators)) for node in self._nodes(number)]
        outputs, copies = self._outputs()
        self._diagnostics.report()
        graph = Graph("model", [t for t in inputs if t], outputs, reader.nodes + self._copies, self._where)
        graph.states, graph.notes = states, self._notes()
        try:
            verify(graph)
        except AboardError as error:
            raise ModelError(f"{self._where}: {error}") from error
        return graph

    def _check_interface(self) -> None:
        """Checks that the model has inputs and outputs."""
        inputs, outputs = self._reader.subgraph.inputs, self._reader.subgraph.outputs
        if not (inputs and outputs):
            self._diagnostics.add(
                "the model",
                f"inputs and outputs, got {len(inputs)} and {len(outputs)}, expected at least 1 each. "
                "Export a model that computes its outputs from inputs",
            )
        if len(set(inputs)) != len(inputs):
            self._diagnostics.add(
                "the model's inputs", f"got tensors {list(inputs)}, expected each once. Export the model again"
            )

    def _label(self, tensor: int) -> str:
        return f"tensor {tensor} ({self._file.tensors[tensor].name[:60]})"

    # Content.

    def _nodes(self, number: int) -> list[Node]:
        """Returns the nodes for an operator; none, with the problem noted, for an operator with one."""
        operator = self._file.operators[number]
        build = ops.from_tflite(operator.kind)
        if build is None:
            self._note_operator(number, operator)
            return []
        user = f"node {number} {operator.kind}"
        operands = self._operands(operator, user)
        results = self._results(operator, user)
        if operands is None or results is None or not self._table_fits(operator, user):
            return []
        where = f"{self._where}: {user}"
        source = SourceNode(operator.kind, number, where, operands, results, operator.options)
        try:
            nodes = _built(build, source)
            for node in nodes:
                check_node(node)
        except AboardError as error:
            text = str(error).removeprefix(f"{self._where}: ").removeprefix(f"{user}: ")
            names = [tensor.name for tensor in (*operands, *results) if tensor is not None]
            self._diagnostics.add(user, text, names)
            return []
        self._name_apart(nodes)
        return nodes

    def _name_apart(self, nodes: Iterable[Node]) -> None:
        """Gives tensors that are not in the file, and the nodes that compute them, names of their own."""
        made = {id(tensor): tensor for node in nodes for tensor in (*node.operands, *node.outputs)}
        for tensor in made.values():
            if tensor.source is None:
                tensor.name = self._unused(tensor.name)
        for node in nodes:
            node.name = node.output.name

    def _note_operator(self, number: int, operator: FileOperator) -> None:
        """Notes an operator that is not supported. Its results count as computed, so that readers are no problem."""
        self._diagnostics.operator(number, operator.kind)
        for tensor in operator.outputs:
            if tensor >= 0 and tflite_tensors.problem(self._file.tensors[tensor], computed=True, bias=False) is None:
                self._tensor(tensor, operator.kind, computed=True)

    def _operands(self, operator: FileOperator, user: str) -> list[Tensor | None] | None:
        """Returns the operands; None, with the problem noted, where one is not usable."""
        operands = [self._operand(number, user) if number >= 0 else None for number in operator.inputs]
        missing = any(tensor is None and n >= 0 for tensor, n in zip(operands, operator.inputs, strict=True))
        return None if missing else operands

    def _results(self, operator: FileOperator, user: str) -> list[Tensor] | None:
        """Returns the results; None, with the problem noted, where one is not usable."""
        if not operator.outputs or min(operator.outputs) < 0:
            self._diagnostics.add(
                user, f"results, got {list(operator.outputs)}, expected tensors. Export the model again"
            )
            return None
        taken = next((n for n in operator.outputs if n in self._tensors), None)
        if taken is not None:
            self._diagnostics.add(
                user,
                f"computes {self._label(taken)}, which has a value already, expected a tensor of its own. "
                "Export the model again",
                [self._label(taken)],
            )
            return None
        constant = next((n for n in operator.outputs if self._file.buffer(self._file.tensors[n].buffer)), None)
        if constant is not None:
            self._diagnostics.add(
                user,
                f"computes {self._label(constant)}, which holds constant values, expected none. Export the model again",
                [self._label(constant)],
            )
            return None
        found = [self._tensor(number, user, computed=True) for number in operator.outputs]
        present = [tensor for tensor in found if tensor is not None]
        return present if len(present) == len(found) else None

    def _table_fits(self, operator: FileOperator, user: str) -> bool:
        """True where the options table in the file belongs to the operator; otherwise one of the two is wrong."""
        expected = tflite_options.expected_table(operator.kind)
        if operator.table in (expected, tflite_options.NONE):
            return True
        self._diagnostics.add(
            user,
            f"options table, got {operator.table}, expected {expected}. The file is corrupt; export or download the "
            "model again",
        )
        return False

    def _model_input(self, number: int) -> Tensor | None:
        tensor = self._file.tensors[number]
        where = f"input {tensor.name}"
        if values.content(number):
            self._diagnostics.add(where, "holds constant values, expected none. Export the model again", [tensor.name])
        if tensor.variable:
            text = "is a variable, expected a tensor that the caller sets. Export the model again"
            self._diagnostics.add(where, text, [tensor.name])
        return values.tensor(number, "the model's inputs", computed=True)

    def _outputs(self) -> list[Tensor]:
        """Returns the model's outputs.

        Every output is computed by a node and is a tensor of its own, as callers get a buffer for each. So an output
        that is named twice, and one that no node computes under its name, is the copy of a tensor.
        """
        outputs: list[Tensor] = []
        values = self._reader.values
        for number in self._reader.subgraph.outputs:
            tensor = values.get(number) if number in values.made_by else values.operand(number, "the model's outputs")
            if tensor is None:
                continue  # Noted with the operator that computes it, or as an operand without a value.
            if not self._is_made(tensor) or any(output is tensor for output in outputs):
                tensor = self._copy(tensor, values.unique_name(number), number)
            outputs.append(tensor)
        return outputs

    def _states(self) -> list[State]:
        """Returns the states with names of their own; a node computes the next value of each that changes."""
        states = [*self._context.variables.states(), *tflite_state.states_of_tensors(self._reader.values)]
        names = set[str]()
        for state in states:
            name, count = state.name, 1
            while state.name in names:
                count += 1
                state.name = f"{name}_{count}"
            names.add(state.name)
            if state.changes and not self._is_made(state.write):
                state.write = self._copy(state.write, f"{state.read.name}/next", None)
        return states

    def _is_made(self, tensor: Tensor) -> bool:
        return any(made is tensor for node in self._reader.nodes for made in node.outputs)

    def _copy(self, tensor: Tensor, name: str, number: int | None) -> Tensor:
        copy = Tensor(name, tensor.type, None, number)
        self._copies.append(Node("reshape", name, [tensor], [copy], ReshapeAttributes(tensor.shape)))
        return copy

    def _unique_name(self, number: int) -> str:
        return self._unused(self._file.tensors[number].name or f"tensor_{number}")

    def _unused(self, stated: str) -> str:
        name = stated
        while name in self._names:
            self._names[stated] += 1
            name = f"{stated}_{self._names[stated]}"
        self._names[name] += 1
        return name

    def _constant(self, number: int, tensor_type: TensorType) -> Array:
        content = self._file.buffer(self._file.tensors[number].buffer)
        if len(content) != tensor_type.bytes:
            raise self._corrupt(
                f"constant {self._label(number)} of type {tensor_type}, got {len(content)} bytes, "
                f"expected {tensor_type.bytes}"
            )
        return tflite_tensors.values(content, tensor_type)


def _built(build: Build, source: SourceNode) -> list[Node]:
    """Returns the nodes that an operator becomes, with operands that have elements.

    An operand without elements may only be read while importing. An op that computes with its extents divides by 0.

    Raises:
        ModelError: An operand has no elements, or the op refuses the operator.
    """
    try:
        nodes = build(source)
    except ZeroDivisionError as error:
        _check_extents(tensor for tensor in source.inputs if tensor is not None)
        raise error
    _check_extents(tensor for node in nodes for tensor in node.operands)
    return nodes


def _check_extents(operands: Iterable[Tensor]) -> None:
    """Raises for an operand without elements."""
    empty = next((tensor for tensor in operands if 0 in tensor.shape), None)
    if empty is not None:
        raise ModelError(
            f"operand {empty.name}, got shape {list(empty.shape)}, expected dimensions of at least 1. "
            "Export the model with a fixed input shape"
        )
