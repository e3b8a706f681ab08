"""The state of a TFLite model: resource variables with their handles, and variable tensors.

A resource variable is named by VAR_HANDLE, read by READ_VARIABLE and set by ASSIGN_VARIABLE, in the order in which the
file has the operators. CALL_ONCE calls a subgraph in the first run only: what it assigns are initial values. The value
that a run reads before it assigns one is a `State` of the graph. Any other read is the tensor that was assigned.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass

import numpy as np

from aboard.importers.tflite_file import File, FileOperator, Subgraph
from aboard.importers.tflite_values import Values
from aboard.ir import Array, DType, Node, State, Tensor
from aboard.ops.reshape import ReshapeAttributes

#: Operators that this file reads, with their numbers of operands and results.
KINDS = {"ASSIGN_VARIABLE": (2, 0), "CALL_ONCE": (0, 0), "READ_VARIABLE": (1, 1), "VAR_HANDLE": (0, 1)}

_AGAIN = "Export the model again"


@dataclass(eq=False)
class Variable:
    """A resource variable.

    Attributes:
        name: For messages, and of the state.
        default: Byte that fills it where nothing initialises it.
        initial: Its value before the first run, with the tensor that was assigned.
        read: The tensor of the first READ_VARIABLE, where nothing was assigned before.
        value: What a READ_VARIABLE gives from here on; None for what the run before has left.
    """

    name: str
    default: int | None = None
    initial: Tensor | None = None
    read: Tensor | None = None
    value: Tensor | None = None

    @property
    def used(self) -> bool:
        """True once an operator of the model has read or assigned it."""
        return self.read is not None or self.value is not None


class Variables:
    """The variables of a file. All of its subgraphs share them."""

    def __init__(self, note: Callable[[str, str, Iterable[str]], None], file: File) -> None:
        """Knows none yet.

        Args:
            note: Notes a problem: place, text, names in the text.
            file: The file.
        """
        self._note = note
        self._defaults = _defaults(file)
        self._known: dict[tuple[str, str], Variable] = {}
        self._kept: dict[tuple[int, str], Variable] = {}
        self._read: list[Variable] = []

    def handle(self, operator: FileOperator) -> Variable:
        """Returns the variable that a VAR_HANDLE names."""
        key = container, name = _key(operator)
        shown = (f"{container}/{name}" if container else name) or f"variable_{len(self._known)}"
        return self._known.setdefault(key, Variable(shown, self._defaults.get(key)))

    def kept(self, subgraph: int, state: State) -> Variable:
        """Returns the variable that stands for a state of a subgraph which operators call.

        Args:
            subgraph: Number of the subgraph.
            state: A variable tensor, or the state of an operator.
        """
        initial = Tensor(state.name, state.read.type, state.initial)
        return self._kept.setdefault((subgraph, state.name), Variable(state.name, initial=initial))

    def read(self, variable: Variable, number: int, user: str, values: Values) -> Tensor | None:
        """Returns the value of a variable as the tensor that READ_VARIABLE gives; None with the problem noted."""
        first = not variable.used
        tensor = values.fresh(number, user, computed=True)
        if tensor is None:
            return None
        if first:
            variable.read = variable.value = tensor
            self._read.append(variable)
        current = variable.value
        if current is not None and not _same_bytes(current, tensor):
            self._note(user, f"type of {variable.name}, got {tensor.type}, expected {current.type}. {_AGAIN}", ())
            return None
        return tensor

    def initialise(self, variable: Variable, value: Tensor, user: str) -> None:
        """Takes the value that an initialising subgraph assigns."""
        if variable.used:
            wrong = "is used before CALL_ONCE sets its initial value, expected CALL_ONCE first"
            self._note(user, f"variable {variable.name} {wrong}. {_AGAIN}", (variable.name,))
        elif variable.initial is not None:
            wrong = "has an initial value already, expected one"
            self._note(user, f"variable {variable.name} {wrong}. {_AGAIN}", (variable.name,))
        variable.initial = value

    def assign(self, variable: Variable, value: Tensor, user: str) -> None:
        """Takes the value that an ASSIGN_VARIABLE of the model assigns."""
        known = variable.value
        if known is not None and not _same_bytes(known, value):
            self._note(user, f"type of {variable.name}, got {value.type}, expected {known.type}. {_AGAIN}", ())
        variable.value = value

    def entered(self, variable: Variable, value: Callable[[], Tensor]) -> Tensor:
        """Returns what a READ_VARIABLE of the model would give here.

        Args:
            variable: The variable.
            value: Returns a tensor for what the run before has left, if this is the first use.
        """
        if variable.value is None:
            variable.read = variable.value = value()
            self._read.append(variable)
        return variable.value

    def states(self) -> list[State]:
        """Returns the states: of variables that a run reads before it assigns them, in the order of reading."""
        return [state for variable in self._read if (state := self._state(variable)) is not None]

    def _state(self, variable: Variable) -> State | None:
        read, value = variable.read, variable.value
        if read is None or value is None:
            return None
        where = f"variable {variable.name}"
        if variable.initial is not None:
            if not _same_bytes(read, variable.initial):
                got = variable.initial.type
                self._note(where, f"initial value, got {got}, expected {read.type}. {_AGAIN}", (variable.name,))
                return None
            return State(variable.name, read, value, np.asarray(variable.initial.data))
        if variable.default is None:
            self._note(where, f"is read, and no operator assigns a value. {_AGAIN}", (variable.name,))
            return None
        return State(variable.name, read, value, _filled(read, variable.default))


def _defaults(file: File) -> dict[tuple[str, str], int]:
    """Returns the byte that fills each variable before the first run, as in the reference.

    It is the zero point of the tensor that the first ASSIGN_VARIABLE in the file assigns. Handles that are operands of
    a subgraph do not count.
    """
    found: dict[tuple[str, str], int] = {}
    for subgraph in file.subgraphs:
        handles: dict[int, tuple[str, str]] = {}
        for operator in subgraph.operators:
            if operator.kind == "VAR_HANDLE" and operator.outputs:
                handles[operator.outputs[0]] = _key(operator)
            elif operator.kind == "ASSIGN_VARIABLE" and len(operator.inputs) == 2:
                handle, value = operator.inputs
                if handle in handles and 0 <= value < len(subgraph.tensors):
                    found.setdefault(handles[handle], _zero(subgraph, value))
    return found


def _key(operator: FileOperator) -> tuple[str, str]:
    """Returns the container and the name of the variable that a VAR_HANDLE names."""
    container, name = (str(operator.options.get(each) or "") for each in ("Container", "SharedName"))
    return container, name


def _zero(subgraph: Subgraph, number: int) -> int:
    stated = subgraph.tensors[number]
    return stated.zero_points[0] & 0xFF if stated.scales and stated.zero_points else 0


def states_of_tensors(values: Values) -> list[State]:
    """Returns the states of a subgraph's variable tensors: of those that are read before an operator computes them."""
    found = []
    for number, read in values.variables.items():
        value, points = values.get(number) or read, values.stated(number).zero_points
        default = points[0] & 0xFF if read.dtype is DType.INT8 and points else 0
        found.append(State(read.name, read, value, _filled(read, default)))
    return found


def retyped(tensor: Tensor, result: Tensor, number: int) -> Node:
    """Returns the node that gives the bytes of a tensor another name and quantisation."""
    return Node("reshape", result.name, [tensor], [result], ReshapeAttributes(result.shape), (number,))


def _filled(tensor: Tensor, byte: int) -> Array:
    return np.frombuffer(bytes([byte]) * tensor.type.bytes, tensor.dtype.numpy).reshape(tensor.shape)


def _same_bytes(one: Tensor, other: Tensor) -> bool:
    return (one.shape, one.dtype) == (other.shape, other.dtype)
