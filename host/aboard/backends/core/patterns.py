"""Patterns of another core: every op with a kernel that accepts the node."""

from __future__ import annotations

from aboard import ops
from aboard.backends.core.lowered import executor
from aboard.ir import Node
from aboard.kernels.registry import of
from aboard.kernels.select import strategy
from aboard.partition.pattern import DevicePattern, op
from aboard.target import Target


def patterns(target: Target) -> tuple[DevicePattern, ...]:
    """Returns a pattern for every op with kernels; neighbouring matches become one region, which is one call."""
    core = executor(target)

    def problem(node: Node) -> str | None:
        explained = strategy.explain(node, core)
        if explained.chosen is not None:
            return None
        return "; ".join(f"{c.implementation.name}: {c.refused}" for c in explained.candidates)

    computed = [name for name in ops.names() if not ops.get(name).holds_graphs and of(name)]
    return tuple(
        DevicePattern(name, op(name, where=problem, name="layer"), merge=True, exact=True) for name in computed
    )
