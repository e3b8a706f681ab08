"""The strategy: which implementation computes a node on a target."""

from __future__ import annotations

from dataclasses import dataclass

from aboard.errors import ModelError
from aboard.ir import Graph, Node
from aboard.kernels.contract import Implementation
from aboard.kernels.registry import of
from aboard.target import Target


@dataclass(frozen=True)
class Choice:
    """What was chosen for a node, and why the others were not.

    Attributes:
        implementation: The one that computes the node.
        refused: Name of each implementation of higher priority, with its reason.
    """

    implementation: Implementation
    refused: tuple[tuple[str, str], ...]


def choose(node: Node, target: Target) -> Choice:
    """Returns the implementation of highest priority that the target can run and that accepts the node.

    Raises:
        ModelError: None does; the message gives every reason.
    """
    refused: list[tuple[str, str]] = []
    for implementation in of(node.op):
        if not implementation.keys & target.keys:
            refused.append((implementation.name, f"needs one of {', '.join(sorted(implementation.keys))}"))
            continue
        reason = implementation.refuses(node, target)
        if reason is None:
            return Choice(implementation, tuple(refused))
        refused.append((implementation.name, reason))
    reasons = "; ".join(f"{name}: {reason}" for name, reason in refused) or "there is none"
    operands = ", ".join(str(tensor.type) for tensor in node.operands)
    raise ModelError(
        f"{node.op} {node.name}: no implementation for {operands} -> {node.output.type} "
        f"on {target.cpu.name} ({reasons}). "
        "Convert the model to int8 or float32 throughout"
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
