"""Reads the state of one subgraph of a TFLite file: its variables, and what its operators keep.

The model reads and assigns the states of the graph. A subgraph that an operator calls in each run has them as operands
and results (`tflite_carried`): a resource variable, one of its variable tensors, and the own state of an operator are
the same there. An operator that calls it twice calls it with the same state, as in the reference.
"""

from __future__ import annotations

from collections.abc import Iterable

from aboard.importers.tflite_carried import Call, Carried, Inside
from aboard.importers.tflite_context import Context, Role
from aboard.importers.tflite_file import FileOperator
from aboard.importers.tflite_state import Variable, retyped, states_of_tensors
from aboard.importers.tflite_values import Values
from aboard.ir import Node, State, Tensor


class StateReader:
    """Reads the operators of variables, and knows the value of each variable behind the last operator.

    Attributes:
        handles: The variable of each tensor that names one instead of holding values.
        states: The states that the operators of the model keep without a tensor of the file.
        carried: The variables of a subgraph that an operator calls in each run.
    """

    def __init__(self, context: Context, number: int, role: Role, values: Values, nodes: list[Node]) -> None:
        """Knows none yet.

        Args:
            context: Of the import.
            number: Of the subgraph.
            role: Of the subgraph.
            values: Its tensors.
            nodes: Its nodes; grows.
        """
        self.handles: dict[int, Variable] = {}
        self.states: list[State] = []
        self.carried: Inside = {}
        self._context = context
        self._number = number
        self._role = role
        self._values = values
        self._nodes = nodes

    # Operators of variables.

    def read(self, number: int, operator: FileOperator, user: str) -> None:
        """Reads VAR_HANDLE, READ_VARIABLE or ASSIGN_VARIABLE; problems are noted.

        Args:
            number: Of the operator.
            operator: The operator, with as many tensors as it must have.
            user: The operator, for messages.
        """
        if operator.kind == "VAR_HANDLE":
            self.name(operator.outputs[0], self._context.variables.handle(operator))
        elif operator.inputs[0] not in self.handles:
            label = self._values.label(operator.inputs[0])
            text = f"{label} is no variable, expected the result of VAR_HANDLE. Export the model again"
            self._context.diagnostics.add(user, text, [label])
        elif operator.kind == "READ_VARIABLE":
            self._read(number, operator, user)
        else:
            self._assign(operator, user)

    def name(self, tensor: int, variable: Variable) -> None:
        """Makes a tensor the handle of a variable."""
        self.handles[tensor] = variable
        self._values.handles.add(tensor)

    def _read(self, number: int, operator: FileOperator, user: str) -> None:
        variable, result = self.handles[operator.inputs[0]], operator.outputs[0]
        if self._role is Role.INITIAL:
            self._context.diagnostics.add(user, "an initial value depends on a variable. Export the model again")
            return
        if self._role is Role.BODY:
            self._read_carried(variable, number, result, user)
            return
        tensor = self._context.variables.read(variable, result, user, self._values)
        if tensor is None:
            return
        self._values.put(result, tensor)
        if variable.value is not None and variable.value is not tensor:
            self._nodes.append(retyped(variable.value, tensor, number))

    def _read_carried(self, variable: Variable, number: int, result: int, user: str) -> None:
        tensor = self._values.fresh(result, user, computed=True)
        if tensor is not None:
            self._values.put(result, tensor)
            self._nodes.append(retyped(self._entry(variable, tensor).value, tensor, number))

    def _assign(self, operator: FileOperator, user: str) -> None:
        variable = self.handles[operator.inputs[0]]
        value = self._values.operand(operator.inputs[1], user)
        if value is None:
            return
        if self._role is Role.BODY:
            self._entry(variable, value).value = value
        elif self._role is Role.MODEL:
            self._context.variables.assign(variable, value, user)
        elif value.is_constant:
            self._context.variables.initialise(variable, value, user)

    def _entry(self, variable: Variable, like: Tensor) -> Carried:
        """Returns a variable of a called subgraph; its value where the subgraph begins has the type of `like`."""
        if variable not in self.carried:
            entry = Tensor(self._values.free_name(f"{variable.name}/entry"), like.type)
            self.carried[variable] = Carried(entry, entry)
        return self.carried[variable]

    # State without operators of its own.

    def keep(self, states: Iterable[State]) -> None:
        """Takes the states that an operator keeps."""
        if self._role is Role.BODY:
            self._carry(states)
        else:
            self.states += states

    def tensors(self) -> list[State]:
        """Returns the states of the model's variable tensors, once all operators are read."""
        return states_of_tensors(self._values)

    def carry_tensors(self) -> None:
        """Makes the variable tensors of a called subgraph variables, once all its operators are read."""
        self._carry(self.tensors())

    def _carry(self, states: Iterable[State]) -> None:
        for state in states:
            variable = self._context.variables.kept(self._number, state)
            self.carried[variable] = Carried(state.read, state.write)

    # Variables of subgraphs that an operator calls.

    def entered(self, variable: Variable, call: Call) -> Tensor:
        """Returns the value of a variable where subgraphs are called that use it."""
        stated = call.types[variable]
        if self._role is Role.BODY:
            return self._entry(variable, Tensor(variable.name, stated)).value
        return self._context.variables.entered(
            variable, lambda: Tensor(self._values.free_name(f"{variable.name}/value"), stated)
        )

    def left(self, variable: Variable, call: Call) -> Tensor:
        """Returns a tensor for what called subgraphs leave in a variable."""
        entered = self.entered(variable, call)
        return Tensor(self._values.free_name(f"{variable.name}/left"), entered.type)

    def set(self, variable: Variable, value: Tensor) -> None:
        """Sets what a read of a variable gives from here on; the variable was entered."""
        if self._role is Role.BODY:
            self.carried[variable].value = value
        else:
            variable.value = value
