"""State inside of branches and loops: it becomes operands and results of the operator that calls.

::

    IF (flag, x) -> (y), with READ_VARIABLE v and ASSIGN_VARIABLE v in a branch
    IF (flag, x, v) -> (y, v)
"""

from __future__ import annotations

import copy
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from aboard.importers.tflite_state import Variable
from aboard.ir import Graph, Node, Tensor, TensorType
from aboard.ops.reshape import ReshapeAttributes

#: Role of the subgraph that decides about another iteration, as TFLite's options name it.
CONDITION = "CondSubgraphIndex"


@dataclass(eq=False)
class Carried:
    """A variable in a subgraph that is called in each run.

    Attributes:
        entry: Its value where the subgraph begins.
        value: Its value where the subgraph ends: `entry` itself, if nothing assigns another.
    """

    entry: Tensor
    value: Tensor

    @property
    def is_assigned(self) -> bool:
        """True if the subgraph assigns a value."""
        return self.value is not self.entry


#: The variables of a subgraph, in the order in which it uses them.
Inside = dict[Variable, Carried]


@dataclass(frozen=True, eq=False)
class Called:
    """A subgraph that an operator calls in each run.

    Attributes:
        graph: The subgraph, without its handles.
        inside: Its variables.
        handles: For each of its outputs, the variable whose handle it is; None for values.
        extended: What calls of it have made of the graph, so that equal calls share one.
    """

    graph: Graph
    inside: Inside
    handles: tuple[Variable | None, ...]
    extended: dict[tuple[tuple[Variable, ...], tuple[Variable, ...], bool], Graph] = field(default_factory=dict)


@dataclass(frozen=True)
class Call:
    """What a call of subgraphs with variables has beside the operator's own operands and results.

    Attributes:
        variables: The variables of all called subgraphs; at the end those that the condition of a loop assigns.
        assigned: Those among them that are results.
        subgraphs: The subgraphs with operands and results for variables, by their role.
        types: The type of each variable.
    """

    variables: tuple[Variable, ...]
    assigned: tuple[Variable, ...]
    subgraphs: Mapping[str, Graph]
    types: Mapping[Variable, TensorType]


def call(roles: Mapping[str, int], called: Mapping[int, Called]) -> Call:
    """Returns the call of an operator; one without variables has the subgraphs as they are.

    Args:
        roles: Number of the subgraph for each of the operator's options: `ThenSubgraphIndex`.
        called: The subgraphs by their number.
    """
    each = [called[number].inside for number in roles.values()]
    loops = CONDITION in roles
    by_condition = _assigned(called[roles[CONDITION]].inside) if loops else []
    names = dict.fromkeys(variable for known in each for variable in known)
    variables = tuple(sorted(names, key=by_condition.__contains__))
    changed = {variable for known in each for variable in _assigned(known)}
    assigned = tuple(variable for variable in variables if loops or variable in changed)
    types = {variable: carried.entry.type for known in reversed(each) for variable, carried in known.items()}
    decided = tuple(variable for variable in variables if variable in by_condition)
    made = {
        role: _shared(called[number], variables, decided if role == CONDITION else assigned, types, role == CONDITION)
        for role, number in roles.items()
    }
    return Call(variables, assigned, made, types)


def _assigned(inside: Inside) -> list[Variable]:
    return [variable for variable, carried in inside.items() if carried.is_assigned]


def _shared(
    called: Called,
    variables: tuple[Variable, ...],
    results: tuple[Variable, ...],
    types: Mapping[Variable, TensorType],
    decides: bool,
) -> Graph:
    """Returns a subgraph that takes all variables behind its operands, and gives some behind its results.

    Args:
        called: The subgraph.
        variables: The variables that it takes.
        results: Those that it gives.
        types: The type of each variable.
        decides: True for the condition of a loop, of which the reference reads the first result alone.
    """
    if not variables and not (decides and len(called.graph.outputs) > 1):
        return called.graph
    key = (variables, results, decides)
    if key not in called.extended:
        called.extended[key] = _extended(called, variables, results, types, decides)
    return called.extended[key]


def _extended(
    called: Called,
    variables: Sequence[Variable],
    results: Sequence[Variable],
    types: Mapping[Variable, TensorType],
    decides: bool,
) -> Graph:
    """Returns a changed copy of a subgraph; arguments as for `_shared`."""
    graph, copies = copy.deepcopy((called.graph, list(called.inside.values())))
    known = dict(zip(called.inside, copies, strict=True))
    if decides:
        del graph.outputs[1:]
    for number, variable in enumerate(variables):
        if variable not in known:
            entry = Tensor(f"{graph.name}/variable_{number}", types[variable])
            known[variable] = Carried(entry, entry)
        graph.inputs.append(known[variable].entry)
    for number, variable in enumerate(results):
        value = known[variable].value
        result = Tensor(f"{graph.name}/result_{number}", value.type)
        graph.nodes.append(Node("reshape", result.name, [value], [result], ReshapeAttributes(result.shape)))
        graph.outputs.append(result)
    return graph
