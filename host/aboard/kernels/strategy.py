"""The strategy: which implementation computes a node on a target."""

from __future__ import annotations

import math
from dataclasses import dataclass

from aboard.errors import ModelError
from aboard.ir import Graph, Node
from aboard.kernels.contract import Implementation
from aboard.kernels.registry import of
from aboard.target import Target


@dataclass(frozen=True)
class Candidate:
    """An implementation of a node's op.

    Attributes:
        implementation: The implementation.
        cost: Its own estimate, which decides between equal priorities; None for none.
        refused: Why it cannot compute the node on the target; "" where it can.
    """

    implementation: Implementation
    cost: float | None
    refused: str


@dataclass(frozen=True)
class Explanation:
    """All implementations of a node's op, and which one computes it.

    Attributes:
        node: The node.
        chosen: The one that computes it; None where none can.
        candidates: All, in the order in which they are preferred.
    """

    node: Node
    chosen: Candidate | None
    candidates: tuple[Candidate, ...]

    def why(self, candidate: Candidate) -> str:
        """Returns why a candidate was chosen, or why not."""
        if candidate.refused:
            return candidate.refused
        others = [c for c in self.candidates if c is not self.chosen and not c.refused]
        if candidate is self.chosen:
            return "the first that can" if others else "the only one that can"
        best = self.chosen
        if best is None or best.implementation.priority == candidate.implementation.priority:
            return "of the same priority, another costs less or comes first by name"
        return f"priority, got {candidate.implementation.priority}, less than {best.implementation.priority}"


@dataclass(frozen=True)
class Choice:
    """What was chosen for a node, and why the others were not.

    Attributes:
        implementation: The one that computes the node.
        refused: Name of each implementation of higher priority, with its reason.
    """

    implementation: Implementation
    refused: tuple[tuple[str, str], ...]


def explain(node: Node, target: Target) -> Explanation:
    """Returns every implementation of a node's op with what speaks against it."""
    found = [Candidate(i, i.cost(node, target), _refused(i, node, target)) for i in of(node.op)]
    found.sort(key=_preference)
    return Explanation(node, next((c for c in found if not c.refused), None), tuple(found))


def _refused(implementation: Implementation, node: Node, target: Target) -> str:
    if not implementation.keys & target.keys:
        return f"needs one of {', '.join(sorted(implementation.keys))}"
    return implementation.refuses(node, target) or ""


def _preference(candidate: Candidate) -> tuple[int, float, str]:
    implementation = candidate.implementation
    cost = math.inf if candidate.cost is None else candidate.cost
    return -implementation.priority, cost, implementation.name


def choose(node: Node, target: Target) -> Choice:
    """Returns the implementation of highest priority that the target can run and that accepts the node.

    Raises:
        ModelError: None does; the message gives every reason.
    """
    explained = explain(node, target)
    refused: list[tuple[str, str]] = []
    for candidate in explained.candidates:
        if not candidate.refused:
            return Choice(candidate.implementation, tuple(refused))
        refused.append((candidate.implementation.name, candidate.refused))
    reasons = "; ".join(f"{name}: {reason}" for name, reason in refused) or "there is none"
    operands = ", ".join(str(tensor.type) for tensor in node.operands)
    raise ModelError(
        f"{node.op} {node.name}: no implementation for {operands} -> {node.output.type} "
        f"on {target.cpu.name} ({reasons}). "
        "Convert the model to int8, to int16 with int8 weights, or to float32 throughout"
    )


def choose_all(graph: Graph, target: Target) -> dict[Node, Choice]:
    """Returns the choice for every node.

    Raises:
        ModelError: Some nodes have no implementation; all of them are named.
    """
    choices: dict[Node, Choice] = {}
    problems: list[str] = []
    for node in graph.nodes:
        try:
            choices[node] = choose(node, target)
        except ModelError as error:
            problems.append(str(error))
    if problems:
        raise ModelError(f"{graph.source or graph.name}: " + "\n".join(problems))
    return choices
