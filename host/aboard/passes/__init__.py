"""Passes: rewrites of the graph that keep its results bit for bit. One pass per file.

`contract` defines a pass, `pipeline` holds the order in which passes run, `text` parses a pipeline from text, and
`runner` runs passes and checks their promises. Modules of this package that define a pass register it.
"""

from __future__ import annotations

from collections.abc import Callable

from aboard.ir import Graph
from aboard.passes.contract import Pass
from aboard.passes.pipeline import HOST, IMPORT, NEUTRAL, PARTITION, Pipeline, host, neutral
from aboard.passes.registry import register, registered
from aboard.passes.runner import run_passes


def run_pipeline(graph: Graph, on_step: Callable[[str], object] | None = None) -> None:
    """Runs all passes on a graph that no device claims a part of.

    Args:
        graph: A verified graph; changed in place.
        on_step: Called with `import` first, then with the name of each pass after it has run.

    Raises:
        VerifyError: A pass broke a rule; this is a bug of aboard.
    """
    if on_step is not None:
        on_step(IMPORT)
    run_passes(graph, (*NEUTRAL, *HOST), on_step)


__all__ = [
    "HOST",
    "IMPORT",
    "NEUTRAL",
    "PARTITION",
    "Pass",
    "Pipeline",
    "host",
    "neutral",
    "register",
    "registered",
    "run_passes",
    "run_pipeline",
]
