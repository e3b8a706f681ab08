"""Imports TFLite files: the first subgraph becomes the graph. The ops (`aboard.ops`) read their operators.

A file is corrupt if it breaks the format: an index is out of range, a constant has another size than its type,
operators are not in execution order. Any other file that cannot be compiled is unsupported, and the message names the
feature.
"""

from __future__ import annotations

import math

from typing_extensions import override

from aboard.errors import AboardError, ModelError
from aboard.importers import tflite_free, tflite_state
from aboard.importers.diagnostics import Diagnostics
from aboard.importers.registry import Importer, register
from aboard.importers.tflite_compiled import compiled_for
from aboard.importers.tflite_file import IDENTIFIER, File, parse
from aboard.importers.tflite_state import Variables
from aboard.importers.tflite_subgraph import Context, SubgraphReader
from aboard.ir import Graph, Node, State, Tensor
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
        self._where = where
        self._diagnostics = Diagnostics(where)
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
        reader.check()
        self._check_interface()
        inputs = [self._input(number) for number in reader.subgraph.inputs]
        reader.read()
        outputs = self._outputs()
        states = self._states()
        self._diagnostics.report()
        graph = Graph("model", [t for t in inputs if t], outputs, reader.nodes + self._copies, self._where)
        graph.states, graph.notes = states, self._notes()
        graph.corrected_shapes = bool(self._context.corrected)
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

    def _input(self, number: int) -> Tensor | None:
        values = self._reader.values
        tensor = values.stated(number)
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
        reader = self._reader
        states = [*self._context.variables.states(), *tflite_state.states_of_tensors(reader.values), *reader.states]
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

    def _notes(self) -> list[str]:
        """Returns what was assumed: extents of free dimensions, and which subgraph is the model."""
        values, notes = self._reader.values, list[str]()
        for number in self._reader.subgraph.inputs:
            stated = values.stated(number)
            if any(extent < 0 for extent in stated.signature):
                free = "x".join("?" if extent < 0 else str(extent) for extent in stated.signature)
                fixed = "x".join(map(str, stated.shape))
                notes.append(f"input {stated.name}: free dimensions are fixed, {free} is compiled as {fixed}")
        if values.packed:
            count = sum(math.prod(values.stated(number).shape) for number in values.packed)
            notes.append(
                f"int4 weights are stored as int8: {count:,} bytes of flash, {(count + 1) // 2:,} in the model file"
            )
        for user, tensor in list(self._context.corrected.items())[:1]:
            before = values.stated(tensor.source or 0).shape[0]
            notes.append(tflite_free.NOTE.format(user=user, batch=tensor.shape[0], stated=before))
        for number in range(1, len(self._context.file.subgraphs)):
            if number not in self._context.called:
                notes.append(f"subgraph {number} is left out: nothing calls it, and the first one is the model")
        return notes
