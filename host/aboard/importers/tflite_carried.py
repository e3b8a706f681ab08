"""Resource variables inside of branches and loops: they become operands and results of the operator that calls.

::

    IF (flag, x) -> (y), with READ_VARIABLE v and ASSIGN_VARIABLE v in a branch
    IF (flag, x, v) -> (y, v)
"""

from __future__ import annotations

import copy
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from aboard.importers.tflite_state import Variable
from aboard.ir import Graph, Node, Tensor, TensorType
from aboard.ops.reshape import ReshapeAttributes


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


@dataclass(frozen=True)
class Call:
    """What a call of subgraphs with variables has beside the operator's own operands and results.

    Attributes:
        variables: The variables of all called subgraphs.
        assigned: Those among them that are results.
        subgraphs: The subgraphs with operands and results for variables, by their number.
    """

    variables: tuple[Variable, ...]
    assigned: tuple[Variable, ...]
    subgraphs: Mapping[int, Graph]


def call(
    roles: Mapping[str, int], subgraphs: Mapping[int, Graph], inside: Mapping[int, Inside], note: Callable[[str], None]
) -> Call:
    """Returns the call of an operator; one without variables has the subgraphs as they are.

    Args:
        roles: Number of the subgraph for each of the operator's options: `ThenSubgraphIndex`.
        subgraphs: The subgraphs by their number.
        inside: The variables of each subgraph.
        note: Notes a problem.
    """
    each = [inside.get(number, {}) for number in roles.values()]
    variables = tuple(dict.fromkeys(variable for known in each for variable in known))
    condition = inside.get(roles.get("CondSubgraphIndex", -1), {})
    if any(carried.is_assigned for carried in condition.values()):
        note("its condition assigns a variable, expected one that only reads. Assign the variable in the body")
    loops = "CondSubgraphIndex" in roles
    changed = {variable for known in each for variable, carried in known.items() if carried.is_assigned}
    assigned = tuple(variable for variable in variables if loops or variable in changed)
    if not variables:
        return Call((), (), subgraphs)
    types = {variable: carried.entry.type for known in reversed(each) for variable, carried in known.items()}
    made = {
        number: _extended(subgraphs[number], inside.get(number, {}), variables, results, types)
        for role, number in roles.items()
        for results in [() if role == "CondSubgraphIndex" else assigned]
    }
    return Call(variables, assigned, made)


def _extended(
    graph: Graph,
    inside: Inside,
    variables: Sequence[Variable],
    results: Sequence[Variable],
    types: Mapping[Variable, TensorType],
) -> Graph:
    """Returns a copy of a subgraph that takes all variables behind its operands, and gives some behind its results."""
    own = list(inside)
    graph, copies = copy.deepcopy((graph, [inside[variable] for variable in own]))
    known = dict(zip(own, copies, strict=True))
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
