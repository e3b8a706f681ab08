"""Reads one subgraph of a TFLite file: its operators become nodes, constants, or the state of the model."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterable, Mapping
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
from aboard.importers.tflite_carried import Called
from aboard.importers.tflite_context import MAIN, Context, Role
from aboard.importers.tflite_file import FileOperator
from aboard.importers.tflite_values import Values, corrupt
from aboard.importers.tflite_variables import StateReader
from aboard.ir import Node, Tensor
from aboard.ops import SourceNode, interpreter
from aboard.ops.registry import Build
from aboard.ops.verify import check_node

#: How the names of options end that are numbers of subgraphs.
_SUBGRAPH = "SubgraphIndex"

#: How the names of custom operators begin.
_CUSTOM = "CUSTOM "

#: The operand of IF that is no operand of its branches.
_CONDITIONS = {"IF": 1}


class SubgraphReader:
    """Reads a subgraph operator by operator.

    Attributes:
        values: Its tensors.
        nodes: The nodes read so far. A subgraph that initialises variables is computed instead, and has none.
        state: Its variables, and what its operators keep.
    """

    def __init__(self, context: Context, number: int = MAIN, role: Role = Role.MODEL) -> None:
        self.subgraph = context.file.subgraphs[number]
        self.values = Values(context.file, self.subgraph, context.where, context.diagnostics)
        self.nodes: list[Node] = []
        self._context = context
        self._number = number
        self._role = role
        self.state = StateReader(context, number, role, self.values, self.nodes)

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
            elif self._roles(operator):
                self._read_call(number, operator)
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
        source = SourceNode(operator.kind, number, self._where(user), operands, [*results, *updated], options)
        for node in self._built(build, source, user):
            self._add(node, user)

    def _where(self, user: str) -> str:
        return f"{self._context.where}: {user}"

    # Operators that call subgraphs.

    def _roles(self, operator: FileOperator) -> Mapping[str, int]:
        """Returns the numbers of the subgraphs that an operator calls in each run, by the names of the options."""
        if operator.kind.startswith(_CUSTOM) or ops.from_tflite(operator.kind) is None:
            return {}
        return {name: int(number) for name, number in operator.options.items() if name.endswith(_SUBGRAPH)}

    def _read_call(self, number: int, operator: FileOperator) -> None:
        """Adds the nodes of an operator that calls subgraphs, with the variables of these."""
        user, build, roles = self.user(number), ops.from_tflite(operator.kind), self._roles(operator)
        called = self._called(operator, roles, user) if self._table_fits(operator, user) else None
        if build is None or called is None or not self._name_results(operator, roles, called, user):
            return
        operator = self._without_handles(operator)
        operands, results = self.values.operands(operator.inputs, user), self.values.results(operator.outputs, user)
        if operands is None or results is None:
            return
        self._settle(operator, operands, results, user)
        call = tflite_carried.call(roles, called)
        operands = [*operands, *(self.state.entered(variable, call) for variable in call.variables)]
        left = [self.state.left(variable, call) for variable in call.assigned]
        outputs = [*results, *left]
        options = operator.options
        source = SourceNode(operator.kind, number, self._where(user), operands, outputs, options, call.subgraphs)
        for node in self._built(build, source, user):
            self._add(node, user)
        for variable, tensor in zip(call.assigned, left, strict=True):
            self.state.set(variable, tensor)

    def _called(self, operator: FileOperator, roles: Mapping[str, int], user: str) -> Mapping[int, Called] | None:
        """Returns the subgraphs that an operator calls, by their number; None with the problems noted."""
        given = operator.inputs[_CONDITIONS.get(operator.kind, 0) :]
        handles = tuple(self.state.handles.get(number) for number in given)
        read = {number: self._context.body(number, user, handles) for number in roles.values()}
        found = {number: called for number, called in read.items() if called is not None}
        return found if len(found) == len(read) else None

    def _name_results(
        self, operator: FileOperator, roles: Mapping[str, int], called: Mapping[int, Called], user: str
    ) -> bool:
        """Makes results handles that are handles in the called subgraphs; False with the problem noted."""
        given = [called[number].handles for role, number in roles.items() if role != tflite_carried.CONDITION]
        if tflite_carried.CONDITION in roles:
            given.append(tuple(self.state.handles.get(number) for number in operator.inputs))
        for place, number in enumerate(operator.outputs):
            named = [handles[place] if place < len(handles) else None for handles in given]
            if named.count(named[0]) < len(named):
                text = "which is not always the handle of one variable, expected the same. Export the model again"
                self.values.note(user, f"computes {self.values.label(number)}, {text}", number)
                return False
            if named[0] is not None:
                self.state.name(number, named[0])
        return True

    def _without_handles(self, operator: FileOperator) -> FileOperator:
        inputs, outputs = (
            tuple(number for number in numbers if number not in self.state.handles)
            for numbers in (operator.inputs, operator.outputs)
        )
        return dataclasses.replace(operator, inputs=inputs, outputs=outputs)

    # What both kinds of operators need.

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
        if self._role is not Role.INITIAL:
            self.nodes.append(node)
            self.state.keep(states)
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
            else:
                self.state.read(number, operator, user)

    def _call_once(self, operator: FileOperator, user: str) -> None:
        """Computes a subgraph that initialises variables."""
        called, count = int(operator.options["InitSubgraphIndex"]), len(self._context.file.subgraphs)
        if not self.is_model:
            text = "is inside of a subgraph that an operator calls, expected it in the model itself"
            self._context.diagnostics.add(user, f"{text}. Initialise variables in the model's own subgraph")
            return
        if not MAIN < called < count:
            text = f"calls subgraph {called} of {count}, expected one from 1 on. Export the model again"
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
