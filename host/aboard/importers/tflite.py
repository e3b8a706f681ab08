"""Imports TFLite files: the first subgraph becomes the graph. The ops (`aboard.ops`) read their operators.

A file is corrupt if it breaks the format: an index is out of range, a constant has another size than its type,
operators are not in execution order. Any other file that cannot be compiled is unsupported, and the message names the
feature.
"""

from __future__ import annotations

import math
from collections.abc import Mapping

from typing_extensions import override

from aboard.errors import AboardError, ModelError
from aboard.importers import tflite_free, tflite_undefined
from aboard.importers.diagnostics import Diagnostics
from aboard.importers.registry import Importer, register
from aboard.importers.tflite_compiled import compiled_for
from aboard.importers.tflite_context import MAIN, Context
from aboard.importers.tflite_control import Bodies
from aboard.importers.tflite_file import IDENTIFIER, File, parse
from aboard.importers.tflite_interface import Interface
from aboard.importers.tflite_state import Variables
from aboard.importers.tflite_subgraph import SubgraphReader
from aboard.ir import Graph, State
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
    def read(self, data: bytes, where: str, dimensions: Mapping[str, int]) -> Graph:
        """Returns the graph. Free dimensions of TFLite files have no names; they become 1.

        Raises:
            ModelError: A dimension is named, or the file has problems; the message lists all.
        """
        if dimensions:
            raise ModelError(
                f"{where}: dimension {next(iter(dimensions))}: TFLite files name no dimensions. Leave it out; free "
                "ones become 1"
            )
        return _Import(parse(data, where), where).graph()


class _Import:
    """One import; it collects all problems of the file before it reports them."""

    def __init__(self, file: File, where: str) -> None:
        self._where = where
        self._diagnostics = Diagnostics(where)
        self._context = Context(file, where, self._diagnostics, Variables(self._diagnostics.add, file))
        self._bodies = Bodies(self._context)
        self._context.body = self._bodies.read
        self._reader = SubgraphReader(self._context)
        self._interface = Interface(self._reader, self._diagnostics.add, "the model's")

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
        inputs = self._interface.inputs()
        reader.read()
        outputs = self._interface.outputs()
        states = self._states()
        self._diagnostics.report()
        graph = Graph("model", inputs, outputs, reader.nodes + self._interface.copies, self._where)
        graph.states, graph.notes = states, self._notes()
        used = {MAIN, *self._context.called, *self._bodies.numbers}
        graph.undefined_in_tflm = tflite_undefined.reason(self._context, used)
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

    def _states(self) -> list[State]:
        """Returns the states with names of their own; a node computes the next value of each that changes."""
        reader = self._reader
        states = [*self._context.variables.states(), *reader.state.tensors(), *reader.state.states]
        names = set[str]()
        for state in states:
            name, count = state.name, 1
            while state.name in names:
                count += 1
                state.name = f"{name}_{count}"
            names.add(state.name)
            if state.changes and not self._interface.is_made(state.write):
                state.write = self._interface.copy(state.write, f"{state.read.name}/next", None)
        return states

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
            if number not in self._context.called and number not in self._bodies.numbers:
                notes.append(f"subgraph {number} is left out: nothing calls it, and the first one is the model")
        return notes
