"""Inputs and outputs of a subgraph of a TFLite file: of the model, and of what IF and WHILE call."""

from __future__ import annotations

from collections.abc import Callable, Iterable

from aboard.importers.tflite_subgraph import SubgraphReader
from aboard.ir import Node, Tensor
from aboard.ops.reshape import ReshapeAttributes


class Interface:
    """The border of one subgraph.

    Attributes:
        copies: Nodes to append: outputs that are copies of other tensors.
    """

    def __init__(self, reader: SubgraphReader, note: Callable[[str, str, Iterable[str]], None], whose: str) -> None:
        """Looks at nothing yet.

        Args:
            reader: Of the subgraph.
            note: Notes a problem: place, text, names in the text.
            whose: The subgraph in messages, possessive: `the model's`.
        """
        self.copies: list[Node] = []
        self._reader = reader
        self._note = note
        self._whose = whose

    def inputs(self) -> list[Tensor]:
        """Returns the inputs without handles of variables, before operators are read; problems are noted."""
        numbers = self._reader.subgraph.inputs
        if len(set(numbers)) != len(numbers):
            again = "expected each once. Export the model again"
            self._note(f"{self._whose} inputs", f"got tensors {list(numbers)}, {again}", ())
        found = [self._input(number) for number in numbers if number not in self._reader.state.handles]
        return [tensor for tensor in found if tensor is not None]

    def _input(self, number: int) -> Tensor | None:
        values = self._reader.values
        tensor = values.stated(number)
        where = f"{'' if self._reader.is_model else f'{self._whose} '}input {tensor.name}"
        if values.content(number):
            self._note(where, "holds constant values, expected none. Export the model again", [tensor.name])
        if tensor.variable:
            text = "is a variable, expected a tensor that the caller sets. Export the model again"
            self._note(where, text, [tensor.name])
        return values.tensor(number, f"{self._whose} inputs", computed=True)

    def outputs(self) -> list[Tensor]:
        """Returns the outputs without handles of variables, once all operators are read.

        Every output is computed by a node and is a tensor of its own, as callers get a buffer for each. So an output
        that is named twice, and one that no node computes under its name, is the copy of a tensor.
        """
        outputs: list[Tensor] = []
        values = self._reader.values
        handles = {} if self._reader.is_model else self._reader.state.handles
        for number in self._reader.subgraph.outputs:
            if number in handles:
                continue
            tensor = (
                values.get(number) if number in values.made_by else values.operand(number, f"{self._whose} outputs")
            )
            if tensor is None:
                continue  # Noted with the operator that computes it, or as an operand without a value.
            if not self.is_made(tensor) or any(output is tensor for output in outputs):
                tensor = self.copy(tensor, values.unique_name(number), number)
            outputs.append(tensor)
        return outputs

    def is_made(self, tensor: Tensor) -> bool:
        """True if a node of the subgraph computes the tensor."""
        return any(made is tensor for node in self._reader.nodes for made in node.outputs)

    def copy(self, tensor: Tensor, name: str, number: int | None) -> Tensor:
        """Returns a copy of a tensor, with the name and the number in the file that it gets."""
        copy = Tensor(name, tensor.type, None, number)
        self.copies.append(Node("reshape", name, [tensor], [copy], ReshapeAttributes(tensor.shape)))
        return copy
