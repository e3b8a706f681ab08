"""Reads one subgraph of a TFLite file: its operators become nodes, constants, or the state of the model."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from enum import Enum, auto
from typing import Any

from aboard import ops
from aboard.errors import AboardError, ModelError
from aboard.importers import (
    tflite_carried,
    tflite_custom,
    tflite_free,
    tflite_options,
    tflite_shapes,
    tflite_state,
    tflite_tensors,
)
from aboard.importers.diagnostics import Diagnostics
from aboard.importers.tflite_carried import Inside
from aboard.importers.tflite_file import File, FileOperator
from aboard.importers.tflite_state import Variable, Variables, retyped
from aboard.importers.tflite_values import Values, corrupt
from aboard.ir import Graph, Node, State, Tensor
from aboard.ops import SourceNode, interpreter
from aboard.ops.registry import Build
from aboard.ops.verify import check_node

#: Number of the subgraph that is the model.
MAIN = 0

#: How the names of options end that are numbers of subgraphs.
_SUBGRAPH = "SubgraphIndex"

#: How the names of custom operators begin.
_CUSTOM = "CUSTOM "


class Role(Enum):
    """What a subgraph is.

    Attributes:
        MODEL: The model.
        INITIAL: Sets variables before the first run (CALL_ONCE).
        BODY: A branch, or a part of a loop.
    """

    MODEL = auto()
    INITIAL = auto()
    BODY = auto()


@dataclass
class Context:
    """What the subgraphs of one import share.

    Attributes:
        file: The file.
        where: Its name, for messages.
        diagnostics: Collects all problems.
        variables: The resource variables.
        called: Numbers of the subgraphs that CALL_ONCE has called.
        corrected: Operators whose results have other shapes than the file states, each with a result of it.
        body: Reads a subgraph that an operator calls in each run: its number, the operator for messages; None with the
            problems noted.
        carried: The variables of each subgraph that `body` has read.
    """

    file: File
    where: str
    diagnostics: Diagnostics
    variables: Variables
    called: set[int] = field(default_factory=set)
    corrected: dict[str, Tensor] = field(default_factory=dict)
    body: Callable[[int, str], Graph | None] = lambda _number, _user: None
    carried: dict[int, Inside] = field(default_factory=dict)


class SubgraphReader:
    """Reads a subgraph operator by operator.

    Attributes:
        values: Its tensors.
        nodes: The nodes read so far. A subgraph that initialises variables is computed instead, and has none.
        states: The states that operators keep without a tensor of the file.
        carried: The variables of a subgraph that an operator calls in each run.
    """

    def __init__(self, context: Context, number: int = MAIN, role: Role = Role.MODEL) -> None:
        self.subgraph = context.file.subgraphs[number]
        self.values = Values(context.file, self.subgraph, context.where, context.diagnostics)
        self.nodes: list[Node] = []
        self._context = context
        self._number = number
        self._role = role
        self.states: list[State] = []
        self._handles: dict[int, Variable] = {}
        self.carried: Inside = {}

    def check(self) -> None:
        """Checks that numbers name tensors, and that every tensor is computed before it is read.

        Raises:
            ModelError: The subgraph breaks the format.
        """
        self.values.made_by.update(self._producers())
        self._check_order()
        self.values.packed = tflite_tensors.packed_weights(self.subgraph)

    def read(self) -> None:
        """Reads all operators; problems are noted."""
        for number, operator in enumerate(self.subgraph.operators):
            if operator.kind in tflite_state.KINDS:
                self._read_state(number, operator)
            else:
                self._read_node(number, operator)

    @property
    def is_model(self) -> bool:
        """True for the subgraph that is the model."""
        return self._role is Role.MODEL

    @property
    def _within(self) -> str:
        return "" if self.is_model else f"subgraph {self._number}, "

    def user(self, number: int) -> str:
        """Returns what messages call an operator."""
        return f"{self._within}node {number} {self.subgraph.operators[number].kind}"

    # Structure: what the numbers in the file refer to.

    def _producers(self) -> dict[int, int]:
        """Returns which operator computes each tensor.

        Raises:
            ModelError: A number names no tensor.
        """
        subgraph, made_by = self.subgraph, dict[int, int]()
        whose = "the model's" if self.is_model else f"subgraph {self._number}'s"
        self._check_numbers(f"{whose} inputs", subgraph.inputs)
        self._check_numbers(f"{whose} outputs", subgraph.outputs)
        for number, operator in enumerate(subgraph.operators):
            user = self.user(number)
            self._check_numbers(f"operands of {user}", operator.inputs, optional=True)
            self._check_numbers(f"results of {user}", operator.outputs, optional=True)
            for tensor in operator.outputs:
                if tensor >= 0:
                    made_by.setdefault(tensor, number)
        return made_by

    def _check_numbers(self, user: str, numbers: Iterable[int], optional: bool = False) -> None:
        count = len(self.subgraph.tensors)
        for number in numbers:
            if not (-1 if optional else 0) <= number < count:
                raise corrupt(self._context.where, f"{user} name tensor {number}, expected 0 to {count - 1}")

    def _check_order(self) -> None:
        """Checks that every tensor is computed before it is read; a variable tensor has a value before."""
        made_by = self.values.made_by
        known = set(self.subgraph.inputs)
        for number, operator in enumerate(self.subgraph.operators):
            late = next((n for n in operator.inputs if n not in known and made_by.get(n, -1) >= number), None)
            if late is not None and not self.values.stated(late).variable:
                raise corrupt(
                    self._context.where,
                    f"{self.user(number)} reads {self.values.label(late)} before node {made_by[late]} computes it: "
                    "operators are not in execution order, or in a cycle",
                )
            known.update(operator.outputs)

    # Operators that compute.

    def _read_node(self, number: int, operator: FileOperator) -> None:
        """Adds the nodes of an operator, or its results if they are known now."""
        user, build = self.user(number), ops.from_tflite(operator.kind)
        if build is None and not tflite_shapes.knows(operator.kind):
            self._note_operator(number, operator)
            return
        operands = self.values.operands(operator.inputs, user)
        results = self.values.results(operator.outputs, user)
        if operands is None or results is None or not self._table_fits(operator, user):
            return
        self._settle(operator, operands, results, user)
        if self._is_folded(operator, operands, results, user):
            return
        if build is None:
            self._note_operator(number, operator)
            return
        updated, options = self._updated(operator, user), self._options(operator, user)
        if updated is None or options is None:
            return
        custom = operator.kind.startswith(_CUSTOM)
        roles = {} if custom else {key: n for key, n in options.items() if key.endswith(_SUBGRAPH)}
        bodies = {each: self._context.body(each, user) for each in roles.values()}
        subgraphs = {each: body for each, body in bodies.items() if body is not None}
        if len(subgraphs) < len(bodies):
            return
        call = tflite_carried.call(
            roles, subgraphs, self._context.carried, lambda text: self._context.diagnostics.add(user, text)
        )
        operands = [*operands, *(self._entered(variable, call) for variable in call.variables)]
        left = [self._left(variable, call) for variable in call.assigned]
        where, outputs = f"{self._context.where}: {user}", [*results, *updated, *left]
        source = SourceNode(operator.kind, number, where, operands, outputs, options, call.subgraphs)
        for node in self._built(build, source, user):
            self._add(node, user)
        for variable, tensor in zip(call.assigned, left, strict=True):
            self._set(variable, tensor)

    # Variables of subgraphs that an operator calls.

    def _entered(self, variable: Variable, call: tflite_carried.Call) -> Tensor:
        """Returns the value of a variable where subgraphs are called that use it."""
        at = call.variables.index(variable) - len(call.variables)
        stated = next(iter(call.subgraphs.values())).inputs[at].type

        def fresh() -> Tensor:
            return Tensor(self.values.free_name(f"{variable.name}/value"), stated)

        if self._role is Role.BODY:
            if variable not in self.carried:
                entry = fresh()
                self.carried[variable] = tflite_carried.Carried(entry, entry)
            return self.carried[variable].value
        return self._context.variables.entered(variable, fresh)

    def _left(self, variable: Variable, call: tflite_carried.Call) -> Tensor:
        """Returns a tensor for what called subgraphs leave in a variable."""
        entered = self._entered(variable, call)
        return Tensor(self.values.free_name(f"{variable.name}/left"), entered.type)

    def _set(self, variable: Variable, value: Tensor) -> None:
        if self._role is Role.BODY:
            self.carried[variable].value = value
        else:
            variable.value = value

    def _settle(self, operator: FileOperator, operands: list[Tensor | None], results: list[Tensor], user: str) -> None:
        """Gives the results their true shapes where the file leaves them free."""
        stated = [self.values.stated(n) if n >= 0 else None for n in (*operator.inputs, *operator.outputs)]
        tflite_free.settle(operator.kind, operands, stated, dict(enumerate(results, len(operands))))
        for number, result in zip(operator.outputs, results, strict=True):
            if result.shape != self.values.stated(number).shape:
                self._context.corrected[user] = result

    def _is_folded(
        self, operator: FileOperator, operands: list[Tensor | None], results: list[Tensor], user: str
    ) -> bool:
        """True for arithmetic on shapes, whose result is a constant from here on; also if a problem was noted."""
        try:
            found = tflite_shapes.fold(operator.kind, operands, operator.options, results)
        except ValueError as error:
            again = "Export the model with a fixed input shape"
            self._context.diagnostics.add(user, f"constant operands do not fit the operator, {error}. {again}")
            return True
        if found is not None:
            results[0].data = found
        return found is not None

    def _updated(self, operator: FileOperator, user: str) -> list[Tensor] | None:
        """Returns results for the variable tensors that an operator changes; None with the problem noted."""
        found: list[Tensor] = []
        for index in ops.tflite_updates(operator.kind):
            number = operator.inputs[index] if index < len(operator.inputs) else -1
            if number < 0 or not self.values.stated(number).variable:
                got = "none" if number < 0 else self.values.label(number)
                self._context.diagnostics.add(
                    user, f"operand {index}, got {got}, expected a variable tensor. Export the model again"
                )
                return None
            tensor = self.values.tensor(number, user, computed=True)
            if tensor is None:
                return None
            found.append(tensor)
        return found

    def _options(self, operator: FileOperator, user: str) -> Mapping[str, Any] | None:
        """Returns the options of an operator; None with the problem noted."""
        if not operator.kind.startswith(_CUSTOM):
            return operator.options
        try:
            return tflite_custom.options(operator.custom_options)
        except ValueError as error:
            self._context.diagnostics.add(user, f"custom options, {error}. Export the model again")
            return None

    def _built(self, build: Build, source: SourceNode, user: str) -> list[Node]:
        """Returns the checked nodes of an operator; none, with the problem noted, for an operator with one."""
        try:
            nodes = _built(build, source)
            for node in nodes:
                check_node(node)
        except AboardError as error:
            text = str(error).removeprefix(f"{self._context.where}: ").removeprefix(f"{user}: ")
            names = [tensor.name for tensor in (*source.inputs, *source.outputs) if tensor is not None]
            self._context.diagnostics.add(user, text, names)
            return []
        self._name_apart(nodes)
        return nodes

    def _name_apart(self, nodes: Iterable[Node]) -> None:
        """Gives tensors that are not in the file, and the nodes that compute them, names of their own."""
        made = {id(tensor): tensor for node in nodes for tensor in (*node.operands, *node.outputs)}
        for tensor in made.values():
            if tensor.source is None:
                tensor.name = self.values.free_name(tensor.name)
        for node in nodes:
            node.name = node.output.name

    def _add(self, node: Node, user: str) -> None:
        states = ops.get(node.op).own_states(node)
        if states and self._role is Role.BODY:
            self._context.diagnostics.add(
                user,
                "keeps state and is in a branch or loop, expected state in the model's own subgraph alone. "
                "Export the model with this operator outside of branches and loops",
            )
            return
        if self._role is not Role.INITIAL:
            self.nodes.append(node)
            self.states += states
            return
        if states or not all(tensor.is_constant for tensor in node.operands):
            self._context.diagnostics.add(user, "an initial value is not constant. Export the model again")
            return
        operands = [None if tensor is None else tensor.data for tensor in node.inputs]
        for tensor, value in zip(node.outputs, interpreter.evaluate(node, operands), strict=True):
            tensor.data = value

    def _note_operator(self, number: int, operator: FileOperator) -> None:
        """Notes an operator that is not supported. Its results count as computed, so that readers are no problem."""
        self._context.diagnostics.operator(number, operator.kind, self._within)
        for tensor in operator.outputs:
            if tensor >= 0 and tflite_tensors.problem(self.values.stated(tensor), computed=True, bias=False) is None:
                self.values.tensor(tensor, operator.kind, computed=True)

    def _table_fits(self, operator: FileOperator, user: str) -> bool:
        """True where the options table in the file belongs to the operator; otherwise one of the two is wrong."""
        expected = tflite_options.expected_table(operator.kind)
        if operator.table in (expected, tflite_options.NONE):
            return True
        self._context.diagnostics.add(
            user,
            f"options table, got {operator.table}, expected {expected}. The file is corrupt; export or download the "
            "model again",
        )
        return False

    # Operators of state.

    def _read_state(self, number: int, operator: FileOperator) -> None:
        user, given = self.user(number), (len(operator.inputs), len(operator.outputs))
        wanted = tflite_state.KINDS[operator.kind]
        if given != wanted or min((*operator.inputs, *operator.outputs, 0)) < 0:
            self._context.diagnostics.add(
                user, f"operands and results, got {given}, expected {wanted} tensors. Export the model again"
            )
        elif self._table_fits(operator, user):
            if operator.kind == "CALL_ONCE":
                self._call_once(operator, user)
            elif operator.kind == "VAR_HANDLE":
                self._handles[operator.outputs[0]] = self._context.variables.handle(operator)
                self.values.handles.add(operator.outputs[0])
            elif operator.inputs[0] not in self._handles:
                label = self.values.label(operator.inputs[0])
                text = f"{label} is no variable, expected the result of VAR_HANDLE. Export the model again"
                self._context.diagnostics.add(user, text, [label])
            elif operator.kind == "READ_VARIABLE":
                self._read_variable(number, operator, user)
            else:
                self._assign_variable(operator, user)

    def _read_variable(self, number: int, operator: FileOperator, user: str) -> None:
        variable, result = self._handles[operator.inputs[0]], operator.outputs[0]
        if self._role is Role.INITIAL:
            self._context.diagnostics.add(user, "an initial value depends on a variable. Export the model again")
            return
        if self._role is Role.BODY:
            self._read_carried(variable, number, result, user)
            return
        tensor = self._context.variables.read(variable, result, user, self.values)
        if tensor is None:
            return
        self.values.put(result, tensor)
        if variable.value is not None and variable.value is not tensor:
            self.nodes.append(retyped(variable.value, tensor, number))

    def _read_carried(self, variable: Variable, number: int, result: int, user: str) -> None:
        tensor = self.values.fresh(result, user, computed=True)
        if tensor is None:
            return
        self.values.put(result, tensor)
        if variable not in self.carried:
            entry = Tensor(self.values.free_name(f"{variable.name}/entry"), tensor.type)
            self.carried[variable] = tflite_carried.Carried(entry, entry)
        self.nodes.append(retyped(self.carried[variable].value, tensor, number))

    def _assign_variable(self, operator: FileOperator, user: str) -> None:
        variable = self._handles[operator.inputs[0]]
        value = self.values.operand(operator.inputs[1], user)
        if value is None:
            return
        if self._role is Role.BODY:
            self._context.variables.fill(variable, self.values.stated(operator.inputs[1]))
            if variable not in self.carried:
                entry = Tensor(self.values.free_name(f"{variable.name}/entry"), value.type)
                self.carried[variable] = tflite_carried.Carried(entry, entry)
            self.carried[variable].value = value
        elif self.is_model:
            self._context.variables.assign(variable, value, self.values.stated(operator.inputs[1]), user)
        elif value.is_constant:
            self._context.variables.initialise(variable, value, user)

    def _call_once(self, operator: FileOperator, user: str) -> None:
        """Computes a subgraph that initialises variables."""
        called, count = int(operator.options["InitSubgraphIndex"]), len(self._context.file.subgraphs)
        if not self.is_model or not MAIN < called < count:
            wrong = f"calls subgraph {called} of {count}"
            text = f"{wrong}, expected one from 1 on that calls no other. Export the model again"
            self._context.diagnostics.add(user, text)
            return
        if called in self._context.called:
            text = (
                f"calls subgraph {called}, which another CALL_ONCE calls, expected one of them. Export the model again"
            )
            self._context.diagnostics.add(user, text)
            return
        self._context.called.add(called)
        reader = SubgraphReader(self._context, called, Role.INITIAL)
        if reader.subgraph.inputs:
            got = len(reader.subgraph.inputs)
            text = f"inputs of the initialising subgraph {called}, got {got}, expected none. Export the model again"
            self._context.diagnostics.add(user, text)
            return
        reader.check()
        reader.read()


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
