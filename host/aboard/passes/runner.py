"""Runs passes, and checks before and after each pass that it keeps its promises."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from aboard.errors import VerifyError
from aboard.ir import Graph
from aboard.ops.control import graphs, name_apart
from aboard.ops.verify import verify
from aboard.passes.contract import Pass


def run_passes(graph: Graph, passes: Sequence[Pass], on_step: Callable[[str], object] | None = None) -> None:
    """Runs passes in order, first on the graphs inside nodes and then on the graph itself.

    Passes may copy the graphs inside nodes; afterwards each has a name of its own.

    Args:
        graph: A verified graph; changed in place, like those inside it.
        passes: The passes; those with `changes_borders` run on the graph itself only.
        on_step: Called with the name of each pass after it has run.

    Raises:
        VerifyError: A pass left a graph that breaks a rule, which is a bug of aboard; or a pass that another requires
            ran too early.
    """
    for step in passes:
        if step.enters_graphs:
            step.run(graph)
    for body in graphs(graph):
        _run(body, [step for step in passes if not step.changes_borders], None)
    _run(graph, passes, on_step)
    name_apart(graph)


def _run(graph: Graph, passes: Sequence[Pass], on_step: Callable[[str], object] | None) -> None:
    least = min(len(graph.inputs), 1)
    for step in passes:
        for required in step.requires:
            left = required().pending(graph)
            if left is not None:
                raise VerifyError(
                    f"pass {step.name}: requires {required.name}, which has work left at {left}. "
                    f"Run {required.name} again before {step.name}"
                )
        step.run(graph)
        try:
            verify(graph, least_inputs=least)
        except VerifyError as error:
            raise VerifyError(f"pass {step.name}: {error}") from error
        left = step.pending(graph)
        if left is not None:
            raise VerifyError(f"pass {step.name}: left work at {left}")
        if on_step is not None:
            on_step(step.name)
