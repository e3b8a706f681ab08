"""The tensors of a subgraph of a TFLite file that have a value: inputs, constants, and what its operators compute."""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Iterable

import tflite

from aboard.errors import ModelError
from aboard.importers import tflite_tensors
from aboard.importers.diagnostics import Diagnostics
from aboard.importers.free_names import FreeNames
from aboard.importers.tflite_file import File, FileTensor, Subgraph
from aboard.ir import Array, Tensor, TensorType


class Values:
    """Looks up tensors by their number in the file, and makes them when they are first mentioned.

    Attributes:
        subgraph: The subgraph.
        made_by: For each tensor that an operator computes, the number of the operator.
        handles: Tensors that name a variable instead of holding values.
        variables: For each variable tensor that was read before an operator computed it, the tensor that was read.
        packed: Numbers of the weights that the file has as int4 and that are read as int8.
    """

    def __init__(self, file: File, subgraph: Subgraph, where: str, diagnostics: Diagnostics) -> None:
        self.subgraph = subgraph
        self.made_by: dict[int, int] = {}
        self.handles: set[int] = set()
        self.variables: dict[int, Tensor] = {}
        self._file = file
        self._where = where
        self._diagnostics = diagnostics
        self._tensors: dict[int, Tensor] = {}
        self._names = FreeNames()
        self.packed: frozenset[int] = frozenset()
        self._biases = tflite_tensors.biases(subgraph)

    def __contains__(self, number: int) -> bool:
        return number in self._tensors

    def get(self, number: int) -> Tensor | None:
        """Returns a tensor that has a value; None for any other."""
        return self._tensors.get(number)

    def put(self, number: int, tensor: Tensor) -> None:
        """Makes a number stand for a tensor from here on."""
        self._tensors[number] = tensor

    def stated(self, number: int) -> FileTensor:
        """Returns the tensor as the file has it, packed weights unpacked."""
        found = self.subgraph.tensors[number]
        return dataclasses.replace(found, type=tflite.TensorType.INT8) if number in self.packed else found

    def content(self, number: int) -> bytes:
        """Returns the constant values of a tensor; empty where it has none.

        Raises:
            ModelError: Packed weights have another number of bytes than their shape needs.
        """
        stated = self.stated(number)
        content = self._file.buffer(stated.buffer)
        if number not in self.packed or not content:
            return content
        elements = math.prod(stated.shape)
        unpacked = tflite_tensors.unpacked(content, elements)
        if unpacked is None:
            wrong = f"got {len(content)} bytes, expected {(elements + 1) // 2}"
            raise corrupt(self._where, f"constant {self.label(number)} of {elements} int4 values, {wrong}")
        return unpacked

    def label(self, number: int) -> str:
        """Returns what messages call a tensor."""
        return f"tensor {number} ({self.stated(number).name[:60]})"

    def note(self, user: str, text: str, number: int) -> None:
        """Notes a problem with a tensor."""
        self._diagnostics.add(user, text, [self.label(number)])

    def operands(self, numbers: Iterable[int], user: str) -> list[Tensor | None] | None:
        """Returns operands, None for an absent one; None, with the problem noted, where one is not usable."""
        wanted = list(numbers)
        found = [self.operand(number, user) if number >= 0 else None for number in wanted]
        missing = any(tensor is None and n >= 0 for tensor, n in zip(found, wanted, strict=True))
        return None if missing else found

    def operand(self, number: int, user: str) -> Tensor | None:
        """Returns a tensor that is read; None, with the problem noted, where it has no value."""
        stated, label = self.stated(number), self.label(number)
        if number not in self and stated.variable:
            return self._variable(number, user)
        if number in self.handles:
            self.note(user, f"reads {label}, the handle of a variable, expected values. Export the model again", number)
            return None
        if number in self or self._file.buffer(stated.buffer) or 0 in stated.shape:
            return self.tensor(number, user)
        if number in self.made_by or number in self.subgraph.inputs:
            return None  # Noted where it gets its value.
        reason = tflite_tensors.problem(stated, computed=False, bias=number in self._biases)
        without = f"reads {label}, which is neither an input, nor a constant, nor computed. Export the model again"
        self.note(user, f"{label}: {reason}" if reason else without, number)
        return None

    def _variable(self, number: int, user: str) -> Tensor | None:
        """Returns the value that a variable tensor has from the run before."""
        if self.content(number):
            self.note(
                user,
                f"{self.label(number)} is a variable and holds constant values, expected none. Export the model again",
                number,
            )
            return None
        tensor = self.tensor(number, user, computed=True)
        if tensor is not None:
            self.variables[number] = tensor
        return tensor

    def results(self, numbers: tuple[int, ...], user: str) -> list[Tensor] | None:
        """Returns tensors for the results of an operator; None, with the problem noted, where one is not usable."""
        if not numbers or min(numbers) < 0:
            self._diagnostics.add(user, f"results, got {list(numbers)}, expected tensors. Export the model again")
            return None
        taken = next((n for n in numbers if n in self and not self.stated(n).variable), None)
        if taken is not None:
            wrong = "has a value already, expected a tensor of its own"
            self.note(user, f"computes {self.label(taken)}, which {wrong}. Export the model again", taken)
            return None
        constant = next((n for n in numbers if self.content(n)), None)
        if constant is not None:
            wrong = "holds constant values, expected none"
            self.note(user, f"computes {self.label(constant)}, which {wrong}. Export the model again", constant)
            return None
        found = [self.tensor(number, user, computed=True) for number in numbers]
        present = [tensor for tensor in found if tensor is not None]
        return present if len(present) == len(found) else None

    def tensor(self, number: int, user: str, *, computed: bool = False) -> Tensor | None:
        """Returns a tensor of the file; None, with the problem noted, when it is of a kind that is not supported.

        Args:
            number: Of the tensor.
            user: Who mentions it, for messages.
            computed: Whether its value is known only at run time. A variable tensor that is computed again is a new
                tensor.
        """
        if number not in self or (computed and self.stated(number).variable):
            made = self.fresh(number, user, computed=computed)
            if made is None:
                return None
            self._tensors[number] = made
        return self._tensors[number]

    def fresh(self, number: int, user: str, *, computed: bool) -> Tensor | None:
        """Returns a new tensor of a tensor's type; otherwise as `tensor`."""
        stated, bias = self.stated(number), number in self._biases
        reason = tflite_tensors.problem(stated, computed=computed, bias=bias)
        if reason is not None:
            self.note(user, f"{self.label(number)}: {reason}", number)
            return None
        tensor_type = tflite_tensors.tensor_type(stated, bias=bias)
        data = None if computed else self._constant(number, tensor_type)
        return Tensor(self.unique_name(number), tensor_type, data, number)

    def unique_name(self, number: int) -> str:
        """Returns the name of a tensor in the file, changed where another tensor has it."""
        return self.free_name(self.stated(number).name or f"tensor_{number}")

    def free_name(self, stated: str) -> str:
        """Returns a name, changed where a tensor has it."""
        return self._names.take(stated)

    def _constant(self, number: int, tensor_type: TensorType) -> Array:
        content = self.content(number)
        if len(content) != tensor_type.bytes:
            raise corrupt(
                self._where,
                f"constant {self.label(number)} of type {tensor_type}, got {len(content)} bytes, "
                f"expected {tensor_type.bytes}",
            )
        return tflite_tensors.values(content, tensor_type)


def corrupt(where: str, what: str) -> ModelError:
    """Returns the error for a file that breaks the format."""
    return ModelError(f"{where}: {what}. The file is corrupt; export or download the model again")
